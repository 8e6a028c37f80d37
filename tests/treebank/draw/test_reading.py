"""Analyses from files of every kind."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from treebank.base.errors import SynparseError, TreebankError
from treebank.core.sentence import Location
from treebank.draw.picture import Analysis
from treebank.draw.reading import fitted, read_analyses
from treebank.io.read import InputOptions

CONLLU = "# text = a b\n1\ta\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tb\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
BRACKETS = "(X (W a) (X (W b) (W c)))\n"
NUMBERS = json.dumps({"words": ["a", ",", "b", "c"], "indices": [0, 2, 3], "distances": [0.5, 3, 1]})


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def only(folder: Path, text: str, name: str = "a.txt") -> Analysis:
    ((_, analysis),) = read_analyses(write(folder, name, text))
    return analysis


def test_trees(tmp_path: Path) -> None:
    assert str(only(tmp_path, BRACKETS).tree) == BRACKETS.strip()
    traced = only(tmp_path, "( (S (NP-SBJ (-NONE- *)) (VP (VB Go))))", "a.mrg")
    assert traced.words == ("Go",)


def test_heads(tmp_path: Path) -> None:
    analysis = only(tmp_path, CONLLU)
    assert (analysis.heads, analysis.relations, analysis.tags) == ((1, -1), ("det", "root"), ("DET", "NOUN"))


def test_distances_of_the_words_that_a_model_saw(tmp_path: Path) -> None:
    analysis = only(tmp_path, NUMBERS)
    assert math.isnan(analysis.distances[1])
    assert [value for value in analysis.distances if value == value] == [0.5, 3.0, 1.0]
    assert analysis.tree is not None
    assert (2, 4) in analysis.tree.spans


def test_format_and_encoding_of_the_options(tmp_path: Path) -> None:
    for name, text, form in (("a", BRACKETS, ""), ("a.conllu", BRACKETS, "brackets"), ("a.mrg", NUMBERS, "jsonl")):
        path = tmp_path / name
        path.write_text(text.replace("b", "é"), encoding="utf-16")
        options = InputOptions(form=form, encoding="utf-16")
        ((_, analysis),) = read_analyses(str(path), input_options=options)
        assert analysis.tree is not None
        assert "é" in analysis.words


def test_error_names_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", f'{NUMBERS}\n{{"words": ["a"]}}\n')
    with pytest.raises(TreebankError, match=r"a\.jsonl:2: expected"):
        list(read_analyses(path))


def test_plain_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SynparseError, match="plain text, without trees or heads to compare with gold; leave it out"):
        list(read_analyses(write(tmp_path, "a.txt", "the old man\n")))


def test_brackets_without_labels_are_read_by_the_words_of_gold(tmp_path: Path) -> None:
    analysis = only(tmp_path, "((a b) (c d))\n")
    assert fitted(analysis, Location("a", 1), ["a", "b", "c", "d"]).words == ("a", "b", "c", "d")
