"""UF1: how many brackets of a predicted tree are in the gold tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from treebank.baselines import SEEDED
from treebank.errors import SynparseError
from treebank.metrics.alignment import Spans, View, view_treebank
from treebank.metrics.averaging import average_score, by_length, columns, statistic
from treebank.metrics.conventions import ScoringConvention
from treebank.metrics.labelling import label_scores
from treebank.metrics.report import Counts, Runs, ScoreReport
from treebank.metrics.significance import bootstrap_interval
from treebank.metrics.systems import Expectation, ParsedTrees, Predictions, TreeSystem, labelled_brackets
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
from treebank.sentence import Treebank
from treebank.tagset import count_words, has_penn_tags, short_enough


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


@dataclass(frozen=True, slots=True)
class Predicted:
    """One predicted tree over the words of a view: brackets in pre-order, and its shape."""

    spans: Spans
    shape: Shape
    labelled: Sequence[Constituent] = ()  # with labels, where it has some

    @classmethod
    def of(cls, spans: Spans, view: View, labelled: Sequence[Constituent] = (), *, details: bool) -> Predicted:
        """With ``details``, the shape holds heights too."""
        words = view.tree.words
        return cls(spans, shape(spans, words, brackets(view.tree.spans, len(words)) if details else None), labelled)


def count(
    predicted: Predicted, gold: Collection[tuple[int, int]], length: int, convention: ScoringConvention
) -> Counts:
    """The brackets of one sentence of ``length`` words: those predicted, and those of ``gold`` that count."""
    if convention.repeats == "once" and convention.trivial == "drop":
        whole, found = (0, length), predicted.shape.brackets
        # the shape has the whole sentence always, which may not count, or may never have been predicted
        less = length > 1 and (convention.root != "keep" or whole not in predicted.spans)
        matched = len(found.intersection(gold)) - (less and whole in gold)
        return Counts(matched, len(found) - less, len(gold))
    spans = predicted.spans
    if convention.root == "node" and convention.repeats == "once":
        spans = list(dict.fromkeys(spans))  # deleting words makes unary chains, which the prediction never had
    ours = convention.counted(spans, length)
    if isinstance(ours, set):
        return Counts(len(ours.intersection(gold)), len(ours), len(gold))
    return Counts((Counter(ours) & Counter(gold)).total(), len(ours), len(gold))


def score_trees(
    gold: Treebank,
    systems: Sequence[TreeSystem | Expectation],
    conventions: Iterable[ScoringConvention],
    *,
    max_length: int | None = None,
    details: bool = False,
) -> list[ScoreReport]:
    """One report for each convention and system, in the order given, conventions first.

    Where few words of ``gold`` carry a tag of the Penn Treebank, tags cannot say what is a word: then every token with
    a letter or a digit is one, and the signature says so (``tokens:letters``).
    """
    data = gold.label
    tokens_of_penn = has_penn_tags(gold)
    wanted = [True] * len(gold)
    if max_length is not None:
        wanted = [short_enough(length, max_length) for length in count_words(gold)]
    seen: dict[str, tuple[list[View], list[dict[str, list[Predicted]]]]] = {}
    reports = []
    for convention in conventions:
        if convention.tokens == "words" and not tokens_of_penn:
            convention = convention.over("letters")
        if convention.tokens not in seen:
            views = view_treebank(gold, convention.tokens)
            seen[convention.tokens] = views, [_trees(system, views, wanted, details) for system in systems]
        views, given = seen[convention.tokens]
        reference = Reference.of(views, convention.up_to(max_length), data=data, wanted=wanted)
        for system, trees in zip(systems, given, strict=True):
            runs = {name: [run[i] for i in reference.places] for name, run in trees.items()}
            if isinstance(system, Expectation):
                reports.append(expected(system.name, reference, SEEDED[system.name], runs, details=details))
            else:
                report = score(system.name, reference, *runs.values(), seed=system.seed, details=details)
                reports.append(
                    replace(report, model=system.model, learned_from=system.learned_from, decoded=system.decoded)
                )
    return reports


def _trees(
    system: TreeSystem | Expectation, views: Sequence[View], wanted: Sequence[bool], details: bool
) -> dict[str, list[Predicted]]:
    """The trees of each run of a system, usually one run, for every view; of an expectation without details."""
    details = details and not isinstance(system, Expectation)
    runs = system.runs(views) if isinstance(system, Expectation) else {"": system.spans(views, wanted)}
    labels: Sequence[Sequence[Constituent]] = [()] * len(views)
    if isinstance(system, Predictions | ParsedTrees):
        labels = labelled_brackets(system, views, wanted)
    return {
        name: [Predicted.of(*one, details=details) for one in zip(spans, views, labels, strict=True)]
        for name, spans in runs.items()
    }


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
        labels=label_scores(reference.constituents, [tree.labelled for tree in predicted]),
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
        count(tree, gold, len(view), reference.convention)
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
