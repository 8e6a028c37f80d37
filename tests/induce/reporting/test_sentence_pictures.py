"""Pictures of JSON lines written by models, and selection of sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from induce.reporting.sentence_pictures import analysis_of_line, chosen_numbers, pictures
from treebank.base.errors import UsageError
from treebank.core.sentence import ROOT


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
