"""UF1: how many brackets of a predicted tree are in the gold tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from treebank.errors import SynparseError
from treebank.metrics.alignment import Spans, View
from treebank.metrics.conventions import ScoringConvention
from treebank.metrics.report import Counts, Runs, ScoreReport, total
from treebank.metrics.significance import bootstrap_interval
from treebank.metrics.tree_shape import (
    Constituent,
    Shape,
    brackets,
    by_height,
    constituents,
    mean_depth,
    recall_by_label,
    right_left,
    right_left_no_apostrophe,
    shape,
    totals_by_label,
)

if TYPE_CHECKING:
    import numpy as np

    from treebank.metrics.attachment import AttachmentConvention


TINY = 1e-8  # the constant of the published script; it moves the eighth digit, and is kept for parity
LONGEST = 40  # sentences of more words are one group


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
    def of(
        cls,
        all_views: Sequence[View],
        convention: ScoringConvention,
        *,
        data: str,
        wanted: Sequence[bool] | None = None,
    ) -> Reference:
        """The reference of a treebank named ``data``, of the sentences that are ``wanted`` (all, if not given).

        Raises SynparseError if no sentence is left.
        """
        places = [
            i
            for i, view in enumerate(all_views)
            if convention.includes(len(view), view.seen) and (wanted is None or wanted[i])
        ]
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


@dataclass(frozen=True, slots=True)
class Predicted:
    """One predicted tree over the words of a view: brackets in pre-order, and its shape."""

    spans: Spans
    shape: Shape

    @classmethod
    def of(cls, spans: Spans, view: View, *, details: bool) -> Predicted:
        """With ``details``, the shape holds heights too."""
        words = view.tree.words
        return cls(spans, shape(spans, words, brackets(view.tree.spans, len(words)) if details else None))


def score(
    system: str, reference: Reference, predicted: Sequence[Predicted], *, seed: int | None = None, details: bool = False
) -> ScoreReport:
    """UF1 of the trees ``predicted`` for the views of the reference, with interval and secondary measures.

    ``details`` adds those by size, which are slow.
    """
    shapes = [tree.shape for tree in predicted]
    counts = _counts(reference, predicted)
    return replace(
        _report(system, reference, counts, recall_by_label(reference.constituents, shapes), details),
        depth=mean_depth(shapes),
        right_left=right_left(shapes),
        right_left_no_apostrophe=right_left_no_apostrophe(shapes),
        by_height=by_height(shapes) if details else None,
        predicted=[tree.spans for tree in predicted],
        seed=seed,
    )


def expected(
    system: str,
    reference: Reference,
    probability: Callable[[int, int, bool], float],
    drawn: Mapping[str, Sequence[Predicted]],
    *,
    details: bool = False,
) -> ScoreReport:
    """The exact expectation of a random baseline that gives binary trees, and the values of some runs of it.

    ``probability`` of a bracket is a function of its words, the sentence's words, and whether it touches an end.
    Every F1 here is linear in the number of matched brackets, so the expectation of that number is all it takes.
    ``drawn`` has the trees of each run for the views of the reference; depth and R/L are the means of these.
    """
    convention = reference.convention
    counts = []
    totals = totals_by_label(reference.constituents)
    by_label = dict.fromkeys(totals, 0.0)
    for view, gold, labelled in zip(reference.views, reference.counted, reference.constituents, strict=True):
        n = len(view)

        def chance(span: tuple[int, int], n: int = n) -> float:
            start, end = span
            return probability(end - start, n, start == 0 or end == n) if end - start > 1 else 0.0

        possible = set(gold) if convention.root == "keep" else set(gold) - {(0, n)}
        always = len(convention.counted([(start, n) for start in range(n - 1)], n))  # of any binary tree
        counts.append(Counts(sum(map(chance, possible)), always, len(gold)))
        for span, label in labelled:
            by_label[label] += chance(span)
    report = _report(
        system, reference, counts, {label: (found, totals[label]) for label, found in by_label.items()}, details
    )
    shapes = [[tree.shape for tree in run] for run in drawn.values()]
    return replace(
        report,
        depth=fmean(map(mean_depth, shapes)),
        right_left=fmean(map(right_left, shapes)),
        right_left_no_apostrophe=fmean(map(right_left_no_apostrophe, shapes)),
        runs=Runs({name: 100 * average_score(_counts(reference, run), convention).f1 for name, run in drawn.items()}),
    )


def _counts(reference: Reference, predicted: Sequence[Predicted]) -> list[Counts]:
    """The counts of each sentence."""
    return [
        count(tree.spans, gold, len(view), reference.convention)
        for view, tree, gold in zip(reference.views, predicted, reference.counted, strict=True)
    ]


def _report(
    system: str,
    reference: Reference,
    counts: Sequence[Counts],
    by_label: Mapping[str, tuple[float, int]],
    details: bool,
) -> ScoreReport:
    """What follows from the counts."""
    convention = reference.convention
    average = average_score(counts, convention)
    low, high = bootstrap_interval(columns(counts, convention), statistic(convention))
    return ScoreReport(
        system=system,
        metric="UF1",
        convention=convention,
        data=reference.data,
        value=100 * average.f1,
        precision=100 * average.precision,
        recall=100 * average.recall,
        interval=(100 * low, 100 * high),
        counts=counts,
        places=reference.places,
        by_label=by_label,
        by_length=by_length(counts, list(map(len, reference.views)), convention) if details else None,
    )


def by_length(
    counts: Sequence[Counts], lengths: Sequence[int], convention: ScoringConvention | AttachmentConvention
) -> dict[str, tuple[int, float]]:
    """Number of sentences and score of those with 1 to 10 words, 11 to 20, and so on; all longer ones together."""
    groups: dict[int, list[Counts]] = {}
    for length, sentence in zip(lengths, counts, strict=True):
        groups.setdefault(min((length - 1) // 10, LONGEST // 10), []).append(sentence)
    return {
        f"{10 * tens + 1}-{10 * tens + 10 if tens < LONGEST // 10 else ''}": (
            len(group),
            100 * average_score(group, convention).f1,
        )
        for tens, group in sorted(groups.items())
    }


def average_score(counts: Sequence[Counts], convention: ScoringConvention | AttachmentConvention) -> Score:
    """The score of several sentences as the convention averages them."""
    if convention.average == "corpus":
        return pooled_score(total(counts))
    scores = [sentence_score(sentence) for sentence in counts]
    return Score(*(sum(column) / len(scores) for column in zip(*scores, strict=True)))


def columns(
    counts: Sequence[Counts], convention: ScoringConvention | AttachmentConvention
) -> Sequence[Sequence[float]]:
    """One row per sentence: the numbers whose sums over sentences give the F1 by ``statistic``."""
    if convention.average == "corpus":
        return counts
    return [(sentence_score(sentence).f1, 1.0) for sentence in counts]


def statistic(convention: ScoringConvention | AttachmentConvention) -> Callable[[np.ndarray], np.ndarray]:
    """The F1, between 0 and 1, of each row of summed ``columns``."""
    return _pooled_f1 if convention.average == "corpus" else lambda sums: sums[:, 0] / sums[:, 1]


def _pooled_f1(sums: np.ndarray) -> np.ndarray:
    """F1 of each row of summed counts."""
    import numpy as np

    both = sums[:, 1] + sums[:, 2]
    return np.where(both > 0, 2 * sums[:, 0] / np.maximum(both, 1), 1.0)
