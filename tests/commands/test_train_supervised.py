"""A model that also learns from trees, through every command: where trees come from, and that every score says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.main import run as run_cli
from tests.support.calls import Caller, set_options, toy_text
from tests.support.model_files import RESUME, weights_of
from tests.support.tiny import SETTINGS, sentences, with_trees

TINY = set_options(*SETTINGS["onlstm-syd"], "loader.batch_size=4")
ONE_EPOCH = set_options("train.epochs=1")
TREES = "".join(f"{sentence.tree}\n" for sentence in with_trees(sentences(100, seed=3)))


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of plain text and trees, which tests only read."""
    folder = tmp_path_factory.mktemp("supervised")
    (folder / "text.txt").write_text(toy_text(), encoding="utf-8")
    (folder / "gold.ptb").write_text(TREES, encoding="utf-8")
    arguments = ["--model", "onlstm-syd", str(folder / "text.txt"), "--trees", str(folder / "gold.ptb")]
    assert run_cli(["train", *arguments, "-o", str(folder / "run"), *TINY]) == 0
    return folder / "run"


@pytest.fixture(autouse=True)
def folder(working_folder: Path) -> None:
    """A folder with a text and a treebank, to work in."""
    Path("in.txt").write_text("The dog saw a cat .\n\nThe old girl met the 12 .\n", encoding="utf-8")
    Path("gold.ptb").write_text(TREES, encoding="utf-8")


def test_checkpoint_and_scores_say_which_trees_were_learned_from(call: Caller, parser: Path) -> None:
    treebank = parser.parent / "gold.ptb"
    assert f"trained with gold trees: {treebank} (100 sentences)" in call.result("info", "-m", parser)
    scores = call.json("eval", "--gold", "gold.ptb", "-m", parser, "--baseline", "right")
    model_score, right = scores["scores"]
    assert model_score["trained_with"] == f"gold trees: {treebank}"
    assert f"|trained with gold trees: {treebank}|data:gold.ptb|" in model_score["signature"]
    assert "trained_with" not in right
    assert "trained with" not in right["signature"]
    assert "|trained with gold trees: " in call.result("eval", "--gold", "gold.ptb", "-m", parser)


def test_each_set_of_distances_can_be_read(call: Caller, parser: Path) -> None:
    distances = {name: call.result("extract", "-m", f"{parser}@distances={name}", "in.txt") for name in ("lm", "syd")}
    assert distances["lm"] != distances["syd"] == call.result("extract", "-m", parser, "in.txt")
    for name, lines in distances.items():
        Path("d.jsonl").write_text(lines, encoding="utf-8")
        trees = call.result("decode", "d.jsonl")
        assert trees == call.result("parse", "-m", f"{parser}@distances={name}", "in.txt")
    problem = "model 'onlstm-syd': the supervised distances are those of layer 2, not 1 (@distances=lm has every layer)"
    assert call.refusal("parse", "-m", f"{parser}@layer=1", "in.txt") == problem
    assert call.result("parse", "-m", f"{parser}@layer=1,distances=lm", "in.txt")


def test_both_sets_of_distances_are_drawn_next_to_gold(call: Caller, parser: Path) -> None:
    """Figures 3 and 5 to 18 of Du et al. 2020."""
    models = [f"{parser}@distances={name}" for name in ("syd", "lm")]
    arguments = [word for model in models for word in ("-m", model)]
    call.result("draw", "--gold", "gold.ptb", *arguments, "--sentences", "1", "-o", "a.svg")
    picture = Path("a.svg").read_text(encoding="utf-8")
    assert all(picture.count(f"{model} —") == 1 for model in models)
    assert picture.count('class="bar"') == 2 * 4 + 1, "two models, the gaps of five words, and the legend"


def test_trees_need_a_model_and_the_model_needs_trees(call: Caller, copy: Path) -> None:
    problem = "model 'onlstm' learns from plain text alone; --trees is for onlstm-syd and prpn-syd (--model NAME)"
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


