"""Agreement of syntactic distances with word boundaries, in models of characters, or with chunk boundaries.

The evaluation of word boundaries turns figure 4 of Shen et al. (2018) into numbers: the F1 of the widest gaps, as many
as there are boundaries, and the probability that the gap at a boundary is wider than another gap.

A chunk is one of the lowest constituents of a gold tree: two or more words none of whose parts is a constituent. A word
outside all of these is a chunk by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from induce.analysis.correlation import probability_larger
from induce.data.vocabulary import SPACE
from induce.decoding.distances import EVEN
from induce.parsing.model_parser import ModelParser
from induce.structures import Distances
from treebank.base import VERSION
from treebank.base.errors import SynparseError
from treebank.base.tables import Column, Table
from treebank.core.sentence import Sentence, Treebank
from treebank.core.tree import Tree

TITLES = {"value": "F1", "chance": "At random", "above": "Wider, %", "own": "Own F1", "own_chance": "Own at random"}


@dataclass(frozen=True)
class GapScore:
    """Agreement of the widest gaps with the boundaries of a text or treebank."""

    metric: str
    model: str
    run: str
    source: str  # signature of the boundaries, such as "gold:wsj10"
    boundaries: int
    gaps: int
    correct: int  # boundaries among the widest gaps, as many gaps as boundaries
    above: float  # probability that the gap at a boundary is wider than another one
    cuts: int | None = None  # gaps of one half or more, if gaps are probabilities of a boundary
    correct_cuts: int = 0  # boundaries among these

    @property
    def values(self) -> dict[str, float]:
        """Values in percent: F1 of the widest gaps and of random gaps, and the same for the model's own cuts.

        Precision and recall of the widest gaps are equal, as there are as many gaps as boundaries.
        """
        values = {
            "value": 100 * self.correct / self.boundaries,
            "chance": 100 * self.boundaries / self.gaps,
            "above": 100 * self.above,
        }
        if self.cuts is not None:
            values["own"] = 200 * self.correct_cuts / (self.cuts + self.boundaries)
            values["own_chance"] = 200 * self.cuts * self.boundaries / self.gaps / (self.cuts + self.boundaries)
        return values

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of boundaries, of gaps, and of the model's own cuts if it has any."""
        counts = {"boundaries": self.boundaries, "gaps": self.gaps}
        return counts if self.cuts is None else {**counts, "cuts": self.cuts}

    @property
    def signature(self) -> str:
        """The convention of the values."""
        counts = "|".join(f"{name}:{count}" for name, count in self.counts.items())
        return f"{self.metric}|model:{self.model}|run:{self.run}|{self.source}|{counts}|v:{VERSION}"

    def tables(self) -> list[Table]:
        """One row with the values in percent."""
        columns = [Column("System"), *(Column(TITLES[name], ".1f") for name in self.values)]
        title = "Agreement of gaps with boundaries"
        return [Table(title, columns, [[self.model, *self.values.values()]], footnotes=[self.signature])]

    def to_json(self) -> dict[str, Any]:
        """The score as a JSON object."""
        names = {"system": self.model, "model": self.run, "metric": self.metric}
        return {**names, **self.values, **self.counts, "signature": self.signature}


def word_boundaries(parser: ModelParser, run: str, text: Iterable[Sentence]) -> GapScore:
    """Score the distances between characters. A gap after a space is left out, because a word starts there, too.

    Raises SynparseError if the model reads words or has no distances, or if no line of the text has two words.
    """
    _check(parser, run, "character", "word boundaries")
    gaps: list[float] = []
    is_boundary: list[bool] = []
    for reading in parser.predict(text):
        for index in range(1, len(reading.words)):
            if reading.words[index - 1] != SPACE:
                gaps.append(float(reading.row[index]))
                is_boundary.append(reading.words[index] == SPACE)
    return _score("word-boundary-F1", parser, run, "threshold:as-many-as-words", gaps, is_boundary)


def chunk_boundaries(parser: ModelParser, run: str, gold: Treebank) -> GapScore:
    """Score the distances between the words that the model reads, in the trees of ``gold``.

    Raises SynparseError if the model reads characters or has no distances, or if no sentence has a tree of two chunks.
    """
    _check(parser, run, "word", "chunk boundaries")
    gaps: list[float] = []
    is_boundary: list[bool] = []
    sentences = [sentence for sentence in gold.sentences if sentence.tree is not None]
    if not sentences:
        raise SynparseError(f"{gold.label}: this treebank has no trees, only heads; name a treebank with trees")
    trees = [sentence.tree.without_traces() for sentence in sentences if sentence.tree is not None]
    for tree, reading in zip(trees, parser.predict(sentences), strict=True):
        kept_indices = set(reading.indices)
        is_kept = [index in kept_indices for index in range(len(tree.words))]
        gaps += map(float, reading.row[1:])
        is_boundary += chunk_ends(tree.keep(is_kept))
    return _score("chunk-boundary-F1", parser, run, f"gold:{gold.label}", gaps, is_boundary)


def _check(parser: ModelParser, run: str, token: str, boundaries: str) -> None:
    """Raises SynparseError if a model does not read ``token``s or has no distances."""
    if parser.token != token:
        raise SynparseError(f"{run}: this model reads {parser.token}s; {boundaries} need a model of {token}s")
    if parser.structure is not Distances:
        raise SynparseError(f"{run}: this model predicts {parser.structure.name}, not distances")


def _score(
    metric: str, parser: ModelParser, run: str, source: str, gaps: Sequence[float], is_boundary: Sequence[bool]
) -> GapScore:
    """The score of ``gaps``. Raises SynparseError if all or none of them are boundaries."""
    values, is_end = np.array(gaps), np.array(is_boundary, dtype=bool)
    boundaries = int(is_end.sum())
    if not 0 < boundaries < len(is_end):
        raise SynparseError(f"{source}: {boundaries} of {len(is_end)} gaps are boundaries; nothing can be scored")
    widest = np.argsort(-values, kind="stable")[:boundaries]
    counts = boundaries, len(values), int(is_end[widest].sum()), probability_larger(values, is_end)
    if parser.decoder != "segments":
        return GapScore(metric, parser.name, run, source, *counts)
    is_cut = values >= EVEN
    return GapScore(metric, parser.name, run, source, *counts, int(is_cut.sum()), int((is_cut & is_end).sum()))


def chunk_ends(tree: Tree) -> Sequence[bool]:
    """For each gap between two words of ``tree``, whether a chunk ends there."""
    phrases = [span for span in tree.collapse_unary().spans if span[1] - span[0] > 1]
    ends = [True] * max(0, len(tree.words) - 1)
    for index, (start, end) in enumerate(phrases):
        next_start = phrases[index + 1][0] if index + 1 < len(phrases) else end
        if next_start >= end:  # in pre-order, a part of the phrase would be next
            ends[start : end - 1] = [False] * (end - 1 - start)
    return ends
