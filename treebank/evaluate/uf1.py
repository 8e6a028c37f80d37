"""UF1: how many brackets of a predicted tree are in the gold tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, repeat
from statistics import fmean

import numpy as np

from treebank.base.errors import SynparseError
from treebank.core.baselines import SEEDED
from treebank.core.sentence import Treebank
from treebank.core.tags import bare_label, count_words, has_penn_tags, short_enough
from treebank.core.tree import Tree
from treebank.evaluate.align import TOPS, Reading, View, view_treebank, without_top
from treebank.evaluate.averaging import average_score, by_length, columns, statistic
from treebank.evaluate.conventions import ScoringConvention
from treebank.evaluate.flat import Brackets, Constituents, EachSentence, by_sentence, compared, distinct, found_in
from treebank.evaluate.labels import label_scores
from treebank.evaluate.score import Counts, Runs, ScoreReport
from treebank.evaluate.shape import Shapes, recall_by_label
from treebank.evaluate.statistics import bootstrap_interval
from treebank.evaluate.systems import Expectation, TreeSystem


@dataclass(frozen=True, slots=True)
class Gold:
    """The brackets and constituents of all gold sentences over the same tokens."""

    views: Sequence[View]
    brackets: Brackets
    constituents: Constituents  # each of two or more words once; ``NP-SBJ`` and ``NP=2`` are ``NP``
    marked: np.ndarray  # of each word that survives, whether it holds an apostrophe

    @classmethod
    def of(cls, views: Sequence[View]) -> Gold:
        trees, masks = [view.gold for view in views], [view.mask for view in views]
        spans, labels = [tree.spans for tree in trees], [tree.labels for tree in trees]
        whole = Constituents.of(spans, labels, masks, named=bare_label)
        found = whole.chosen(~_outer(views, whole.brackets))
        marked = chain.from_iterable(map(_apostrophes, trees, masks))
        return cls(views, found.brackets, found.phrases(), np.fromiter(marked, bool, int(found.brackets.lengths.sum())))


def _apostrophes(tree: Tree, mask: Sequence[bool]) -> Iterable[bool]:
    """Of each word that survives, whether it holds an apostrophe."""
    if "'" in "".join(tree.words):
        return ["'" in word for word in compress(tree.words, mask)]
    return repeat(False, sum(mask))


def _outer(views: Sequence[View], brackets: Brackets) -> np.ndarray:
    """Which of the brackets (K,) of gold trees are outer ones that do not count, such as ``TOP``."""
    found = np.zeros(len(brackets.start), bool)
    topped = [i for i, view in enumerate(views) if view.gold.labels and view.gold.labels[0] in TOPS]
    for i, first in zip(topped, np.searchsorted(brackets.sentence, topped).tolist(), strict=True):
        kept = views[i].gold.keep(views[i].mask)
        if without_top(kept) is not kept:
            found[first] = True
    return found


@dataclass(frozen=True, slots=True)
class Reference:
    """The gold sentences that a convention includes, and what it counts in each; shared by all systems."""

    convention: ScoringConvention
    data: str
    gold: Gold  # of the whole treebank
    included: np.ndarray  # (S,) which of its sentences are scored
    counted: np.ndarray  # keys of the brackets that count, of the whole treebank
    constituents: Constituents

    @classmethod
    def of(
        cls, gold: Gold, convention: ScoringConvention, *, data: str, wanted: Sequence[bool] | None = None
    ) -> Reference:
        """The reference of a treebank named ``data``, of the sentences that are ``wanted`` (all, if not given).

        Raises SynparseError if no sentence is left.
        """
        lengths = gold.brackets.lengths.tolist()
        seen = (view.seen for view in gold.views)
        chosen = np.fromiter(map(convention.includes, lengths, seen), bool, len(lengths))
        if wanted is not None:
            chosen &= np.array(wanted, bool)
        if not chosen.any():
            raise SynparseError(f"{data}: no sentence is left to score ({convention})")
        constituents = gold.constituents.chosen(chosen[gold.constituents.brackets.sentence])
        return cls(convention, data, gold, chosen, gold.brackets.counted(convention, gold=True), constituents)

    @property
    def lengths(self) -> np.ndarray:
        """Words of each sentence of the whole treebank."""
        return self.gold.brackets.lengths

    @property
    def places(self) -> np.ndarray:
        """Of each sentence that is scored in the whole treebank."""
        return np.flatnonzero(self.included)


@dataclass(frozen=True, slots=True)
class Predicted:
    """The predicted trees of all sentences: their brackets over the words of each view, and their shapes."""

    brackets: Brackets
    shapes: Shapes
    labelled: Constituents | None = None  # where labels say something

    @classmethod
    def of(cls, readings: Sequence[Reading], gold: Gold, *, details: bool) -> Predicted:
        """With ``details``, the shapes hold heights too."""
        labels = [one.labels or ("",) * len(one.spans) for one in readings]
        found = Constituents.of([one.spans for one in readings], labels, [one.mask for one in readings])
        brackets = replace(found.brackets, lengths=gold.brackets.lengths)
        labelled = replace(found, brackets=brackets).chosen(found.named) if len(found.names) > 1 else None
        shapes = Shapes.of(brackets, gold.marked, gold.brackets if details else None)
        return cls(brackets, shapes, labelled)


def count(predicted: Brackets, reference: Reference) -> np.ndarray:
    """`Counts` of each scored sentence (places, 3): brackets that are in both trees, predicted, in gold."""
    ours = predicted.counted(reference.convention, gold=False)
    return compared(ours, reference.counted, reference.lengths)[reference.places]


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
    seen: dict[str, tuple[Gold, list[dict[str, Predicted]]]] = {}
    reports = []
    for convention in conventions:
        if convention.tokens == "words" and not tokens_of_penn:
            convention = replace(convention, tokens="letters")
        if convention.tokens not in seen:
            views = Gold.of(view_treebank(gold, convention.tokens))
            seen[convention.tokens] = views, [_trees(system, views, wanted, details) for system in systems]
        views, given = seen[convention.tokens]
        reference = Reference.of(views, convention.up_to(max_length), data=data, wanted=wanted)
        for system, runs in zip(systems, given, strict=True):
            if isinstance(system, Expectation):
                reports.append(expected(system.name, reference, SEEDED[system.name], runs, details=details))
            else:
                report = score(system.name, reference, *runs.values(), seed=system.seed, details=details)
                reports.append(
                    replace(report, model=system.model, learned_from=system.learned_from, decoded=system.decoded)
                )
    return reports


def _trees(system: TreeSystem | Expectation, gold: Gold, wanted: Sequence[bool], details: bool) -> dict[str, Predicted]:
    """The trees of each run of a system, usually one run, for every view; of an expectation without details."""
    views = gold.views
    if isinstance(system, Expectation):
        return {name: Predicted.of(trees, gold, details=False) for name, trees in system.runs(views).items()}
    return {"": Predicted.of(system.readings(views, wanted), gold, details=details)}


def score(
    system: str, reference: Reference, predicted: Predicted, *, seed: int | None = None, details: bool = False
) -> ScoreReport:
    """UF1 of the trees ``predicted`` for all sentences of the treebank, with interval and secondary measures.

    ``details`` adds those by size, which are slow.
    """
    shapes, places, labelled = predicted.shapes, reference.places, predicted.labelled
    right = found_in(reference.constituents.brackets.keys, shapes.phrases)
    recall = recall_by_label(reference.constituents, right)
    by_height, labels = None, None
    if details and shapes.heights is not None:
        by_height = shapes.heights.precision(reference.included)
    if labelled is not None:
        labels = label_scores(reference.constituents, labelled.chosen(reference.included[labelled.brackets.sentence]))
    return replace(
        _report(system, reference, count(predicted.brackets, reference), recall, details),
        depth=shapes.mean_depth(places),
        right_left=shapes.right_left(places),
        right_left_no_apostrophe=shapes.right_left_no_apostrophe(places),
        by_height=by_height,
        predicted=EachSentence(predicted.brackets, places),
        labels=labels,
        seed=seed,
    )


def expected(
    system: str,
    reference: Reference,
    probability: Callable[[int, int, bool], float],
    drawn: Mapping[str, Predicted],
    *,
    details: bool = False,
) -> ScoreReport:
    """The exact expectation of a random baseline that gives binary trees, and the values of some runs of it.

    ``probability`` of a bracket is a function of its words, the sentence's words, and whether it touches an end.
    Every F1 here is linear in the number of matched brackets, so the expectation of that number is all it takes.
    ``drawn`` has the trees of each run; depth and R/L are the means of these.
    """
    convention, lengths, places = reference.convention, reference.lengths, reference.places
    possible = distinct(reference.counted)
    brackets = Brackets.of_keys(possible, lengths)
    chances = _chances(brackets, probability)
    if convention.root != "keep":
        chances[brackets.whole] = 0.0
    always = np.maximum(lengths - 1 - (convention.root != "keep"), 0)  # brackets of any binary tree
    gold = by_sentence(reference.counted, lengths)
    counts = np.stack([by_sentence(possible, lengths, chances), always, gold], 1)[places]
    by_label = recall_by_label(reference.constituents, _chances(reference.constituents.brackets, probability))
    report = _report(system, reference, counts, by_label, details)
    shapes = [run.shapes for run in drawn.values()]
    each = {name: count(run.brackets, reference) for name, run in drawn.items()}
    return replace(
        report,
        depth=fmean(one.mean_depth(places) for one in shapes),
        right_left=fmean(one.right_left(places) for one in shapes),
        right_left_no_apostrophe=fmean(one.right_left_no_apostrophe(places) for one in shapes),
        runs=Runs({name: 100 * average_score(counts, convention).f1 for name, counts in each.items()}),
    )


def _chances(brackets: Brackets, probability: Callable[[int, int, bool], float]) -> np.ndarray:
    """The probability of each bracket (K,); none of one word."""
    length = brackets.lengths[brackets.sentence]
    at_edge = (brackets.start == 0) | (brackets.end == length)
    most = 1 + int(brackets.lengths.max(initial=0))
    kinds, kind = np.unique((brackets.size * most + length) * 2 + at_edge, return_inverse=True)
    chances = np.zeros(len(kinds))
    for i, code in enumerate(kinds.tolist()):
        size, n = divmod(code // 2, most)
        chances[i] = probability(size, n, code % 2 == 1) if size > 1 else 0.0
    return chances[kind]


def _report(
    system: str,
    reference: Reference,
    counts: np.ndarray,
    by_label: Mapping[str, tuple[float, int]],
    details: bool,
) -> ScoreReport:
    """What follows from the counts."""
    convention = reference.convention
    average, sizes = average_score(counts, convention), counts[:, 1:].astype(int).tolist()
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
        counts=[Counts(found, *numbers) for found, numbers in zip(counts[:, 0].tolist(), sizes, strict=True)],
        places=reference.places.tolist(),
        by_label=by_label,
        by_length=by_length(counts, reference.lengths[reference.places], convention) if details else None,
    )
