"""How well the labels of predicted trees go with the gold ones: V-measure, many-to-one, recall by gold label.

An induced label, such as ``NT7`` of a grammar, has no name that a gold label could be compared with. So labels are
compared as two partitions of the constituents that both trees have: spans of two words and more, the whole sentence
among them, each once; where several brackets have one span, the outermost gives the label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from treebank.evaluate.flat import Constituents, found_in, totals_of
from treebank.evaluate.shape import papers_first


@dataclass(frozen=True, slots=True)
class LabelScores:
    """Scores of labels, in percent, over ``constituents`` that both trees have."""

    homogeneity: float  # 100 where every induced label goes with one gold label
    completeness: float  # 100 where every gold label goes with one induced label
    many_to_one: float  # constituents whose gold label is the one that their induced label goes with most often
    constituents: int
    meanings: Mapping[str, str]  # of an induced label: that gold label; the most frequent induced labels first
    recall: Mapping[str, tuple[int, int]]  # of a gold label: constituents found with a label that means it; all

    @property
    def v_measure(self) -> float:
        """The harmonic mean of homogeneity and completeness (Rosenberg and Hirschberg 2007)."""
        both = self.homogeneity + self.completeness
        return 2 * self.homogeneity * self.completeness / both if both else 0.0

    def to_json(self) -> dict[str, Any]:
        """What stands under ``labels`` in the output of ``synparse eval --format json``."""
        return {
            "v_measure": self.v_measure,
            "homogeneity": self.homogeneity,
            "completeness": self.completeness,
            "many_to_one": self.many_to_one,
            "constituents": self.constituents,
            "meanings": dict(self.meanings),
            "recall": {label: list(found) for label, found in self.recall.items()},
        }


def label_scores(gold: Constituents, predicted: Constituents) -> LabelScores | None:
    """The scores of the labels of ``predicted``; None where these have fewer than two labels.

    Brackets are in pre-order, so that the outermost of one span comes first.
    """
    if len(np.unique(predicted.label)) < 2:
        return None
    (keys, labels), (ours, induced) = gold.outermost(), predicted.outermost()
    both = found_in(ours, keys)
    codes = induced[both] * len(gold.names) + labels[np.searchsorted(keys, ours[both])]
    distinct, numbers = (found.tolist() for found in np.unique(codes, return_counts=True))
    names = [(predicted.names[code // len(gold.names)], gold.names[code % len(gold.names)]) for code in distinct]
    pairs = Counter(dict(zip(names, numbers, strict=True)))
    meanings: dict[str, str] = {}
    for induced, label in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
        meanings.setdefault(induced, label)
    right = Counter[str]()
    for (induced, label), number in pairs.items():
        right[label] += number if meanings[induced] == label else 0
    shared = pairs.total()
    totals = papers_first(totals_of(labels, gold.names))
    return LabelScores(
        homogeneity=100 * _told(pairs),
        completeness=100 * _told(Counter({(label, induced): number for (induced, label), number in pairs.items()})),
        many_to_one=100 * right.total() / shared if shared else 0.0,
        constituents=shared,
        meanings=meanings,
        recall={label: (right[label], total) for label, total in totals.items()},
    )


def _told(pairs: Counter[tuple[str, str]]) -> float:
    """The share of the entropy of the second of each pair that the first one takes away; 1 where there is none."""
    first, second = Counter[str](), Counter[str]()
    for (one, other), number in pairs.items():
        first[one] += number
        second[other] += number
    entropy = -sum(number * log(number / pairs.total()) for number in second.values())
    left = -sum(number * log(number / first[one]) for (one, _), number in pairs.items())
    return 1 - left / entropy if entropy > 0 else 1.0
