"""Counts of predicted trees, to which sentences are added one by one, so that their brackets need not be stored."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from statistics import fmean

from treebank.core.tags import bare_label
from treebank.core.tree import Span, Tree
from treebank.evaluate.align import Bracketing, TreeView
from treebank.evaluate.averaging import Counts, average_score, by_length, columns, statistic
from treebank.evaluate.conventions import BracketRule, ScoringConvention
from treebank.evaluate.labels import LabelCounts
from treebank.evaluate.score import Recall, Runs, TreeScore
from treebank.evaluate.shape import (
    Constituents,
    SentenceShape,
    Shape,
    ShapeSums,
    compared_heights,
    label_order,
    sentence_shape,
)
from treebank.evaluate.span_counts import count_spans, counted_spans, expected_counts
from treebank.evaluate.statistics import bootstrap_interval
from treebank.evaluate.systems import SystemInfo


@dataclass(frozen=True)
class GoldSentence:
    """The gold brackets of a sentence under one rule for words."""

    view: TreeView
    _counted: dict[BracketRule, Collection[Span]] = field(default_factory=dict, init=False, compare=False)

    @cached_property
    def constituents(self) -> Constituents:
        """The labeled spans of two or more words, each once, without function tags."""
        spans, labels = self.view.brackets.spans, self.view.brackets.labels
        named = zip(spans, map(bare_label, labels), strict=True)
        pairs = [(span, label) for span, label in named if label and span[1] - span[0] > 1]
        return pairs if len(set(spans)) == len(spans) else list(dict.fromkeys(pairs))

    @cached_property
    def apostrophes(self) -> frozenset[int]:
        """The indices of the words with an apostrophe."""
        if "'" not in "".join(self.view.gold.words):
            return frozenset()
        return frozenset(i for i, word in enumerate(self.view.words) if "'" in word)

    def counted(self, rule: BracketRule) -> Collection[Span]:
        """The spans that count by the rule."""
        if rule not in self._counted:
            self._counted[rule] = counted_spans(self.view.brackets, rule, gold=True)
        return self._counted[rule]

    @cached_property
    def labels(self) -> Sequence[str]:
        """The labels of the constituents."""
        return [label for _, label in self.constituents]

    @cached_property
    def phrases(self) -> Collection[Span]:
        """The different spans of two or more words, always including the full sentence."""
        return sentence_shape(self.view.brackets).phrases

    @cached_property
    def tree(self) -> Tree:
        """The gold tree over the words that count."""
        return self.view.tree


@dataclass(frozen=True)
class PredictedSentence:
    """The brackets of a system over the words of one gold sentence."""

    gold: GoldSentence
    brackets: Bracketing
    _counts: dict[BracketRule, Counts] = field(default_factory=dict, init=False, compare=False)

    @cached_property
    def shape(self) -> SentenceShape:
        """The shape of the tree."""
        return sentence_shape(self.brackets, self.gold.apostrophes)

    def counts(self, rule: BracketRule) -> Counts:
        """The numbers of brackets that count by the rule."""
        if rule not in self._counts:
            if rule.trivial == "drop" and rule.repeats == "once" and rule.root != "keep":
                spans: Collection[Span] = self.shape.phrases - {(0, self.shape.length)}
            else:
                spans = counted_spans(self.brackets, rule, gold=False)
            self._counts[rule] = count_spans(spans, self.gold.counted(rule), rule.repeats)
        return self._counts[rule]

    @cached_property
    def recalled_labels(self) -> Sequence[str]:
        """The labels of the gold constituents that were predicted."""
        return [label for span, label in self.gold.constituents if span in self.shape.phrases]

    @cached_property
    def heights(self) -> tuple[Sequence[int], Sequence[int]]:
        """The heights of the phrases, without the full sentence, and of those that are gold phrases."""
        return compared_heights(self.shape.phrases, self.shape.length, self.gold.phrases)


class ScoredSentences:
    """The gold sentences that a convention scores: their indices in the treebank named ``data``, and their lengths."""

    def __init__(self, convention: ScoringConvention, data: str) -> None:
        self.convention, self.data = convention, data
        self.indices, self.lengths = list[int](), list[int]()


class RunCounts:
    """The counts of brackets, and the shapes, of one run of a system under one rule."""

    def __init__(self, rule: BracketRule) -> None:
        self.rule = rule
        self.counts, self.shapes = list[Counts](), ShapeSums()

    def add(self, predicted: PredictedSentence) -> None:
        """Add a sentence."""
        self.counts.append(predicted.counts(self.rule))
        self.shapes.add(predicted.shape)


class Tally:
    """UF1 of one system under one convention, and the secondary measures, with those of ``labels`` if they differ."""

    def __init__(self, convention: ScoringConvention, *, labels: bool, details: bool) -> None:
        self.run = RunCounts(convention.bracket_rule)
        self._hits, self._totals = Counter[str](), Counter[str]()
        self._labels, self._predicted = LabelCounts() if labels else None, list[Sequence[Span]]()
        self._details, self._heights, self._gold_heights = details, Counter[int](), Counter[int]()

    def add(self, gold: GoldSentence, runs: Mapping[str, PredictedSentence]) -> None:
        """Add a sentence with the only run of the system."""
        predicted = runs[""]
        self.run.add(predicted)
        self._hits.update(predicted.recalled_labels)
        self._totals.update(gold.labels)
        if self._labels is not None:
            self._labels.add_brackets(gold.constituents, predicted.brackets)
        self._predicted.append(predicted.brackets.spans)
        if self._details:
            heights, gold_heights = predicted.heights
            self._heights.update(heights)
            self._gold_heights.update(gold_heights)

    def score(self, info: SystemInfo, scored: ScoredSentences) -> TreeScore:
        """The score of the sentences that were added."""
        recall = {label: (self._hits[label], number) for label, number in label_order(self._totals).items()}
        by_height = {height: (self._gold_heights[height], number) for height, number in sorted(self._heights.items())}
        return replace(
            _score(info, scored, self.run.counts, self.run.shapes.shape(), recall, self._details),
            by_height=by_height if self._details else None,
            predicted=self._predicted,
            labels=self._labels.scores() if self._labels is not None else None,
        )


class ExpectedTally:
    """The expected UF1 of a random baseline over binary trees, with the values of some draws.

    ``probability`` is a function of the length of a bracket, the length of the sentence, and whether the bracket is at
    an edge of it. The F1 is linear in the number of matched brackets, so it follows exactly from the expected number.
    It does not if a convention counts repeated gold brackets again; the F1 of the expected counts is then an
    approximation. Depth and right/left ratio are means over the draws.
    """

    def __init__(
        self, convention: ScoringConvention, probability: Callable[[int, int, bool], float], *, details: bool
    ) -> None:
        self.convention, self.details = convention, details
        self._rule = rule = convention.bracket_rule
        self._chance_of = cache(probability)
        self._counts, self._totals, self._hits = list[Counts](), Counter[str](), dict[str, float]()
        self._draws = defaultdict[str, RunCounts](lambda: RunCounts(rule))

    def add(self, gold: GoldSentence, runs: Mapping[str, PredictedSentence]) -> None:
        """Add a sentence with the draws of the baseline."""
        length, keeps_root = gold.view.brackets.length, self._rule.root == "keep"
        counted = gold.counted(self._rule)
        chances = {span: self._chance(span, length) for span in counted if keeps_root or span != (0, length)}
        predicted = max(length - 1 - (not keeps_root), 0)
        self._counts.append(expected_counts(counted, chances, predicted, self._rule.repeats))
        for span, label in gold.constituents:
            self._hits[label] = self._hits.get(label, 0.0) + self._chance(span, length)
        self._totals.update(gold.labels)
        for name, run in runs.items():
            self._draws[name].add(run)

    def _chance(self, span: Span, length: int) -> float:
        size = span[1] - span[0]
        return self._chance_of(size, length, span[0] == 0 or span[1] == length) if size > 1 else 0.0

    def score(self, info: SystemInfo, scored: ScoredSentences) -> TreeScore:
        """The score of the sentences that were added."""
        recall = {label: (self._hits[label], number) for label, number in label_order(self._totals).items()}
        shape = Shape(*map(fmean, zip(*(run.shapes.shape() for run in self._draws.values()), strict=True)))
        draws = {name: 100 * average_score(run.counts, self.convention).f1 for name, run in self._draws.items()}
        return replace(_score(info, scored, self._counts, shape, recall, self.details), draws=Runs(draws))


def _score(
    info: SystemInfo, scored: ScoredSentences, counts: Sequence[Counts], shape: Shape, by_label: Recall, details: bool
) -> TreeScore:
    """The score that follows from the counts of the scored sentences."""
    convention = scored.convention
    precision, recall, f1 = average_score(counts, convention)
    low, high = bootstrap_interval(columns(counts, convention), statistic(convention))
    return TreeScore(
        info=info,
        convention=convention,
        data=scored.data,
        value=100 * f1,
        precision=100 * precision,
        recall=100 * recall,
        interval=(100 * low, 100 * high),
        counts=counts,
        indices=scored.indices,
        shape=shape,
        by_label=by_label,
        by_length=by_length(counts, scored.lengths, convention) if details else None,
    )
