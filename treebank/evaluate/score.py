"""A score with everything that is needed to compare it with another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from treebank.base.version import VERSION
from treebank.core.tree import Span
from treebank.evaluate.averaging import Counts, total
from treebank.evaluate.conventions import Convention
from treebank.evaluate.labels import LabelScores
from treebank.evaluate.shape import Shape
from treebank.evaluate.systems import SystemInfo

Recall = Mapping[str, tuple[float, int]]  # category -> number of matches, and of gold items


@dataclass(frozen=True, slots=True)
class Runs:
    """Values by name: draws of a random baseline, or models trained with several seeds."""

    values: Mapping[str, float]

    @property
    def mean(self) -> float:
        return fmean(self.values.values())

    @property
    def deviation(self) -> float:
        """Standard deviation of the sample (n - 1), or 0 for one value."""
        return stdev(self.values.values()) if len(self.values) > 1 else 0.0

    @property
    def maximum(self) -> float:
        return max(self.values.values())

    def to_json(self) -> dict[str, Any]:
        """Values, mean, standard deviation and maximum."""
        return {"values": dict(self.values), "mean": self.mean, "sd": self.deviation, "max": self.maximum}


def runs_of(groups: Mapping[str, Sequence[str]], values: Mapping[str, float]) -> dict[str, Runs]:
    """The values of the models of each group of several, by pattern.

    A group is left out if one of its models has no value, as in tasks with several measures.
    """
    return {
        pattern: Runs({run: values[run] for run in group})
        for pattern, group in groups.items()
        if len(group) > 1 and values.keys() >= set(group)
    }


@dataclass(frozen=True, kw_only=True)
class Score:
    """The value of one metric for one system under one convention.

    ``value``, ``precision``, ``recall`` and ``interval`` (95 %, over sentences) are in percent; precision and recall of
    heads equal the value. ``counts`` has one entry per scored sentence, in the order of the gold file, and ``indices``
    their indices in the gold treebank. ``by_length`` has the number of sentences and the value by sentence length.
    ``sha256`` is the digest of these gold sentences.
    """

    info: SystemInfo
    metric: str
    convention: Convention
    data: str
    value: float
    precision: float
    recall: float
    interval: tuple[float, float]
    counts: Sequence[Counts]
    indices: Sequence[int]
    by_length: Mapping[str, tuple[int, float]] | None = None
    sha256: str = ""

    @property
    def system(self) -> str:
        """The name of the system."""
        return self.info.name

    @property
    def totals(self) -> Counts:
        """The counts of all sentences together."""
        return total(self.counts)

    @property
    def origin(self) -> str:
        """The part of the signature that says how the structures were produced."""
        seed = "" if self.info.seed is None else f"|seed:{self.info.seed}"
        decoded = f"|{self.info.decoded}" if self.info.decoded else ""
        return seed + decoded + (f"|trained with {self.info.learned_from}" if self.info.learned_from else "")

    @property
    def signature(self) -> str:
        """Everything that influences the value: ``UF1|conv:on-lstm|avg:sent|…|data:wsj10 (5 % sample)|v:0.1.0``."""
        data = f"{self.data}|sha256:{self.sha256[:12]}" if self.sha256 else self.data
        return f"{self.metric}|{self.convention}{self.origin}|data:{data}|sentences:{len(self.counts)}|v:{VERSION}"

    def __str__(self) -> str:
        return f"{self.signature} = {self.value:.1f}"

    def details(self) -> dict[str, Any]:
        """The detailed entries of the JSON output."""
        return {} if self.by_length is None else {"by_length": {key: list(row) for key, row in self.by_length.items()}}

    def to_json(self) -> dict[str, Any]:
        """The entry of this score in the output of ``synparse eval --format json``."""
        info = self.info
        entry: dict[str, Any] = {
            "system": info.name,
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
        entry |= self.details()
        if info.model:
            entry["model"] = info.model
        if info.decoded:
            entry["parser"] = dict(part.split(":", 1) for part in info.decoded.split("|"))
        if info.learned_from:
            entry["trained_with"] = info.learned_from
        return entry


@dataclass(frozen=True, kw_only=True)
class TreeScore(Score):
    """UF1, with precision and recall of brackets and the shape of the trees.

    ``predicted`` holds the brackets of each scored sentence over the words that count. ``by_label`` has the recall of
    constituents by gold label, ``by_height`` the precision of predicted phrases by height. ``labels`` are the scores of
    labels, if the predicted brackets have any. ``draws`` are the values of single draws of a random baseline whose
    value is the exact expectation.
    """

    metric: str = "UF1"
    shape: Shape
    by_label: Recall
    predicted: Sequence[Sequence[Span]] = ()
    by_height: Mapping[int, tuple[int, int]] | None = None
    labels: LabelScores | None = None
    draws: Runs | None = None

    @property
    def origin(self) -> str:
        return ("|runs:exact" if self.draws else "") + super().origin

    def details(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"by_label": _lists(self.by_label), **self.shape._asdict(), **super().details()}
        if self.by_height is not None:
            entry["by_height"] = {str(height): list(counts) for height, counts in self.by_height.items()}
        if self.labels is not None:
            entry["labels"] = self.labels.to_json()
        if self.draws is not None:
            entry["runs"] = self.draws.to_json()
        return entry


@dataclass(frozen=True, kw_only=True)
class HeadScore(Score):
    """UAS or UUAS, and the recall of gold arcs by relation and by distance of the head.

    ``relations`` are the scores of predicted relations, next to UAS and if there are any.
    """

    by_relation: Recall | None = None
    by_distance: Recall | None = None
    relations: LabelScores | None = None

    def details(self) -> dict[str, Any]:
        groups = {"by_relation": self.by_relation, "by_distance": self.by_distance}
        entry = super().details() | {name: _lists(recall) for name, recall in groups.items() if recall is not None}
        return entry | ({"relations": self.relations.to_json()} if self.relations else {})


def _lists(recall: Recall) -> dict[str, list[float]]:
    return {name: list(counts) for name, counts in recall.items()}
