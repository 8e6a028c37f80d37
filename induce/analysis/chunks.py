"""Do the distances of a model of words know where chunks end?

A chunk is one of the lowest constituents of a gold tree: at least two words, none of whose parts is a constituent; a
word outside all of these is one by itself. Between two words there is an end of a chunk unless one chunk has both.
"""

from __future__ import annotations

from collections.abc import Sequence

from induce.analysis.boundaries import GapScore
from induce.parsing.parser import ModelParser
from induce.structures import Distances
from treebank.base.errors import SynparseError
from treebank.core.sentence import Treebank
from treebank.core.tree import Tree


def chunk_boundaries(parser: ModelParser, run: str, gold: Treebank) -> GapScore:
    """The score of a model of words on the trees of ``gold``, over the words that the model reads.

    Raises SynparseError for a model of characters, for one without distances, and for trees without two chunks.
    """
    if parser.token != "word":
        raise SynparseError(f"{run}: this model reads characters; ends of chunks are found by one of words")
    if parser.structure is not Distances:
        raise SynparseError(f"{run}: this model gives {parser.structure.name} and no distances")
    gaps: list[float] = []
    wanted: list[bool] = []
    trees = [sentence.tree.without_traces() for sentence in gold.sentences if sentence.tree is not None]
    sentences = [sentence for sentence in gold.sentences if sentence.tree is not None]
    for tree, reading in zip(trees, parser.read(sentences), strict=True):
        kept = set(reading.kept)
        gaps += [float(gap) for gap in reading.row[1:]]
        wanted += chunk_ends(tree.keep([place in kept for place in range(len(tree.words))]))
    score = GapScore.of("chunk-boundary-F1", parser, run, f"gold:{gold.label}", gaps, wanted)
    if score is None:
        raise SynparseError(f"{gold.label}: there is no end of a chunk between two words, or nothing else")
    return score


def chunk_ends(tree: Tree) -> Sequence[bool]:
    """For each gap between two words of ``tree`` whether a chunk ends there."""
    phrases = [span for span in tree.collapse_unary().spans if span[1] - span[0] > 1]
    ends = [True] * max(0, len(tree.words) - 1)
    for place, (start, end) in enumerate(phrases):
        next_start = phrases[place + 1][0] if place + 1 < len(phrases) else end
        if next_start >= end:  # in pre-order a part would come next
            ends[start : end - 1] = [False] * (end - 1 - start)
    return ends
