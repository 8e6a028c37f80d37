"""``synparse analyze sharpness`` and ``boundaries`` from the outside."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.calls import Caller


@pytest.fixture
def spelling(tiny_model: Callable[..., Path]) -> Path:
    """A model of characters."""
    return tiny_model("prpn", "train.epochs=1", "data.token=character")


def test_a_table_and_a_correlation(call: Caller, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("The dog saw a cat .\nGo !\nThe old man met the woman .\n", encoding="utf-8")
    for name in "abc":
        Path(name).symlink_to(model)
    arguments = ("analyze", "sharpness", "in.txt", "-m", "a", "-m", "b", "-m", "c")
    out = call.result(*arguments).splitlines()
    assert out[1].split() == ["System", "margin", "split", "entropy"]
    assert out[3].split() == ["a", *out[4].split()[1:]]
    assert "|run:a|sentences:2|words:3-|" in out[-3]
    scores = [{"system": "onlstm", "model": name, "metric": "UF1", "value": k} for k, name in enumerate("abc")]
    Path("scores.json").write_text(json.dumps({"scores": scores}), encoding="utf-8")
    document = call.json("analyze", "sharpness", "in.txt", "-m", "a")
    assert document["systems"][0]["values"]["margin"] > 0
    names = [system["system"] for system in call.json(*arguments)["systems"]]
    assert names == ["a", "b", "c"]
    assert "Correlation with UF1 over 3 models" in call.result(*arguments, "--scores", "scores.json")
    assert call.refusal(*arguments[:-2], "--scores", "scores.json").startswith("a correlation needs 3 or more models")
    scores[-1]["model"] = "english"
    Path("scores.json").write_text(json.dumps({"scores": scores}), encoding="utf-8")
    problem = "these models have no measure in common; correlate models of the same structure"
    assert call.refusal(*arguments[:-1], "english", "--scores", "scores.json") == problem
    Path("scores.json").write_text("[]", encoding="utf-8")
    assert call.refusal(*arguments, "--scores", "scores.json").startswith(
        'scores.json: expected an object with "scores"'
    )


def test_sharpness_of_slots_and_reason_for_none(
    call: Caller, model: Path, tiny_model: Callable[..., Path], tmp_path: Path
) -> None:
    text = tmp_path / "in.txt"
    text.write_text("Go away\n", encoding="utf-8")
    problem = f"{model}: no sentence of the text has 3 words, which sharpness needs"
    assert call.refusal("analyze", "sharpness", text, "-m", model) == problem
    text.write_text("The dog saw a cat\n", encoding="utf-8")
    memory = tiny_model("ordered-memory", "train.epochs=1")
    values = call.json("analyze", "sharpness", text, "-m", memory)["systems"][0]["values"]
    assert 0 <= values["slot entropy"] <= math.log2(3)
    assert 1 / 3 <= values["largest"] <= 1
    trees = f"{tiny_model('npcfg')}@decoder=brackets"
    assert "have no measure of sharpness" in call.refusal("analyze", "sharpness", text, "-m", trees)


def test_ends_of_words(call: Caller, spelling: Path, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_text("a dog saw cats\nhe met her\n", encoding="utf-8")
    report = call.json("analyze", "gaps", "-m", spelling, text)
    assert (report["boundaries"], report["gaps"]) == (5, 17)  # 13 and 9 gaps, less five after spaces
    assert report["chance"] == pytest.approx(100 * 5 / 17)
    assert 0 <= report["value"] <= 100
    assert not math.isnan(report["above"])
    assert "word-boundary-F1|model:prpn|" in call.result("analyze", "gaps", "-m", spelling, text)
    problem = call.refusal("analyze", "gaps", "-m", model, text)
    assert problem.endswith("this model reads words; word boundaries need a model of characters")


def test_ends_of_chunks(call: Caller, model: Path, spelling: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.mrg"
    gold.write_text("(S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))))\n", encoding="utf-8")
    report = call.json("analyze", "gaps", "-m", model, "--gold", gold)
    assert (report["boundaries"], report["gaps"], "cuts" in report) == (2, 4, False)
    assert f"chunk-boundary-F1|model:onlstm|run:{model}|gold:gold.mrg|" in call.result(
        "analyze", "gaps", "-m", model, "--gold", gold
    )
    latin = tmp_path / "latin.mrg"
    latin.write_text(gold.read_text(encoding="utf-8").replace("cat", "café"), encoding="latin-1")
    assert call.json("analyze", "gaps", "-m", model, "--gold", latin, "--encoding", "latin-1")["boundaries"] == 2
    assert "this model reads characters" in call.refusal("analyze", "gaps", "-m", spelling, "--gold", gold)
    code, _, message = call("analyze", "gaps", "-m", model, "--gold", gold, gold)
    assert (code, "give a TEXT" in message) == (2, True)


def test_gates_and_attention_over_earlier_states_are_written(
    call: Caller, spelling: Path, model: Path, tmp_path: Path
) -> None:
    """One value for the empty state, one for the boundary token, and one for each earlier character."""
    (tmp_path / "in.txt").write_text("a cat\n\nat\n", encoding="utf-8")
    lines = {
        content: [
            json.loads(line)
            for line in call.result("extract", "-m", spelling, tmp_path / "in.txt", "--what", content).splitlines()
        ]
        for content in ("gates", "attention")
    }
    for words, gates, attention in zip(["a␣cat", "", "at"], *lines.values(), strict=True):
        assert "".join(gates["words"]) == "".join(attention["words"]) == words
        sizes = list(range(2, 2 + len(words)))
        assert [len(row) for row in gates["read"]] == [len(row) for row in gates["predict"]] == sizes
        for layer in [*attention["read"], attention["predict"]]:
            assert [len(row) for row in layer] == sizes
            assert all(sum(row) == pytest.approx(1, abs=1e-4) or sum(row) < 1e-4 for row in layer)
    assert "has no memory of earlier states" in call.refusal("extract", "-m", model, "--what", "attention")
    assert "no effect" in call.usage("extract", "-m", spelling, "--what", "gates", "--decoder", "biased")


@pytest.mark.parametrize(
    ("name", "changes", "shapes"),
    [
        ("onlstm", ("train.epochs=1",), {"forget_1": (6,), "input_2": (4,), "forget_split": (2,), "input_split": (2,)}),
        ("ordered-memory", ("train.epochs=1",), {"position": (3,), "memory": (3, 16), "candidate": (3, 16)}),
        ("udgn", ("train.epochs=1", "model.tags=5"), {"tags": (6,)}),
    ],
)
def test_gates_by_word_are_written(
    call: Caller,
    tiny_model: Callable[..., Path],
    tmp_path: Path,
    name: str,
    changes: tuple[str, ...],
    shapes: dict[str, tuple[int, ...]],
) -> None:
    (tmp_path / "in.txt").write_text("the dog saw a cat\n\nthe dog\n", encoding="utf-8")
    lines = call.result("extract", "-m", tiny_model(name, *changes), tmp_path / "in.txt", "--what", "gates")
    first, empty, last = map(json.loads, lines.splitlines())
    assert empty == {"words": []}
    for key, shape in shapes.items():
        values = np.array(first[key])
        assert values.shape == (5, *shape)
        np.testing.assert_allclose(values[:2], last[key], atol=1e-5)  # no gate sees later words
    if name == "onlstm":
        np.testing.assert_allclose(6 - np.sum(first["forget_1"], -1), np.array(first["forget_split"])[:, 0], atol=1e-4)
    else:
        np.testing.assert_allclose(np.sum(first["tags" if name == "udgn" else "position"], -1), 1, atol=1e-4)


def test_model_without_tags_has_no_gates(call: Caller, tiny_model: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("the dog\n", encoding="utf-8")
    assert "model.tags=5" in call.refusal("extract", "-m", tiny_model("udgn"), tmp_path / "in.txt", "--what", "gates")