def test_treebank_alone_serves_as_text_and_interrupted_run_is_resumed(call: Caller) -> None:
    arguments = ["--model", "onlstm-syd", "--trees", "gold.ptb", "-o", "run", *TINY, *ONE_EPOCH]
    code, _, err = call("train", *arguments)
    assert code == 0, err
    assert "eval -m run --gold TREEBANK" in err
    summary = call.result("info", "-m", "run")
    assert "trained on: gold.ptb (95 sentences" in summary  # every twentieth sentence is development text
    assert "trained with gold trees: gold.ptb (100 sentences)" in summary
    code, _, err = call("train", "--resume", "-o", "run", "--set", "train.epochs=2")
    assert code == 0, err
    assert "epoch 2" in err


def test_name_of_short_sentences_leaves_out_longer_trees(
    call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNPARSE_PTB", str(tmp_path))
    (tmp_path / "wsj_2301.mrg").write_text(f"{TREES}(S (DT the){' (JJ old)' * 9} (NN dog))\n", encoding="utf-8")
    for name, count in (("wsj23", 101), ("wsj23-10", 100)):
        err = call("train", "--model", "onlstm-syd", "--trees", name, "-o", name, *TINY, "--set", "train.epochs=1")[2]
        assert f"{count} sentences of " in err


def test_student_learns_from_trees_of_teacher(call: Caller, model: Path, parser: Path) -> None:
    Path("text.txt").write_text(toy_text(), encoding="utf-8")
    call.result("combine", f"{model}@layer=1", "baseline:right@weight=3", "-o", "teacher")
    call.result("train", "--model", "onlstm-syd", "text.txt", "--teacher", "teacher", "-o", "pupil", *TINY)
    summary = call.result("info", "-m", "pupil")
    assert "learned from parsed trees of teachers: teacher" in " ".join(summary.split())
    student_trees = call.result("parse", "-m", "pupil", "text.txt")
    teacher_trees = call.result("parse", "-m", "teacher", "text.txt")
    pairs = zip(student_trees.splitlines(), teacher_trees.splitlines(), strict=True)
    same = [student_tree == teacher_tree for student_tree, teacher_tree in pairs]
    assert sum(same) > 0.9 * len(same)  # it branches to the right, as its teacher does
    scores = call.json("eval", "--gold", "gold.ptb", "-m", "pupil")
    assert scores["scores"][0]["trained_with"] == "parsed trees: teacher (teacher)"
    assert "name a TEXT" in call.refusal("train", "--model", "onlstm-syd", "--teacher", "teacher", "-o", "other", *TINY)
    call.result(
        "train", "--model", "onlstm-syd", "text.txt", "--teacher", parser, "-o", "grandchild", *TINY, *ONE_EPOCH
    )
    assert "learned from gold trees of teachers: " in " ".join(call.result("info", "-m", "grandchild").split())


def test_student_is_resumed_after_interruption(call: Caller, model: Path) -> None:
    Path("text.txt").write_text(toy_text(), encoding="utf-8")
    arguments = ("--model", "onlstm-syd", "text.txt", "--teacher", model, *TINY, "--set", "train.epochs=2")
    call.result("train", *arguments, "-o", "whole")
    call.result("train", *arguments, "-o", "halves", "--max-minutes", "0.00001")
    call.result("train", "--resume", "-o", "halves")
    weights = [weights_of(Path(run, RESUME)) for run in ("whole", "halves")]
    assert weights[0] == weights[1]
    call.result("combine", f"{model}@layer=1", "baseline:left@weight=3", "-o", "other")
    problem = (
        "the training text, with parsed trees: other (teacher), is not the one that this run began with; give the "
    )
    assert f"{problem}same text and trees or heads" in call.refusal(
        "train", "--resume", "-o", "halves", "--teacher", "other"
    )
