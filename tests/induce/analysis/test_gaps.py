"""Chunk boundaries of gold trees, and the score of a model with given gaps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from induce.analysis.gaps import chunk_boundaries, chunk_ends
from induce.structures import Distances, Heights
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence, Treebank
from treebank.core.tree import Tree

TREE = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (NP (DT a) (JJ big) (NN cat))) (PP (IN in) (NP (NN town)))) (. .))"


def parser(*rows: list[float], **others: Any) -> Any:
    """A model with distances ``rows``, which does not read the last word of a sentence."""
    readings = [SimpleNamespace(row=row, indices=range(len(row))) for row in rows]
    attributes = {"token": "word", "structure": Distances, "decoder": "segments", "name": "ocn"}
    return SimpleNamespace(**{**attributes, "predict": lambda sentences: readings, **others})


def gold(text: str = TREE) -> Treebank:
    tree = Tree.from_text(text)
    return Treebank("toy", [Sentence(tree.words, tree.tags, tree)])


def test_lowest_constituents_are_chunks() -> None:
    assert chunk_ends(Tree.from_text(TREE)) == [False, True, True, False, False, True, False, True]
    assert chunk_ends(Tree.from_text("(S (NP (DT the)) (NP (NN dog)))")) == [False]  # one constituent of two words
    assert chunk_ends(Tree.from_text("(S (NN dog))")) == []


def test_score_of_widest_gaps_and_of_own_cuts() -> None:
    row = [
        1.0,
        0.1,
        0.9,
        0.6,
        0.2,
        0.3,
        0.4,
        0.7,
    ]  # before the, dog, saw, a, big, cat, in, town; the full stop is left out
    score = chunk_boundaries(parser(row), "run", gold())
    assert (score.boundaries, score.gaps, score.correct, score.cuts, score.correct_cuts) == (3, 7, 2, 3, 2)
    assert score.values["value"] == pytest.approx(200 / 3)
    assert score.values["own"] == pytest.approx(200 * 2 / 6)
    assert score.values["own_chance"] == pytest.approx(score.values["chance"]) == pytest.approx(300 / 7)
    assert score.values["above"] == pytest.approx(100 * 10 / 12)
    assert "|model:ocn|run:run|gold:toy|boundaries:3|gaps:7|cuts:3|" in score.signature
    assert "own" not in chunk_boundaries(parser(row, decoder="biased"), "run", gold()).to_json()


def test_models_without_distances_and_trees_without_chunks_are_refused() -> None:
    row = [1.0, 0.5]
    for model, trees, problem in (
        (parser(row, token="character"), gold(), "reads characters"),
        (parser(row, structure=Heights), gold(), "predicts heights, not distances"),
        (parser([1.0]), gold("(S (NN dog))"), "0 of 0 gaps are boundaries"),
        (parser(), Treebank("ud", [Sentence(("a", "b"), heads=(1, -1))]), "ud: this treebank has no trees, only heads"),
    ):
        with pytest.raises(SynparseError, match=problem):
            chunk_boundaries(model, "run", trees)
