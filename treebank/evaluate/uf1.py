"""UF1: the share of brackets that a predicted tree and the gold tree have in common.

One loop over the sentences counts the brackets of all systems as sets of spans and adds the numbers to a tally for each
convention and system, so that the memory needed does not grow with the brackets.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import compress
from math import inf
from operator import add
from statistics import fmean
from typing import NamedTuple

from treebank.base.errors import SynparseError
from treebank.core.baselines import SEEDED
from treebank.core.sentence import Treebank, bare_label, has_penn_tags, short_sentences
from treebank.core.tree import Span, pre_order
from treebank.evaluate.align import Bracketing, TreeView, by_sentence, check_has_trees
from treebank.evaluate.conventions import BracketRule, ScoringConvention
from treebank.evaluate.score import (
    Constituents,
    LabelCounts,
    Recall,
    Runs,
    SentenceCounts,
    Shape,
    TreeScore,
    average_score,
    by_length,
    interval,
    label_order,
)
from treebank.evaluate.systems import WORD, System, SystemInfo, baseline_draw
from treebank.io.predictions import PredictedTree

GOLD_REPEATS = ("missed", "gold")  # rules by which repeated brackets count in gold trees only
Read = Callable[[int, TreeView], Bracketing]  # the brackets of a system for the gold sentence with this index


def score_trees(
    gold: Treebank,
    systems: Sequence[System],
    conventions: Iterable[ScoringConvention],
    *,
    max_length: int | None = None,
    details: bool = False,
) -> list[TreeScore]:
    """One score for each convention and system, in this order.

    If few words of ``gold`` have a tag of the Penn Treebank, every token with a letter or a digit is a word, and the
    signature says ``tokens:letters``. ``details`` adds scores by sentence length and by height.
    Raises SynparseError if a sentence has no tree, if predictions do not fit, or if no sentence remains.
    """
    words = "words" if has_penn_tags(gold) else "letters"
    fitted = [
        replace(convention, tokens=words) if convention.tokens == "words" else convention for convention in conventions
    ]
    included = short_sentences(gold, _longest(fitted, words, max_length))
    check_has_trees(gold)
    sentences = list(compress(gold.sentences, included))
    predictions = [system.predict(sentences) if system.predict else None for system in systems]
    scores: dict[int, list[TreeScore]] = {}
    for rule in dict.fromkeys(convention.tokens for convention in fitted):
        numbers = [number for number, convention in enumerate(fitted) if convention.tokens == rule]
        parts = [
            ScoredPart(fitted[number].up_to(max_length), gold.label, systems, predictions, details)
            for number in numbers
        ]
        pairs = zip(systems, predictions, strict=True)
        _count(gold, [_readers(*pair, gold, included, rule) for pair in pairs], parts, included)
        scores |= zip(numbers, (part.scores(systems) for part in parts), strict=True)
    return [score for number in range(len(fitted)) for score in scores[number]]


def _longest(conventions: Sequence[ScoringConvention], rule: str, max_length: int | None) -> int | None:
    """The length limit that all scored sentences keep, in words by ``rule``, or None.

    A convention with another rule can count fewer words than ``rule``, unless it counts all tokens except traces.
    """
    limits = [
        each.up_to(max_length).max_words if each.tokens == rule or each.measure == "seen" else None
        for each in conventions
    ]
    return max(limits, key=lambda limit: inf if limit is None else limit)


def _readers(
    system: System, predicted: Sequence[PredictedTree] | None, gold: Treebank, included: Sequence[bool], rule: str
) -> dict[str, Read]:
    """Functions that return the brackets of a system: one function per random draw, or one if nothing is drawn.

    There is one prediction per sentence, or one per ``included`` sentence.
    Raises SynparseError if the number of predictions does not fit.
    """
    if predicted is None:
        seeds = {str(seed): seed for seed in system.draws} if system.is_exact else {"": system.info.seed}
        draws = {name: baseline_draw(system.name, seed) for name, seed in seeds.items()}
        return {name: lambda index, view, draw=draw: draw(view.tree) for name, draw in draws.items()}  # type: ignore[misc]

    def reduce(index: int, prediction: PredictedTree) -> Bracketing:
        sentence = gold.sentences[index]
        assert sentence.tree is not None
        return TreeView.of(sentence, sentence.tree, rule).reduce(prediction)

    by_index = by_sentence(system.name, predicted, gold, included, "tree", reduce)
    return {"": lambda index, view: view.reduce(by_index[index]) if index in by_index else Bracketing()}


def _count(
    gold: Treebank, readers: Sequence[dict[str, Read]], parts: Sequence[ScoredPart], included: Sequence[bool]
) -> None:
    """Add all sentences that a convention scores to its part. All conventions have the same rule for words."""
    rules = list(dict.fromkeys(part.convention.bracket_rule for part in parts))
    for index, sentence in enumerate(gold.sentences):
        assert sentence.tree is not None
        view = TreeView.of(sentence, sentence.tree, parts[0].convention.tokens)
        # Every sentence is read, because random baselines are drawn in the order of the file.
        brackets = [{name: read(index, view) for name, read in draws.items()} for draws in readers]
        length, visible = view.brackets.length, len(sentence.words)
        scored = [part for part in parts if included[index] and part.convention.includes(length, visible)]
        if scored:
            reference = GoldBrackets(view, rules)
            runs = [{name: matches(each, reference) for name, each in draws.items()} for draws in brackets]
            for part in scored:
                part.add(index, reference, visible, runs)


# --- one sentence


class GoldBrackets:
    """The gold brackets of a sentence: its constituents, and the spans that count by each of ``rules``.

    The constituents are the labeled spans of two or more words, each once, without function tags.
    """

    def __init__(self, view: TreeView, rules: Iterable[BracketRule]) -> None:
        self.view, self.length = view, view.brackets.length
        spans = view.brackets.spans
        named = zip(spans, map(bare_label, view.brackets.labels), strict=True)
        pairs = [(span, label) for span, label in named if label and span[1] - span[0] > 1]
        self.constituents: Constituents = pairs if len(set(spans)) == len(spans) else list(dict.fromkeys(pairs))
        self.labels = [label for _, label in self.constituents]
        self.counted = {rule: counted_spans(view.brackets, rule, gold=True) for rule in rules}
        # The released script of Du et al. (2020) in effect leaves these words out of the right/left ratio.
        has_any = "'" in "".join(view.gold.words)
        self.apostrophes = frozenset(i for i, word in enumerate(view.words) if "'" in word) if has_any else frozenset()


class Matches(NamedTuple):
    """A predicted tree compared with gold.

    ``phrases`` are the different spans of two or more words, always including the full sentence, and ``depth`` is the
    mean number of them around a word. ``ends`` counts the words that are the first and the last child of a phrase, of
    all words and of those without an apostrophe. ``labels`` are those of the gold constituents that were predicted.
    """

    brackets: Bracketing
    phrases: set[Span]
    counts: Mapping[BracketRule, SentenceCounts]
    labels: Sequence[str]
    depth: float
    ends: tuple[int, int, int, int]


def matches(brackets: Bracketing, gold: GoldBrackets) -> Matches:
    """The comparison of a predicted tree with gold.

    A word is a first child exactly if a phrase begins with it: the shortest such phrase has it as a child.
    """
    length, whole = brackets.length, (0, brackets.length)
    phrases = {span for span in brackets.spans if span[1] - span[0] > 1}
    if length > 1:
        phrases.add(whole)
    depth, ends = 0.0, (0, 0, 0, 0)
    if phrases:
        starts, stops = zip(*phrases, strict=True)
        depth = (sum(stops) - sum(starts)) / length
        first, last = set(starts), set(stops)
        ends = (len(first), len(last)) * 2
        if gold.apostrophes:
            without = sum(end - 1 not in gold.apostrophes for end in last)
            ends = (*ends[:2], len(first - gold.apostrophes), without)
    counts = {}
    for rule, reference in gold.counted.items():
        if rule.trivial == "drop" and rule.repeats == "once" and rule.root != "keep":
            spans: Collection[Span] = phrases - {whole}
        else:
            spans = counted_spans(brackets, rule, gold=False)
        counts[rule] = count_spans(spans, reference, rule.repeats)
    labels = [label for span, label in gold.constituents if span in phrases]
    return Matches(brackets, phrases, counts, labels, depth, ends)


def counted_spans(brackets: Bracketing, rule: BracketRule, *, gold: bool) -> Collection[Span]:
    """The spans that count by a rule: a set, or a list with repeated spans if these may count separately.

    If only the bracket of the root node is dropped, a prediction loses all full-sentence brackets, because unary chains
    over the whole sentence come from deleted words there.
    """
    shortest = 1 if rule.trivial == "keep" else 2
    whole = (0, brackets.length)
    once = rule.repeats == "once" or (rule.repeats in GOLD_REPEATS and not gold)
    drops_whole = rule.root == "drop" or (rule.root == "node" and once and not gold)
    if once and drops_whole:
        return {span for span in brackets.spans if span[1] - span[0] >= shortest and span != whole}
    spans = [span for span in brackets.spans if span[1] - span[0] >= shortest and not (drops_whole and span == whole)]
    if rule.root == "node" and whole in spans:
        spans.remove(whole)
    return set(spans) if once else spans


def count_spans(predicted: Collection[Span], gold: Collection[Span], repeats: str = "once") -> SentenceCounts:
    """Numbers of matched, predicted and gold spans of one sentence.

    ``repeats`` is the rule for spans that occur several times, as in unary chains. By default, a span matches as often
    as it occurs on both sides (once, if both sides are sets). The other two are the rules of published programs:

    - "missed": a repeated gold span counts again only if it was not predicted,
    - "gold": a span counts as often as it occurs in ``gold``; a predicted one does, too.
    """
    if repeats in GOLD_REPEATS:
        return expected_counts(gold, dict.fromkeys(predicted, 1), len(predicted), repeats)
    spans, reference = (side if isinstance(side, set) else set(side) for side in (predicted, gold))
    matched = len(spans & reference)
    if len(spans) < len(predicted) and len(reference) < len(gold):
        matched = (Counter(predicted) & Counter(gold)).total()
    return SentenceCounts(matched, len(predicted), len(gold))


def expected_counts(
    gold: Collection[Span], chances: Mapping[Span, float], predicted: int, repeats: str = "once"
) -> SentenceCounts:
    """The expected counts of one sentence if spans are predicted with ``chances``, ``predicted`` spans in total."""
    if repeats not in GOLD_REPEATS:
        return SentenceCounts(sum(chances.values()), predicted, len(gold))
    times = Counter(gold)
    once = sum(chances.get(span, 0) for span in times)
    often = sum(number * chances.get(span, 0) for span, number in times.items())
    if repeats == "missed":
        return SentenceCounts(once, predicted, len(gold) - often + once)
    return SentenceCounts(often, predicted - once + often, len(gold))


def heights(spans: Collection[Span]) -> dict[Span, int]:
    """Height of each bracket: one more than its highest child, where words have height 1 (Du et al., algorithm 1)."""
    height = dict.fromkeys(spans, 2)
    open_brackets: list[Span] = []
    for span in [*sorted(spans, key=pre_order), (inf, inf)]:  # the last one closes all brackets
        while open_brackets and open_brackets[-1][1] <= span[0]:
            child = open_brackets.pop()
            if open_brackets:
                height[open_brackets[-1]] = max(height[open_brackets[-1]], height[child] + 1)
        open_brackets.append(span)  # type: ignore[arg-type]
    return height


# --- all sentences of a convention


class ScoredPart:
    """The sentences that a convention scores: their indices in gold, their lengths, and a tally for each system."""

    def __init__(
        self,
        convention: ScoringConvention,
        data: str,
        systems: Sequence[System],
        predictions: Sequence[Sequence[PredictedTree] | None],
        details: bool,
    ) -> None:
        self.convention, self.data, self.details = convention, data, details
        self.indices, self.lengths, self.labels = list[int](), list[int](), Counter[str]()
        self._tallies = [
            ExpectedTally(convention, SEEDED[system.name]) if system.is_exact else TreeTally(convention, trees, details)
            for system, trees in zip(systems, predictions, strict=True)
        ]

    def add(self, index: int, gold: GoldBrackets, visible: int, runs: Sequence[Mapping[str, Matches]]) -> None:
        """Add the sentence ``index`` with ``visible`` tokens that are not traces, and the runs of each system."""
        self.indices.append(index)
        self.lengths.append(self.convention.length(gold.length, visible))
        self.labels.update(gold.labels)
        for tally, draws in zip(self._tallies, runs, strict=True):
            tally.add(gold, draws)

    def scores(self, systems: Sequence[System]) -> list[TreeScore]:
        """The scores of all systems. Raises SynparseError if no sentence was added."""
        if not self.indices:
            raise SynparseError(f"{self.data}: no sentence is left to score ({self.convention})")
        return [tally.score(system.info, self) for system, tally in zip(systems, self._tallies, strict=True)]

    def score(
        self, info: SystemInfo, counts: Sequence[SentenceCounts], shape: Shape, hits: Mapping[str, float]
    ) -> TreeScore:
        """The score that follows from the counts of the sentences, and the ``hits`` of each gold label."""
        precision, recall, f1 = average_score(counts, self.convention)
        by_label: Recall = {label: (hits[label], number) for label, number in label_order(self.labels).items()}
        return TreeScore(
            info=info,
            convention=self.convention,
            data=self.data,
            value=100 * f1,
            precision=100 * precision,
            recall=100 * recall,
            interval=interval(counts, self.convention),
            counts=counts,
            indices=self.indices,
            shape=shape,
            by_label=by_label,
            by_length=by_length(counts, self.lengths, self.convention) if self.details else None,
        )


class RunTally:
    """Counts of brackets, and sums of the shapes, of one run of a system under one rule."""

    def __init__(self, rule: BracketRule) -> None:
        self.rule, self.counts = rule, list[SentenceCounts]()
        self._depths, self._ends = array("d"), [0, 0, 0, 0]

    def add(self, tree: Matches) -> None:
        """Add a sentence."""
        self.counts.append(tree.counts[self.rule])
        self._depths.append(tree.depth)
        self._ends = list(map(add, self._ends, tree.ends))

    def shape(self) -> Shape:
        """The averages over sentences."""
        first, last, first_without, last_without = self._ends
        ratio = first / last if last else 1.0
        return Shape(fmean(self._depths), ratio, first_without / last_without if last_without else 1.0)


class TreeTally:
    """UF1 of one system under one convention, and the secondary measures.

    Labels are counted if there are at least two besides that of added word brackets.
    """

    def __init__(
        self, convention: ScoringConvention, predictions: Sequence[PredictedTree] | None, details: bool
    ) -> None:
        trees = (prediction.labelled for prediction in predictions or ())
        names = set().union(*(tree.labels for tree in trees if tree is not None)) - {"", WORD}
        self._run, self._hits, self._predicted = (
            RunTally(convention.bracket_rule),
            Counter[str](),
            list[Sequence[Span]](),
        )
        self._labels = LabelCounts() if len(names) > 1 else None
        self._details, self._heights, self._gold_heights = details, Counter[int](), Counter[int]()

    def add(self, gold: GoldBrackets, runs: Mapping[str, Matches]) -> None:
        """Add a sentence with the only run of the system."""
        tree = runs[""]
        self._run.add(tree)
        self._hits.update(tree.labels)
        self._predicted.append(tree.brackets.spans)
        if self._labels is not None:
            self._labels.add_brackets(gold.constituents, tree.brackets)
        if self._details:
            height = heights(tree.phrases)
            height.pop((0, gold.length), None)
            phrases = {*gold.view.brackets.spans, (0, gold.length)}
            self._heights.update(height.values())
            self._gold_heights.update([number for span, number in height.items() if span in phrases])

    def score(self, info: SystemInfo, part: ScoredPart) -> TreeScore:
        """The score of the sentences that were added."""
        by_height = {height: (self._gold_heights[height], number) for height, number in sorted(self._heights.items())}
        return replace(
            part.score(info, self._run.counts, self._run.shape(), self._hits),
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

    def __init__(self, convention: ScoringConvention, probability: Callable[[int, int, bool], float]) -> None:
        self._rule, self._probability = convention.bracket_rule, cache(probability)
        self._counts, self._hits, self._draws = list[SentenceCounts](), Counter[str](), dict[str, RunTally]()

    def add(self, gold: GoldBrackets, runs: Mapping[str, Matches]) -> None:
        """Add a sentence with the draws of the baseline."""
        length, keeps_root = gold.length, self._rule.root == "keep"
        counted = gold.counted[self._rule]
        chances = {span: self._chance(span, length) for span in counted if keeps_root or span != (0, length)}
        predicted = max(length - 1 - (not keeps_root), 0)
        self._counts.append(expected_counts(counted, chances, predicted, self._rule.repeats))
        for span, label in gold.constituents:
            self._hits[label] += self._chance(span, length)  # type: ignore[assignment]
        for name, run in runs.items():
            self._draws.setdefault(name, RunTally(self._rule)).add(run)

    def _chance(self, span: Span, length: int) -> float:
        size = span[1] - span[0]
        return self._probability(size, length, span[0] == 0 or span[1] == length) if size > 1 else 0.0

    def score(self, info: SystemInfo, part: ScoredPart) -> TreeScore:
        """The score of the sentences that were added."""
        shape = Shape(*map(fmean, zip(*(run.shape() for run in self._draws.values()), strict=True)))
        draws = {name: 100 * average_score(run.counts, part.convention).f1 for name, run in self._draws.items()}
        return replace(part.score(info, self._counts, shape, self._hits), draws=Runs(draws))
