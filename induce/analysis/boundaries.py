"""Do the distances of a model of characters know where words end? (Shen et al. 2018, figure 4, as a number.)

A gap between two characters is one number. What is asked is whether the gaps before spaces are the widest: precision
and recall where as many gaps are taken as there are words, and the chance that a gap before a space is wider than
another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from induce.data.tokens import SPACE
from induce.decoding.distances import EVEN
from induce.parsing.parser import ModelParser
from induce.structures import Distances
from treebank.base.errors import SynparseError
from treebank.base.version import VERSION
from treebank.core.sentence import Sentence


@dataclass(frozen=True)
class GapScore:
    """How well the widest gaps are the ends that are wanted, over a whole text or treebank."""

    metric: str
    model: str
    run: str
    source: str  # what the signature says of the ends, such as "gold:wsj10"
    boundaries: int
    gaps: int
    found: int  # boundaries among as many of the widest gaps as there are boundaries
    above: float  # chance that a boundary's gap is wider than another one, ties counted half
    cuts: int | None = None  # gaps of one half or more, where gaps are probabilities of an end
    right: int = 0  # boundaries among these

    @classmethod
    def of(
        cls,
        metric: str,
        parser: ModelParser,
        run: str,
        source: str,
        gaps: Sequence[float],
        wanted: Sequence[bool],
    ) -> GapScore | None:
        """The score of ``gaps``, of which some are ``wanted``; None if none or all are."""
        values, is_end = np.array(gaps), np.array(wanted, dtype=bool)
        count = int(is_end.sum())
        if not count or count == len(is_end):
            return None
        widest = np.argsort(-values, kind="stable")[:count]
        sure = values >= EVEN if parser.decoder == "segments" else None
        own = () if sure is None else (int(sure.sum()), int((sure & is_end).sum()))
        counts = count, len(values), int(is_end[widest].sum())
        return cls(metric, parser.name, run, source, *counts, above(values, is_end), *own)

    @property
    def values(self) -> dict[str, float]:
        """In percent: F1 of as many gaps as there are boundaries, of gaps at random, and of the model's own cuts.

        Precision and recall are the same where as many gaps are taken.
        """
        found = {
            "value": 100 * self.found / self.boundaries,
            "chance": 100 * self.boundaries / self.gaps,
            "above": 100 * self.above,
        }
        if self.cuts is not None:
            found["own"] = 200 * self.right / (self.cuts + self.boundaries)
            found["own_chance"] = 200 * self.cuts * self.boundaries / self.gaps / (self.cuts + self.boundaries)
        return found

    @property
    def counts(self) -> dict[str, int]:
        """Boundaries, gaps, and the model's own cuts where it makes some."""
        found = {"boundaries": self.boundaries, "gaps": self.gaps}
        return found if self.cuts is None else {**found, "cuts": self.cuts}

    @property
    def signature(self) -> str:
        """How the values came about."""
        counts = "|".join(f"{name}:{count}" for name, count in self.counts.items())
        return f"{self.metric}|model:{self.model}|run:{self.run}|{self.source}|{counts}|v:{VERSION}"

    def to_json(self) -> dict[str, Any]:
        """What ``synparse analyze boundaries --json`` writes."""
        about = {"system": self.model, "model": self.run, "metric": self.metric}
        return {**about, **self.values, **self.counts, "signature": self.signature}


def word_boundaries(parser: ModelParser, run: str, text: Iterable[Sentence]) -> GapScore:
    """The score of a model of characters on a text. The gap behind a space is no candidate: it begins a word, too.

    Raises SynparseError for a model of words, for one without distances, and for a text without two words in a line.
    """
    if parser.token != "character":
        raise SynparseError(f"{run}: this model reads words; boundaries of words are found by one of characters")
    if parser.structure is not Distances:
        raise SynparseError(f"{run}: this model gives {parser.structure.name} and no distances")
    gaps: list[float] = []
    is_boundary: list[bool] = []
    for reading in parser.read(text):
        for place in range(1, len(reading.words)):
            if reading.words[place - 1] != SPACE:
                gaps.append(float(reading.row[place]))
                is_boundary.append(reading.words[place] == SPACE)
    score = GapScore.of("word-boundary-F1", parser, run, "threshold:as-many-as-words", gaps, is_boundary)
    if score is None:
        raise SynparseError("the text has no boundary between two words, or nothing else")
    return score


def above(values: np.ndarray, wanted: np.ndarray) -> float:
    """The chance that a value that is ``wanted`` is larger than one that is not; ties count half (Mann-Whitney's U)."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (counts.cumsum() - (counts - 1) / 2)[place]
    positive, negative = int(wanted.sum()), int((~wanted).sum())
    return float((ranks[wanted].sum() - positive * (positive + 1) / 2) / (positive * negative))
