"""Pictures of JSON lines written by models, and selection of sentences."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from induce.reporting.sentence_pictures import analysis_of_line, chosen_numbers, pictures, read_analyses
from treebank.base.errors import SynparseError, TreebankError, UsageError
from treebank.core.sentence import ROOT, Location
from treebank.draw.picture import Analysis, fitted
from treebank.io.read import InputOptions


def test_head_probabilities_of_ignored_words_are_zero() -> None:
    analysis = analysis_of_line({"words": ["a", ",", "b"], "indices": [0, 2], "heads": [[0.9, 0.1], [0.8, 0.2]]}, "x")
    assert analysis.probabilities == ((0.9, 0, 0.1), (0, 0, 0), (0.8, 0, 0.2))
    assert analysis.heads[2] == 0
    assert analysis.heads[0] == ROOT


def test_distances_are_decoded_by_the_decoder_that_the_line_names() -> None:
    line = {"words": ["a", "b", "c"], "distances": [9.0, 1.0, 2.0], "decoder": "nary"}
    analysis = analysis_of_line(line, "x")
    assert analysis.distances == (9.0, 1.0, 2.0)
    assert analysis.tree.spans == ((0, 3), (0, 2))


def test_heights_have_bars_and_heads() -> None:
    analysis = analysis_of_line({"words": ["a", "b"], "heights": [[0, 1], [3, 2]]}, "x")
    assert analysis.distances == (0.0, 3.0)
    assert analysis.heads == (1, ROOT)


def test_stack_is_decoded_to_a_tree() -> None:
    analysis = analysis_of_line({"words": ["a", "b", "c"], "stack": [0, 0, 1]}, "x")
    assert analysis.distances == ()


@pytest.mark.parametrize(("text", "drawn"), [("2", [2]), ("1,3-4", [1, 3, 4]), ("4-", [4, 5]), ("5,2", [2, 5])])
def test_selected_sentences_are_drawn(tmp_path: Path, text: str, drawn: list[int]) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"words": [f"w{i}", "x"], "spans": [[0, 2]]}) for i in range(5)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert [int(picture.title) for picture in pictures([str(path)], [], choose=chosen_numbers(text))] == drawn


@pytest.mark.parametrize("text", ["", "0", "a", "1-b", "-3", "1,,2"])
def test_invalid_selection_raises_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="give numbers from 1"):
        chosen_numbers(text)


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
