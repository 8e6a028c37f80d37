"""How well segments of trajectories are found, and what options have to do with subtasks (Lu et al. 2021; thesis).

Of a trajectory of T steps ``ends`` are the indices of the actions that finish a segment, the last one T - 1. ``gaps``
are what a model says: entry t is how probable it is that a segment was finished before step t; entry 0 says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from induce.decoding.distances import EVEN


def widest(gaps: Sequence[float], segments: int) -> list[int]:
    """The ends of as many ``segments``, the most probable ones, as in the released program; the first of equal ones."""
    order = sorted(range(1, len(gaps)), key=lambda place: (-gaps[place], place))
    return [*sorted(place - 1 for place in order[: segments - 1]), len(gaps) - 1]


def probable(gaps: Sequence[float]) -> list[int]:
    """The ends that the model itself finds likelier than not, however many."""
    return [place - 1 for place in range(1, len(gaps)) if gaps[place] >= EVEN] + [len(gaps) - 1]


def boundary_f1(predicted: Sequence[int], true: Sequence[int], tolerance: int) -> float:
    """F1 of ends that have one of the others within ``tolerance`` steps; several may have the same one."""
    if not predicted or not true:
        return float(not predicted and not true)

    def near(ends: Sequence[int], others: Sequence[int]) -> float:
        return sum(min(abs(end - other) for other in others) <= tolerance for end in ends) / len(ends)

    precision, recall = near(predicted, true), near(true, predicted)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def labels_of(ends: Sequence[int], length: int) -> np.ndarray:
    """The number of the segment (T,) that each of ``length`` steps is in."""
    return np.searchsorted(np.asarray(ends), np.arange(length))


def alignment(predicted: Sequence[int], true: Sequence[int], length: int) -> float:
    """The share of steps that have the same subtask, the k-th one belonging to the k-th segment, in both."""
    return float((labels_of(predicted, length) == labels_of(true, length)).mean())


def mutual_information(first: np.ndarray, second: np.ndarray) -> float:
    """Normalised mutual information of two labellings (S,): over the mean of both entropies; 1 if both are constant."""
    _, first = np.unique(first, return_inverse=True)
    _, second = np.unique(second, return_inverse=True)
    table = np.zeros((first.max() + 1, second.max() + 1))
    np.add.at(table, (first, second), 1)
    joint = table / table.sum()
    entropies = [_entropy(joint.sum(axis)) for axis in (0, 1)]
    mean = sum(entropies) / 2
    return float((sum(entropies) - _entropy(joint.reshape(-1))) / mean) if mean > 0 else 1.0


def _entropy(probabilities: np.ndarray) -> float:
    """In nats."""
    positive = probabilities[probabilities > 0]
    return float(-(positive * np.log(positive)).sum())
