"""Do the distances of a model of words know where chunks end?

A chunk is one of the lowest constituents of a gold tree: at least two words, none of whose parts is a constituent; a
word outside all of these is one by itself. Between two words there is an end of a chunk unless one chunk has both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from induce.analysis.boundaries import above
from induce.decoding.distances import EVEN
from induce.parsing.parser import ModelParser
from induce.structures import Distances
from treebank.errors import SynparseError
from treebank.sentence import Treebank
from treebank.tree import Tree
from treebank.version import VERSION


@dataclass(frozen=True)
class ChunkScore:
    """How well gaps are those between chunks, over a whole treebank; in shares of one."""

    model: str
    run: str
    gold: str
    boundaries: int
    gaps: int
    found: int  # boundaries among as many of the widest gaps as there are boundaries
    above: float  # chance that a boundary's gap is wider than another one, ties counted half
    cuts: int | None = None  # gaps of one half or more, where gaps are probabilities of an end
    right: int = 0  # boundaries among these

    @property
    def values(self) -> dict[str, float]:
        """In percent: F1 of as many gaps as there are boundaries, of gaps at random, and of the model's own cuts."""
        found = {
            "F1": 100 * self.found / self.boundaries,
            "chance": 100 * self.boundaries / self.gaps,
            "above": 100 * self.above,
        }
        if self.cuts is not None:
            found["own"] = 200 * self.right / (self.cuts + self.boundaries)
            found["own chance"] = 200 * self.cuts * self.boundaries / self.gaps / (self.cuts + self.boundaries)
        return found

    @property
    def signature(self) -> str:
        """How the values came about."""
        counts = f"boundaries:{self.boundaries}|gaps:{self.gaps}"
        counts += "" if self.cuts is None else f"|cuts:{self.cuts}"
        return f"chunk-boundary-F1|gold:{self.gold}|model:{self.model}|run:{self.run}|{counts}|v:{VERSION}"

    def to_json(self) -> dict[str, Any]:
        """What ``synparse analyze boundaries --gold --json`` writes."""
        counts = {"boundaries": self.boundaries, "gaps": self.gaps, "cuts": self.cuts}
        about = {"system": self.model, "model": self.run, "metric": "chunk-boundary-F1"}
        return {**about, **self.values, **counts, "signature": self.signature}


def chunk_boundaries(parser: ModelParser, run: str, gold: Treebank) -> ChunkScore:
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
    values, is_end = np.array(gaps), np.array(wanted, dtype=bool)
    count = int(is_end.sum())
    if not count or count == len(is_end):
        raise SynparseError(f"{gold.label}: there is no end of a chunk between two words, or nothing else")
    widest = np.argsort(-values, kind="stable")[:count]
    sure = values >= EVEN if parser.decoder == "segments" else None
    own = () if sure is None else (int(sure.sum()), int((sure & is_end).sum()))
    counts = count, len(values), int(is_end[widest].sum())
    return ChunkScore(parser.name, run, gold.label, *counts, above(values, is_end), *own)


def chunk_ends(tree: Tree) -> Sequence[bool]:
    """For each gap between two words of ``tree`` whether a chunk ends there."""
    phrases = [span for span in tree.collapse_unary().spans if span[1] - span[0] > 1]
    ends = [True] * max(0, len(tree.words) - 1)
    for place, (start, end) in enumerate(phrases):
        next_start = phrases[place + 1][0] if place + 1 < len(phrases) else end
        if next_start >= end:  # in pre-order a part would come next
            ends[start : end - 1] = [False] * (end - 1 - start)
    return ends
