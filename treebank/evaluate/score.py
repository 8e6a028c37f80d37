"""A score with everything that one has to know to compare it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, NamedTuple

from treebank.base.version import VERSION
from treebank.evaluate.conventions import Convention
from treebank.evaluate.labels import LabelScores


class Counts(NamedTuple):
    """Brackets of one sentence, or of several: in both trees, in the predicted one, in the gold one.

    Of the expectation of a random baseline, ``matched`` is a fraction.
    """

    matched: float
    predicted: int
    gold: int


def total(counts: Iterable[Counts]) -> Counts:
    """The sums of the counts of several sentences."""
    return Counts(*map(sum, zip(*counts, strict=True)))


@dataclass(frozen=True, slots=True)
class Runs:
    """The values of a random baseline, drawn from several seeds, or of a model trained from several."""

    values: Mapping[str, float]  # by the name of the run

    @property
    def mean(self) -> float:
        return fmean(self.values.values())

    @property
    def deviation(self) -> float:
        """Standard deviation of the sample (n - 1); 0 for one run."""
        return stdev(self.values.values()) if len(self.values) > 1 else 0.0

    @property
    def maximum(self) -> float:
        return max(self.values.values())

    def to_json(self) -> dict[str, Any]:
        """Values, mean, standard deviation and the largest value."""
        return {"values": dict(self.values), "mean": self.mean, "sd": self.deviation, "max": self.maximum}


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """One system under one convention; ``value``, ``precision``, ``recall`` and ``interval`` in percent.

    ``counts`` has one entry per scored sentence, in the order of the gold file. ``by_label`` gives for each gold label
    how many constituents were found, of how many; ``by_height`` the same of the predicted ones by their height, and
    ``by_length`` sentences and value by the number of words. Of heads, ``by_relation`` and ``by_distance`` say how
    many gold arcs were found, of how many. ``depth`` is the mean number of brackets around a word,
    ``right_left`` the number of first children among the words divided by that of last children; the reading
    ``no_apostrophe`` leaves out words with one.
    """

    system: str
    metric: str
    convention: Convention
    data: str
    value: float
    precision: float
    recall: float
    interval: tuple[float, float]
    counts: Sequence[Counts]
    places: Sequence[int] = ()  # of each scored sentence in the gold treebank
    predicted: Sequence[Sequence[tuple[int, int]]] = ()  # brackets of each scored sentence
    by_label: Mapping[str, tuple[float, int]] | None = None  # of trees, like the next five but for ``by_length``
    depth: float | None = None
    right_left: float | None = None
    right_left_no_apostrophe: float | None = None
    by_length: Mapping[str, tuple[int, float]] | None = None
    by_height: Mapping[int, tuple[int, int]] | None = None
    labels: LabelScores | None = None  # of trees whose brackets have labels
    by_relation: Mapping[str, tuple[int, int]] | None = None  # of heads
    by_distance: Mapping[str, tuple[int, int]] | None = None
    seed: int | None = None  # of a random baseline
    runs: Runs | None = None  # of a random baseline whose value is the exact expectation
    model: str = ""  # the folder of a trained model
    decoded: str = ""  # which model gave the trees and how they were read; "" for what is no parser of ours
    sha256: str = ""  # of the gold sentences of the whole evaluation, as far as it is known
    learned_from: str = ""  # the trees that the system learned from, such as "gold trees: wsj-train"; "" for none

    @property
    def totals(self) -> Counts:
        """The counts of all sentences together."""
        return total(self.counts)

    @property
    def signature(self) -> str:
        """How the value came about: ``UF1|conv:on-lstm|avg:sent|root:drop|…|data:wsj10 (5 % sample)|v:0.1.0``."""
        seed = "" if self.seed is None else f"|seed:{self.seed}"
        seed = "|runs:exact" if self.runs else seed
        seed += f"|{self.decoded}" if self.decoded else ""
        seed += f"|trained with {self.learned_from}" if self.learned_from else ""
        data = f"{self.data}|sha256:{self.sha256[:12]}" if self.sha256 else self.data
        return f"{self.metric}|{self.convention}{seed}|data:{data}|sentences:{len(self.counts)}|v:{VERSION}"

    def __str__(self) -> str:
        return f"{self.signature} = {self.value:.1f}"

    def to_json(self) -> dict[str, Any]:
        """The entry of this score in the output of ``synparse eval --format json``."""
        entry = {
            "system": self.system.removesuffix(f" {self.model}") if self.model else self.system,
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
            entry["right_left_no_apostrophe"] = self.right_left_no_apostrophe
        if self.by_length is not None:
            entry["by_length"] = {words: list(found) for words, found in self.by_length.items()}
        if self.by_height is not None:
            entry["by_height"] = {str(height): list(found) for height, found in self.by_height.items()}
        if self.labels is not None:
            entry["labels"] = self.labels.to_json()
        for name, arcs in (("by_relation", self.by_relation), ("by_distance", self.by_distance)):
            if arcs is not None:
                entry[name] = {key: list(found) for key, found in arcs.items()}
        if self.model:
            entry["model"] = self.model
        if self.decoded:
            entry["parser"] = dict(part.split(":", 1) for part in self.decoded.split("|"))
        if self.learned_from:
            entry["trained_with"] = self.learned_from
        if self.runs is not None:
            entry["runs"] = self.runs.to_json()
        return entry
