"""UF1: how many brackets of a predicted tree are in the gold tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from treebank.errors import SynparseError
from treebank.metrics.conventions import ScoringConvention
from treebank.metrics.report import Counts, ScoreReport
from treebank.metrics.secondary import Constituent, brackets, constituents, mean_depth, recall_by_label, right_left
from treebank.metrics.significance import bootstrap_interval
from treebank.metrics.views import Spans, View

if TYPE_CHECKING:
    import numpy as np

TINY = 1e-8  # the constant of the published script; it moves the eighth digit, and is kept for parity


class Score(NamedTuple):
    """Between 0 and 1."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Reference:
    """The gold sentences that a convention includes, and what it counts in each; shared by all systems."""

    convention: ScoringConvention
    data: str
    places: Sequence[int]  # of each sentence in the whole treebank
    views: Sequence[View]
    counted: Sequence[Collection[tuple[int, int]]]
    constituents: Sequence[Sequence[Constituent]]

    @classmethod
    def of(cls, all_views: Sequence[View], convention: ScoringConvention, *, data: str) -> Reference:
        """The reference of a treebank named ``data``. Raises SynparseError if no sentence is left."""
        places = [i for i, view in enumerate(all_views) if len(view) and convention.includes(len(view))]
        if not places:
            raise SynparseError(f"{data}: no sentence is left to score ({convention})")
        views = [all_views[i] for i in places]
        counted = [convention.counted(view.tree.spans, len(view)) for view in views]
        return cls(convention, data, places, views, counted, [constituents(view.tree) for view in views])


def count(predicted: Spans, gold: Collection[tuple[int, int]], length: int, convention: ScoringConvention) -> Counts:
    """The brackets of one sentence: ``predicted`` in pre-order over ``length`` words, ``gold`` those that count."""
    if convention.root == "node" and convention.repeats == "once":
        predicted = list(dict.fromkeys(predicted))  # deleting words makes unary chains, which the prediction never had
    ours = convention.counted(predicted, length)
    if isinstance(ours, set):
        return Counts(len(ours.intersection(gold)), len(ours), len(gold))
    return Counts((Counter(ours) & Counter(gold)).total(), len(ours), len(gold))


def sentence_score(counts: Counts) -> Score:
    """Precision, recall and F1 of one sentence by the script of Htut et al. 2018 and ON-LSTM.

    Without a gold bracket the recall is 1, and the precision too if nothing was predicted.
    """
    matched, predicted, gold = counts
    precision = matched / (predicted + TINY)
    recall = matched / (gold + TINY)
    if gold == 0:
        recall = 1.0
        if predicted == 0:
            precision = 1.0
    return Score(precision, recall, 2 * precision * recall / (precision + recall + TINY))


def pooled_score(counts: Counts) -> Score:
    """Precision, recall and F1 of summed counts; 1 where there was nothing to find."""
    matched, predicted, gold = counts
    return Score(
        matched / predicted if predicted else float(gold == 0),
        matched / gold if gold else float(predicted == 0),
        2 * matched / (predicted + gold) if predicted + gold else 1.0,
    )


def score(system: str, reference: Reference, predicted: Sequence[Spans], *, seed: int | None = None) -> ScoreReport:
    """UF1 of the ``predicted`` brackets, with interval and secondary measures.

    ``predicted`` has one entry for each view of the reference, in pre-order over the view's words.
    """
    views, convention = reference.views, reference.convention
    counts = [
        count(spans, gold, len(view), convention)
        for view, spans, gold in zip(views, predicted, reference.counted, strict=True)
    ]
    average, interval = _average(counts, convention)
    lengths = [len(view) for view in views]
    whole = [brackets(spans, length) for length, spans in zip(lengths, predicted, strict=True)]
    return ScoreReport(
        system=system,
        metric="UF1",
        convention=convention,
        data=reference.data,
        value=100 * average.f1,
        precision=100 * average.precision,
        recall=100 * average.recall,
        interval=(100 * interval[0], 100 * interval[1]),
        counts=counts,
        by_label=recall_by_label(reference.constituents, whole),
        depth=mean_depth(whole, lengths),
        right_left=right_left(whole),
        seed=seed,
    )


def _average(counts: Sequence[Counts], convention: ScoringConvention) -> tuple[Score, tuple[float, float]]:
    """The score of all sentences as the convention averages them, and its interval."""
    if convention.average == "corpus":
        total = Counts(*map(sum, zip(*counts, strict=True)))
        return pooled_score(total), bootstrap_interval(counts, _pooled_f1)
    scores = [sentence_score(sentence) for sentence in counts]
    mean = Score(*(sum(column) / len(scores) for column in zip(*scores, strict=True)))
    return mean, bootstrap_interval([[sentence.f1] for sentence in scores], lambda sums: sums[:, 0] / len(scores))


def _pooled_f1(sums: np.ndarray) -> np.ndarray:
    """F1 of each row of summed counts."""
    import numpy as np

    both = sums[:, 1] + sums[:, 2]
    return np.where(both > 0, 2 * sums[:, 0] / np.maximum(both, 1), 1.0)
