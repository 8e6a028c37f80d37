"""``synparse analyze sweep`` from the outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, stdev

import pytest

from tests.support.calls import Caller
from tests.support.toy_conllu import conllu


@pytest.fixture(scope="module")
def runs(tiny_model: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of two mask rates, the first with two seeds, which tests only read."""
    folder = tmp_path_factory.mktemp("sweep")
    for name, changes in (("a", []), ("b", ["train.seed=2"]), ("c", ["model.mask_rate=0.125"])):
        (folder / name).symlink_to(tiny_model("udgn", *changes))
    return folder


@pytest.fixture(autouse=True)
def scores(call: Caller, runs: Path, working_folder: Path) -> None:
    """A folder with the scores of the models from ``eval``."""
    Path("gold.conllu").write_text(conllu(), encoding="utf-8")
    said = runs / "scores.json"  # by the first test that asks
    if not said.exists():
        models = [part for name in "abc" for part in ("-m", runs / name)]
        command = ("eval", "--gold", "gold.conllu", "--baseline", "next", "--format", "json", *models)
        said.write_text(call.result(*command), encoding="utf-8")
    Path("scores.json").write_text(said.read_text(encoding="utf-8"), encoding="utf-8")


def test_means_by_value(call: Caller, runs: Path) -> None:
    scores = json.loads(Path("scores.json").read_text(encoding="utf-8"))["scores"]
    value = {(entry["model"], entry["metric"]): entry["value"] for entry in scores if "model" in entry}
    assert len(value) == 6
    sweep = call.json("analyze", "sweep", "scores.json", "--setting", "model.mask_rate")
    assert (sweep["setting"], sweep["data"]) == ("model.mask_rate", "gold.conllu")
    assert [(row["metric"], row["setting"]) for row in sweep["scores"]] == [
        (metric, rate) for metric in ("UAS", "UUAS") for rate in (0.125, 0.3)
    ]
    two = [value[str(runs / name), "UUAS"] for name in "ab"]
    assert sweep["scores"][3]["mean"] == pytest.approx(fmean(two))
    assert sweep["scores"][3]["sd"] == pytest.approx(stdev(two))
    table = call.result("analyze", "sweep", "scores.json", "--setting", "model.mask_rate").splitlines()
    assert table[0].split() == ["model.mask_rate", "Models", "UAS", "UAS", "SD", "UUAS", "UUAS", "SD"]
    assert table[2].split()[:2] == ["0.125", "1"]
    assert len(table[2].split()) == 4  # one model has no deviation
    cells = [f"{sweep['scores'][i][key]:.2f}" for i in (1, 3) for key in ("mean", "sd")]
    assert table[3].split() == ["0.3", "2", *cells]


def test_several_conventions_and_other_settings(call: Caller, runs: Path) -> None:
    command = "eval --gold gold.conllu --convention udgn --convention all-tokens --format json -m"
    Path("two.json").write_text(call.result(*command.split(), runs / "a"), encoding="utf-8")
    header = call.result("analyze", "sweep", "two.json", "--setting", "train.seed").splitlines()[0]
    assert header.split("  ")[0] == "train.seed"
    assert all(name in header for name in ("UAS udgn", "UUAS udgn", "UAS all-tokens", "UUAS all-tokens"))
    document = json.loads(Path("two.json").read_text(encoding="utf-8"))
    for entry in document["scores"]:  # spelt conventions all have the same name
        entry["convention"] = "custom"
    Path("two.json").write_text(json.dumps(document), encoding="utf-8")
    scores = call.json("analyze", "sweep", "two.json", "--setting", "train.seed")["scores"]
    assert len({row["convention"] for row in scores}) == 2
    assert [row["mean"] for row in scores] == [entry["value"] for entry in document["scores"]]


def test_models_that_differ_in_more_than_the_setting(call: Caller, runs: Path, tiny_model: Callable[..., Path]) -> None:
    out = call.result("analyze", "sweep", "scores.json", "--setting", "train.seed")
    assert out.endswith("note: these models also differ in model.mask_rate\n")
    code, _, err = call("analyze", "sweep", "scores.json", "--setting", "train.seed", "--format", "json")
    assert (code, err) == (0, "note: these models also differ in model.mask_rate\n")
    assert call("analyze", "sweep", "scores.json", "--setting", "model.mask_rate")[2] == ""
    other = tiny_model("structformer")
    arguments = ("--gold", "gold.conllu", "--format", "json", "--decoder", "argmax", "-m", runs / "a", "-m", other)
    Path("scores.json").write_text(call.result("eval", *arguments), encoding="utf-8")
    problem = call.refusal("analyze", "sweep", "scores.json", "--setting", "model.mask_rate")
    assert problem.startswith(
        "scores.json: these are scores of structformer and udgn; a sweep needs models of one type"
    )


def test_options_of_models_are_settings_of_parsing(call: Caller, model: Path) -> None:
    Path("gold.ptb").write_text("(S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))))\n", encoding="utf-8")
    Path("m").symlink_to(model)
    models = ("-m", "m@layer=1", "-m", "m@layer=2,priors=branching-gaps:0.1")
    document = call.json("eval", "--gold", "gold.ptb", *models)
    Path("layers.json").write_text(json.dumps(document), encoding="utf-8")
    values = [entry["value"] for entry in document["scores"]]
    sweep = call.json("analyze", "sweep", "layers.json", "--setting", "parse.layer")
    assert [(row["setting"], row["mean"]) for row in sweep["scores"]] == [(1, values[0]), (2, values[1])]
    out = call.result("analyze", "sweep", "layers.json", "--setting", "train.seed")
    assert out.endswith("note: these models also differ in parse.layer, parse.priors\n")


@pytest.mark.parametrize(
    ("content", "setting", "problem"),
    [
        ("Convention", "train.seed", "not JSON ("),
        ("[]", "train.seed", "not the JSON output of an evaluation"),
        (
            '{"gold": {"name": "g"}, "scores": [{"model": "gone", "metric": "UAS", "convention": "udgn"}]}',
            "a.b",
            "gone: no such folder; run this command in the folder in which eval was run",
        ),
        ('{"gold": {"name": "g"}, "scores": []}', "train.seed", "contains no scores of models"),
        ("", "model.mask_rates", "did you mean 'mask_rate'?"),
        ("", "modl.mask_rate", "did you mean 'model'?"),
    ],
)
def test_unreadable_scores_are_refused(call: Caller, content: str, setting: str, problem: str) -> None:
    if content:
        Path("scores.json").write_text(content, encoding="utf-8")
    code = 2 if "did you mean" in problem else 1
    assert problem in call.refusal("analyze", "sweep", "scores.json", "--setting", setting, code=code)


@pytest.mark.parametrize("setting", ["model.mask_rate", "model.activation"])
def test_the_picture(call: Caller, setting: str) -> None:
    call.result("analyze", "sweep", "scores.json", "--setting", setting, "--plot", "sweep.svg")
    picture = Path("sweep.svg").read_text(encoding="utf-8")
    assert all(text in picture for text in (setting, "UAS", "Scores on gold.conllu"))
    refusal = call.refusal("analyze", "sweep", "scores.json", "--setting", setting, "--plot", "-")
    assert refusal.endswith("-: unknown suffix; end the name in .svg, .pdf, .png")


@pytest.mark.skipif(find_spec("typst") is None, reason="Typst (the extra `draw`) is not installed")
def test_the_picture_as_png(call: Caller) -> None:
    call.result("analyze", "sweep", "scores.json", "--setting", "model.mask_rate", "--plot", "sweep.png")
    assert Path("sweep.png").read_bytes().startswith(b"\x89PNG")
