"""Grammars that are focused on trees of other parsers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from induce import checkpoint
from induce.parsing.load import load_parser
from induce.training.focus import references_of
from induce.training.run import RunRequest, prepare_run
from tests.induce.tiny import SETTINGS, sentences
from treebank.errors import SynparseError

TEXT = [list(one.words) for one in sentences(60)]
TINY = tuple(SETTINGS["npcfg"])


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    """A right-branching tree for each sentence of `TEXT`."""
    path = tmp_path / "right.trees"
    lines = ["(X " + " (X ".join(f"(W {word})" for word in words) + ")" * len(words) for words in TEXT]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def request(run: Path, **options: object) -> RunRequest:
    settings = (*TINY, "train.focus_share=1.0", "train.focus_penalty=6")
    return RunRequest(run=str(run), text=TEXT, model="npcfg", settings=settings, **options)  # type: ignore[arg-type]


def trained(run: Path, **options: object) -> None:
    for _ in prepare_run(request(run, **options)).train():
        pass


def test_a_focused_grammar_gives_the_trees_that_it_was_focused_on(tmp_path: Path, trees: Path) -> None:
    trained(tmp_path / "run", focus=(str(trees),))
    parser = load_parser(tmp_path / "run")
    assert parser.learned_from == f"parsed trees: {trees} (focus)"
    tree = next(parser.parse(["The big dog saw a cat"]))
    assert {(start, end) for start, end in tree.spans if end - start > 1} == {(start, 6) for start in range(5)}


def test_a_run_can_be_what_it_is_focused_on(tmp_path: Path, trees: Path) -> None:
    trained(tmp_path / "first", focus=(str(trees),))
    first = f"{tmp_path / 'first'}:brackets"
    trained(tmp_path / "second", focus=(first, str(trees)))
    facts = load_parser(tmp_path / "second").checkpoint.facts
    assert facts["focus"] == [first, str(trees)]
    assert facts["focus_kind"] == "parsed trees"


def test_gold_trees_are_told(tmp_path: Path) -> None:
    path = tmp_path / "gold.mrg"
    lines = ["(S " + " ".join(f"(NN {word})" for word in words) + ")" for words in TEXT]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    trained(tmp_path / "run", focus=(str(path),))
    assert load_parser(tmp_path / "run").learned_from == f"gold trees: {path} (focus)"
    trained(tmp_path / "pupil", focus=(str(tmp_path / "run"),))
    assert load_parser(tmp_path / "pupil").learned_from.startswith("gold trees: ")


def test_a_focused_run_cut_off_goes_on_as_if_it_had_not(tmp_path: Path, trees: Path) -> None:
    trained(tmp_path / "whole", focus=(str(trees),))
    left = iter(range(9))
    list(prepare_run(request(tmp_path / "cut", focus=(str(trees),))).train(stop=lambda: next(left, None) is None))
    resumed = RunRequest(run=str(tmp_path / "cut"), text=TEXT, resume=True)
    list(prepare_run(resumed).train())
    whole, cut = (checkpoint.read(tmp_path / name / "last").weights() for name in ("whole", "cut"))
    assert all(torch.equal(value, cut[name]) for name, value in whole.items())


def test_trees_of_another_text_are_refused(tmp_path: Path, trees: Path) -> None:
    lines = trees.read_text(encoding="utf-8").splitlines()
    trees.write_text("\n".join(lines[:5] + lines[6:]) + "\n", encoding="utf-8")
    with pytest.raises(SynparseError, match=r"right\.trees: tree \d+ is not one of the training text's sentence"):
        prepare_run(request(tmp_path / "run", focus=(str(trees),)))


def test_what_is_not_there_or_cannot_be_focused_is_refused(tmp_path: Path, trees: Path) -> None:
    with pytest.raises(SynparseError, match="there is no run and no file of trees to focus on"):
        references_of([str(tmp_path / "nothing")])
    other = RunRequest(run=str(tmp_path / "run"), text=TEXT, model="onlstm", focus=(str(trees),))
    with pytest.raises(SynparseError, match="cannot be focused on trees"):
        prepare_run(other)
