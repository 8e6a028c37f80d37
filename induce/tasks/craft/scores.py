"""Scores of predicted segments of trajectories, and of options as subtasks (Lu et al. 2021, thesis).

``ends`` are the indices of the last actions of the segments of a trajectory of T steps; the last one is T - 1. ``gaps``
are predictions of a model: entry t is the probability that a segment ends before step t; entry 0 has no meaning.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from induce.decoding.distances import EVEN


def widest(gaps: Sequence[float], segments: int) -> list[int]:
    """The most probable ends of ``segments`` segments, as in the released program. The first of equal ends counts."""
    order = sorted(range(1, len(gaps)), key=lambda step: (-gaps[step], step))
    return [*sorted(step - 1 for step in order[: segments - 1]), len(gaps) - 1]


def probable(gaps: Sequence[float]) -> list[int]:
    """The ends with a probability of one half or more."""
    return [step - 1 for step in range(1, len(gaps)) if gaps[step] >= EVEN] + [len(gaps) - 1]


def boundary_f1(predicted: Sequence[int], true: Sequence[int], tolerance: int) -> float:
    """F1 of the ends of two segmentations that match within ``tolerance`` steps, not necessarily one to one."""
    if not predicted or not true:
        return float(not predicted and not true)

    def near(ends: Sequence[int], others: Sequence[int]) -> float:
        return sum(min(abs(end - other) for other in others) <= tolerance for end in ends) / len(ends)

    precision, recall = near(predicted, true), near(true, predicted)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def labels_of(ends: Sequence[int], length: int) -> np.ndarray:
    """The index (T,) of the segment of each of ``length`` steps."""
    return np.searchsorted(np.asarray(ends), np.arange(length))


def alignment(predicted: Sequence[int], true: Sequence[int], length: int) -> float:
    """The share of steps with the same segment index in both segmentations."""
    return float((labels_of(predicted, length) == labels_of(true, length)).mean())


def mutual_information(first: np.ndarray, second: np.ndarray) -> float:
    """Mutual information of two labelings (S,) divided by the mean of their entropies, or 1 if both are constant."""
    _, first = np.unique(first, return_inverse=True)
    _, second = np.unique(second, return_inverse=True)
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)
    joint = table / table.sum()
    entropies = [_entropy(joint.sum(axis)) for axis in (0, 1)]
    mean = sum(entropies) / 2
    return float((sum(entropies) - _entropy(joint.reshape(-1))) / mean) if mean > 0 else 1.0


def _entropy(probabilities: np.ndarray) -> float:
    """Entropy in nats."""
    positive = probabilities[probabilities > 0]
    return float(-(positive * np.log(positive)).sum())
