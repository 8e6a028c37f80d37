"""Ends of chunks: the lowest constituents of gold trees, and a model whose gaps are known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from induce.analysis.chunks import chunk_boundaries, chunk_ends
from induce.structures import Distances, Heights
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence, Treebank
from treebank.core.tree import Tree

TREE = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (NP (DT a) (JJ big) (NN cat))) (PP (IN in) (NP (NN town)))) (. .))"


def parser(*rows: list[float], **others: Any) -> Any:
    """A model that says ``rows`` of sentences of which it leaves out the last word."""
    readings = [SimpleNamespace(row=row, kept=range(len(row))) for row in rows]
    known = {"token": "word", "structure": Distances, "decoder": "segments", "name": "ocn"}
    return SimpleNamespace(**{**known, "read": lambda sentences: readings, **others})


def gold(text: str = TREE) -> Treebank:
    tree = Tree.from_text(text)
    return Treebank("toy", [Sentence(tree.words, tree.tags, tree)])


def test_lowest_constituents_are_chunks() -> None:
    assert chunk_ends(Tree.from_text(TREE)) == [False, True, True, False, False, True, False, True]
    assert chunk_ends(Tree.from_text("(S (NP (DT the)) (NP (NN dog)))")) == [False]  # one constituent of two words
    assert chunk_ends(Tree.from_text("(S (NN dog))")) == []


def test_widest_gaps_and_own_cuts() -> None:
    row = [1.0, 0.1, 0.9, 0.6, 0.2, 0.3, 0.4, 0.7]  # before the, dog, saw, a, big, cat, in, town; the end is left out
    score = chunk_boundaries(parser(row), "run", gold())
    assert (score.boundaries, score.gaps, score.found, score.cuts, score.right) == (3, 7, 2, 3, 2)
    assert score.values["value"] == pytest.approx(200 / 3)
    assert score.values["own"] == pytest.approx(200 * 2 / 6)
    assert score.values["own_chance"] == pytest.approx(score.values["chance"]) == pytest.approx(300 / 7)
    assert score.values["above"] == pytest.approx(100 * 10 / 12)
    assert "|model:ocn|run:run|gold:toy|boundaries:3|gaps:7|cuts:3|" in score.signature
    assert "own" not in chunk_boundaries(parser(row, decoder="biased"), "run", gold()).to_json()


def test_what_has_no_ends_of_chunks() -> None:
    row = [1.0, 0.5]
    for asked, trees, problem in (
        (parser(row, token="character"), gold(), "reads characters"),
        (parser(row, structure=Heights), gold(), "gives heights and no distances"),
        (parser([1.0]), gold("(S (NN dog))"), "no end of a chunk"),
    ):
        with pytest.raises(SynparseError, match=problem):
            chunk_boundaries(asked, "run", trees)
