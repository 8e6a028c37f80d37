"""Do the distances of a model of characters know where words end? (Shen et al. 2018, figure 4, as a number.)

A gap between two characters is one number. What is asked is whether the gaps before spaces are the widest: precision
and recall where as many gaps are taken as there are words, and the chance that a gap before a space is wider than
another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from induce.data.tokens import SPACE
from induce.parsing.parser import ModelParser
from induce.structures import Distances
from treebank.errors import SynparseError
from treebank.sentence import Sentence
from treebank.version import VERSION


@dataclass(frozen=True)
class BoundaryScore:
    """How well the widest gaps are those before spaces, over a whole text."""

    model: str
    run: str
    boundaries: int
    gaps: int
    found: int  # boundaries among as many of the widest gaps as there are boundaries
    above: float  # chance that a boundary's gap is wider than another one, ties counted half

    @property
    def f1(self) -> float:
        """In percent; precision and recall are the same, as many gaps are taken as there are boundaries."""
        return 100 * self.found / self.boundaries

    @property
    def chance(self) -> float:
        """The same of gaps taken at random."""
        return 100 * self.boundaries / self.gaps

    @property
    def signature(self) -> str:
        """How the value came about."""
        counts = f"boundaries:{self.boundaries}|gaps:{self.gaps}"
        return f"word-boundary-F1|model:{self.model}|run:{self.run}|threshold:as-many-as-words|{counts}|v:{VERSION}"

    def to_json(self) -> dict[str, Any]:
        """What ``synparse analyze boundaries --json`` writes."""
        return {
            "system": self.model,
            "model": self.run,
            "metric": "word-boundary-F1",
            "value": self.f1,
            "chance": self.chance,
            "above": 100 * self.above,
            "boundaries": self.boundaries,
            "gaps": self.gaps,
            "signature": self.signature,
        }


def word_boundaries(parser: ModelParser, run: str, text: Iterable[Sentence]) -> BoundaryScore:
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
    values, wanted = np.array(gaps), np.array(is_boundary, dtype=bool)
    count = int(wanted.sum())
    if not count or count == len(wanted):
        raise SynparseError("the text has no boundary between two words, or nothing else")
    widest = np.argsort(-values, kind="stable")[:count]
    return BoundaryScore(parser.name, run, count, len(values), int(wanted[widest].sum()), above(values, wanted))


def above(values: np.ndarray, wanted: np.ndarray) -> float:
    """The chance that a value that is ``wanted`` is larger than one that is not; ties count half (Mann-Whitney's U)."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (counts.cumsum() - (counts - 1) / 2)[place]
    positive, negative = int(wanted.sum()), int((~wanted).sum())
    return float((ranks[wanted].sum() - positive * (positive + 1) / 2) / (positive * negative))
