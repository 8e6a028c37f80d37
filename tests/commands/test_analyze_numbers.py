"""``synparse analyze sharpness`` and ``boundaries`` from the outside, and their numbers by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from cli.main import run as run_cli
from induce.analysis.boundaries import above
from induce.analysis.sharpness import of_distances, of_heads, of_spans, scores_of
from tests.support.calls import Caller, toy_text
from tests.support.tiny import SETTINGS


@pytest.fixture(scope="module")
def spelling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of characters trained for a moment; tests only read it."""
    folder = tmp_path_factory.mktemp("spelling")
    (folder / "text.txt").write_text(toy_text(40), encoding="utf-8")
    tiny = [*SETTINGS["prpn"], "train.epochs=1", "data.token=character"]
    flags = [part for setting in tiny for part in ("--set", setting)]
    assert run_cli(["train", str(folder / "text.txt"), "--model", "prpn", "-o", str(folder / "run"), *flags]) == 0
    return folder / "run"


def test_heads() -> None:
    even, certain = np.full((4, 4), 0.25), np.eye(4)
    assert of_heads(even) == pytest.approx({"head entropy": 2, "largest": 0.25})
    assert of_heads(certain) == pytest.approx({"head entropy": 0, "largest": 1})


def test_distances() -> None:
    """Of three gaps 3, 1, 2 the whole is split with a margin of 1, and the right part with 1; in deviations."""
    deviation = float(np.std([3, 1, 2]))
    assert of_distances(np.array([9.0, 3, 1, 2]))["margin"] == pytest.approx(1 / deviation)
    assert of_distances(np.array([0.0, 1, 1, 1])) == {"margin": 0.0, "split entropy": 1.0}
    sharp, flat = np.array([0.0, 100, 1, 1, 1, 1]), np.array([0.0, 2, 1, 2, 1, 2])
    assert of_distances(sharp)["split entropy"] > of_distances(flat)["split entropy"] - 1
    assert of_distances(10 * flat + 3) == pytest.approx(of_distances(flat))


def test_spans() -> None:
    scores = np.full((3, 4), 0.5)
    assert of_spans(scores) == pytest.approx({"span entropy": 1, "largest": 0.5})


def test_the_chance_to_be_above() -> None:
    values, wanted = np.array([1.0, 2, 2, 3]), np.array([False, True, False, True])
    assert above(values, wanted) == pytest.approx((1 + 0.5 + 1 + 1) / 4)


def test_a_table_and_a_correlation(call: Caller, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("The dog saw a cat .\nGo !\nThe old man met the woman .\n", encoding="utf-8")
    for name in "abc":
        Path(name).symlink_to(model)
    arguments = ("analyze", "sharpness", "--text", "in.txt", "-m", "a", "-m", "b", "-m", "c")
    out = call.result(*arguments).splitlines()
    assert out[0].split() == ["System", "margin", "split", "entropy"]
    assert out[2].split()[1:] == ["a", *out[3].split()[2:]]
    assert "|run:a|sentences:2|words:3-|" in out[-3]
    scores = [{"system": "onlstm", "model": name, "metric": "UF1", "value": k} for k, name in enumerate("abc")]
    Path("scores.json").write_text(json.dumps({"scores": scores}), encoding="utf-8")
    document = json.loads(call.result("analyze", "sharpness", "--text", "in.txt", "-m", "a", "--json"))
    assert document["systems"][0]["values"]["margin"] > 0
    assert "Correlation with UF1 over 3 models" in call.result(*arguments, "--scores", "scores.json")
    assert call.refusal(*arguments[:-2], "--scores", "scores.json").startswith("a correlation is over 3 models or more")
    Path("scores.json").write_text("[]", encoding="utf-8")
    assert call.refusal(*arguments, "--scores", "scores.json").startswith(
        'scores.json: expected an object with "scores"'
    )


def test_the_scores_of_one_metric() -> None:
    entries = [{"model": "a", "metric": "UAS", "value": 1}, {"model": "a", "metric": "UUAS", "value": 2}]
    assert scores_of({"scores": entries}) == ("UAS", {"a": 1.0})
    assert scores_of({"scores": entries}, "UUAS") == ("UUAS", {"a": 2.0})
    with pytest.raises(ValueError, match="there is no score F1 of a model"):
        scores_of({"scores": entries}, "F1")


def test_ends_of_words(call: Caller, spelling: Path, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_text("a dog saw cats\nhe met her\n", encoding="utf-8")
    report = json.loads(call.result("analyze", "boundaries", "-m", spelling, "--text", text, "--json"))
    assert (report["boundaries"], report["gaps"]) == (5, 17)  # 13 and 9 gaps, less five behind spaces
    assert report["chance"] == pytest.approx(100 * 5 / 17)
    assert 0 <= report["value"] <= 100
    assert not math.isnan(report["above"])
    assert "word-boundary-F1|model:prpn|" in call.result("analyze", "boundaries", "-m", spelling, "--text", text)
    problem = call.refusal("analyze", "boundaries", "-m", model, "--text", text)
    assert problem.endswith("this model reads words; boundaries of words are found by one of characters")


def test_ends_of_chunks(call: Caller, model: Path, spelling: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.mrg"
    gold.write_text("(S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))))\n", encoding="utf-8")
    report = json.loads(call.result("analyze", "boundaries", "-m", model, "--gold", gold, "--json"))
    assert (report["boundaries"], report["gaps"], "cuts" in report) == (2, 4, False)
    assert f"chunk-boundary-F1|model:onlstm|run:{model}|gold:gold.mrg|" in call.result(
        "analyze", "boundaries", "-m", model, "--gold", gold
    )
    assert "this model reads characters" in call.refusal("analyze", "boundaries", "-m", spelling, "--gold", gold)
    code, _, told = call("analyze", "boundaries", "-m", model, "--gold", gold, "--text", gold)
    assert (code, "name a --text" in told) == (2, True)
