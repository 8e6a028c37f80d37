"""Scores of induced labels against gold labels: V-measure, many-to-one accuracy, recall by gold label.

An induced label such as ``NT7`` has no gold counterpart by name. So labels are compared as two partitions of the
constituents that both trees have: spans of two or more words, including the full sentence, each once. If several
brackets have the same span, the outermost gives the label. Relations are compared as partitions of the arcs between
words that both analyses have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from typing import Any

from treebank.core.tree import Span
from treebank.evaluate.align import Bracketing

LABELS = ("ADJP", "NP", "VP", "PP", "INTJ", "ADVP", "S", "SBAR")  # the labels that papers report, in their order
Constituents = Sequence[tuple[Span, str]]  # labeled spans of two or more words


@dataclass(frozen=True, slots=True)
class LabelScores:
    """Scores of labels in percent over the constituents or arcs that both analyses have, ``matched`` in number.

    ``homogeneity`` is 100 if every induced label goes with one gold label, ``completeness`` is 100 if every gold label
    goes with one induced label. ``many_to_one`` maps each induced label to the gold label that it goes with most often;
    ``meanings`` is this map, most frequent pairs first. ``recall`` has, for each gold label, the number of items
    predicted with a label that means it, and the total.
    """

    homogeneity: float
    completeness: float
    many_to_one: float
    matched: int
    meanings: Mapping[str, str]
    recall: Mapping[str, tuple[int, int]]

    @property
    def v_measure(self) -> float:
        """The harmonic mean of homogeneity and completeness (Rosenberg and Hirschberg 2007)."""
        both = self.homogeneity + self.completeness
        return 2 * self.homogeneity * self.completeness / both if both else 0.0

    def to_json(self) -> dict[str, Any]:
        """The entry under ``labels`` in the output of ``synparse eval --format json``."""
        recall = {label: list(counts) for label, counts in self.recall.items()}
        return {"v_measure": self.v_measure, **asdict(self), "recall": recall}


class LabelCounts:
    """Counts of pairs of a predicted and a gold label, to which sentences are added one by one."""

    def __init__(self) -> None:
        self._predicted = set[str]()
        self._pairs, self._totals = Counter[tuple[str, str]](), Counter[str]()

    def add_brackets(self, gold: Constituents, predicted: Bracketing) -> None:
        """Add the constituents of one sentence, both in pre-order."""
        self._predicted.update(predicted.labels)
        reference = _outermost(gold)
        self._totals.update(reference.values())
        if predicted.labels:
            induced = _outermost(zip(predicted.spans, predicted.labels, strict=True))
            self._pairs.update([(induced[span], label) for span, label in reference.items() if span in induced])

    def add_arc(self, gold: str, predicted: str, is_matched: bool) -> None:
        """Add the relation of an arc of gold. The ``predicted`` one is compared with it if the arc ``is_matched``."""
        self._totals[gold] += 1
        if is_matched:
            self._predicted.add(predicted)
            self._pairs[predicted, gold] += 1

    def scores(self) -> LabelScores | None:
        """The scores of the predicted labels, or None if brackets or correct arcs have fewer than two."""
        if len(self._predicted - {""}) < 2:
            return None
        pairs, meanings = self._pairs, dict[str, str]()
        for cluster, label in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
            meanings.setdefault(cluster, label)
        correct = Counter[str]()
        for (cluster, label), number in pairs.items():
            correct[label] += number if meanings[cluster] == label else 0
        shared = pairs.total()
        inverse = Counter({(label, cluster): number for (cluster, label), number in pairs.items()})
        return LabelScores(
            homogeneity=100 * _explained(pairs),
            completeness=100 * _explained(inverse),
            many_to_one=100 * correct.total() / shared if shared else 0.0,
            matched=shared,
            meanings=meanings,
            recall={label: (correct[label], number) for label, number in label_order(self._totals).items()},
        )


def _outermost(brackets: Iterable[tuple[Span, str]]) -> dict[Span, str]:
    """The label of each span of two or more words: that of its first bracket with a label."""
    labels: dict[Span, str] = {}
    for span, label in brackets:
        if label and span[1] - span[0] > 1:
            labels.setdefault(span, label)
    return labels


def _explained(pairs: Counter[tuple[str, str]]) -> float:
    """The share of the entropy of the second items that the first items explain, or 1 without entropy."""
    first, second = Counter[str](), Counter[str]()
    for (a, b), number in pairs.items():
        first[a] += number
        second[b] += number
    entropy = -sum(number * log(number / pairs.total()) for number in second.values())
    conditional = -sum(number * log(number / first[a]) for (a, _), number in pairs.items())
    return 1 - conditional / entropy if entropy > 0 else 1.0


def label_order(totals: Counter[str]) -> dict[str, int]:
    """The labels that papers report first, then the others by frequency."""
    return {label: totals[label] for label in LABELS if label in totals} | dict(totals.most_common())
