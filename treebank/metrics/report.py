"""A score with everything that one has to know to compare it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from treebank.metrics.conventions import ScoringConvention
from treebank.version import VERSION


class Counts(NamedTuple):
    """Brackets of one sentence, or of several: in both trees, in the predicted one, in the gold one."""

    matched: int
    predicted: int
    gold: int


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """One system under one convention; ``value``, ``precision``, ``recall`` and ``interval`` in percent.

    ``counts`` has one entry per scored sentence, in the order of the gold file. ``by_label`` gives for each gold label
    how many constituents were found, of how many. ``depth`` is the mean number of brackets around a word,
    ``right_left`` the number of first children among the words divided by that of last children.
    """

    system: str
    metric: str
    convention: ScoringConvention
    data: str
    value: float
    precision: float
    recall: float
    interval: tuple[float, float]
    counts: Sequence[Counts]
    by_label: Mapping[str, tuple[int, int]] | None = None  # of trees, like the next two
    depth: float | None = None
    right_left: float | None = None
    seed: int | None = None  # of a random baseline

    @property
    def totals(self) -> Counts:
        """The counts of all sentences together."""
        return Counts(*map(sum, zip(*self.counts, strict=True)))

    @property
    def signature(self) -> str:
        """How the value came about: ``UF1|conv:on-lstm|avg:sent|root:drop|…|data:wsj10 (5 % sample)|v:0.1.0``."""
        seed = "" if self.seed is None else f"|seed:{self.seed}"
        return f"{self.metric}|{self.convention}{seed}|data:{self.data}|sentences:{len(self.counts)}|v:{VERSION}"

    def __str__(self) -> str:
        return f"{self.signature} = {self.value:.1f}"

    def to_json(self) -> dict[str, Any]:
        """The entry of this score in the output of ``synparse eval --json``."""
        entry = {
            "system": self.system,
            "metric": self.metric,
            "convention": self.convention.name,
            "value": self.value,
            "precision": self.precision,
            "recall": self.recall,
            "interval": list(self.interval),
            "sentences": len(self.counts),
            "brackets": self.totals._asdict(),
            "signature": self.signature,
        }
        if self.by_label is not None:
            entry["by_label"] = {label: list(found) for label, found in self.by_label.items()}
            entry |= {"depth": self.depth, "right_left": self.right_left}
        return entry
