"""A model that also learns from trees, through every command: where trees come from, and that every score says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.main import run as run_cli
from tests.support.calls import Caller, toy_text
from tests.support.tiny import SETTINGS, sentences, with_trees

TINY = [part for setting in (*SETTINGS["onlstm-syd"], "loader.batch_size=4") for part in ("--set", setting)]
TREES = "".join(f"{one.tree}\n" for one in with_trees(sentences(100, seed=3)))


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of plain text and trees; tests only read it."""
    folder = tmp_path_factory.mktemp("supervised")
    (folder / "text.txt").write_text(toy_text(), encoding="utf-8")
    (folder / "gold.ptb").write_text(TREES, encoding="utf-8")
    given = ["--model", "onlstm-syd", str(folder / "text.txt"), "--trees", str(folder / "gold.ptb")]
    assert run_cli(["train", *given, "-o", str(folder / "run"), *TINY]) == 0
    return folder / "run"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a text and a treebank, to work in."""
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("The dog saw a cat .\n\nThe old girl met the 12 .\n", encoding="utf-8")
    Path("gold.ptb").write_text(TREES, encoding="utf-8")


def test_checkpoint_and_scores_say_which_trees_were_learned_from(call: Caller, parser: Path) -> None:
    treebank = parser.parent / "gold.ptb"
    assert f"trained with gold trees: {treebank} (100 sentences)" in call.result("info", "-m", parser)
    scores = call.json("eval", "--gold", "gold.ptb", "-m", parser, "--baseline", "right")
    ours, right = scores["scores"]
    assert ours["trained_with"] == f"gold trees: {treebank}"
    assert f"|trained with gold trees: {treebank}|data:gold.ptb|" in ours["signature"]
    assert "trained_with" not in right
    assert "trained with" not in right["signature"]
    assert "|trained with gold trees: " in call.result("eval", "--gold", "gold.ptb", "-m", parser)


def test_each_set_of_distances_can_be_read(call: Caller, parser: Path) -> None:
    found = {name: call.result("extract", "-m", parser, "in.txt", "--distances", name) for name in ("lm", "syd")}
    assert found["lm"] != found["syd"] == call.result("extract", "-m", parser, "in.txt")
    for name, lines in found.items():
        Path("d.jsonl").write_text(lines, encoding="utf-8")
        trees = call.result("decode", "d.jsonl")
        assert trees == call.result("parse", "-m", parser, "in.txt", "--distances", name)
    problem = (
        "model 'onlstm-syd': the supervised distances are those of layer 2, not 1 (--distances lm has every layer)"
    )
    assert call.refusal("parse", "-m", parser, "in.txt", "--layer", "1") == problem
    assert call.result("parse", "-m", parser, "in.txt", "--layer", "1", "--distances", "lm")


def test_a_model_of_plain_text_has_one_set(call: Caller, model: Path) -> None:
    assert call.result("parse", "-m", model, "in.txt", "--distances", "lm")
    problem = "model 'onlstm' has no distances 'syd': it does not learn from trees"
    assert call.refusal("parse", "-m", model, "in.txt", "--distances", "syd") == problem


def test_trees_need_a_model_and_the_model_needs_trees(call: Caller, copy: Path) -> None:
    problem = "model 'onlstm' learns from plain text alone; --trees is for onlstm-syd and prpn-syd"
    assert call.refusal("train", "--resume", "--trees", "gold.ptb", "-o", copy) == problem
    assert call.refusal("train", "in.txt", "--trees", "gold.ptb", "-o", "run") == problem
    problem = "model 'onlstm-syd' also learns from trees; give them with --trees TREEBANK, or a model with --teacher"
    assert call.refusal("train", "in.txt", "--model", "onlstm-syd", "-o", "run") == problem
    problem = call.refusal("train", "in.txt", "--model", "onlstm-syd", "--trees", "gold.pbt", "-o", "run")
    assert problem.startswith("no treebank 'gold.pbt': neither a file nor a name")
    Path("heads.conllu").write_text("1\tyes\t_\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    problem = call.refusal("train", "in.txt", "--model", "onlstm-syd", "--trees", "heads.conllu", "-o", "run")
    assert "heads.conllu:1" in problem
    assert not Path("run").exists()


def test_a_treebank_alone_is_the_text_too_and_a_run_cut_off_goes_on(call: Caller) -> None:
    given = ["--model", "onlstm-syd", "--trees", "gold.ptb", "-o", "run", *TINY]
    assert call("train", *given)[0] == 0
    found = call.result("info", "-m", "run")
    assert "(95 sentences" in found  # every twentieth sentence is development text
    assert "trained with gold trees: gold.ptb (100 sentences)" in found
    code, _, err = call("train", "--resume", "-o", "run", "--set", "train.epochs=4")
    assert code == 0, err
    assert "epoch 4" in err


def test_a_model_learns_from_another_ones_trees(call: Caller, model: Path, parser: Path) -> None:
    Path("text.txt").write_text(toy_text(), encoding="utf-8")
    call.result("combine", f"{model}@layer=1", "baseline:right@weight=3", "-o", "teacher")
    call.result("train", "--model", "onlstm-syd", "text.txt", "--teacher", "teacher", "-o", "pupil", *TINY)
    told = call.result("info", "-m", "pupil")
    assert "learned from parsed trees of teachers: teacher" in " ".join(told.split())
    pupil = call.result("parse", "-m", "pupil", "text.txt")
    taught = call.result("parse", "-m", "teacher", "text.txt")
    same = [one == other for one, other in zip(pupil.splitlines(), taught.splitlines(), strict=True)]
    assert sum(same) > 0.9 * len(same)  # it branches to the right, as its teacher does
    scores = call.json("eval", "--gold", "gold.ptb", "-m", "pupil")
    assert scores["scores"][0]["trained_with"] == "parsed trees: teacher (teacher)"
    assert "name a TEXT" in call.refusal("train", "--model", "onlstm-syd", "--teacher", "teacher", "-o", "other", *TINY)
    call.result("train", "--model", "onlstm-syd", "text.txt", "--teacher", parser, "-o", "grandchild", *TINY)
    assert "learned from gold trees of teachers: " in " ".join(call.result("info", "-m", "grandchild").split())


def test_a_pupil_goes_on_after_an_interruption(call: Caller, model: Path) -> None:
    Path("text.txt").write_text(toy_text(), encoding="utf-8")
    given = ("--model", "onlstm-syd", "text.txt", "--teacher", model, *TINY)
    call.result("train", *given, "-o", "whole")
    call.result("train", *given, "-o", "halves", "--max-minutes", "0.00001")
    call.result("train", "--resume", "-o", "halves")
    weights = [Path(run, "last", "weights.safetensors").read_bytes() for run in ("whole", "halves")]
    assert weights[0] == weights[1]
