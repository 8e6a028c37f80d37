"""UF1: the share of brackets that a predicted tree and the gold tree have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import compress
from statistics import fmean

from treebank.base.errors import SynparseError
from treebank.core.baselines import SEEDED
from treebank.core.sentence import Treebank
from treebank.core.tags import bare_label, count_words, has_penn_tags, short_enough
from treebank.core.tree import Span, Tree
from treebank.evaluate.align import Bracketing, TreeView, reduce_all, view_treebank
from treebank.evaluate.averaging import Counts, average_score, by_length, columns, statistic
from treebank.evaluate.conventions import ScoringConvention
from treebank.evaluate.labels import label_scores
from treebank.evaluate.score import Recall, Runs, TreeScore
from treebank.evaluate.shape import (
    Constituents,
    SentenceShape,
    Shape,
    expected_recall,
    precision_by_height,
    recall_by_label,
    sentence_shape,
)
from treebank.evaluate.statistics import bootstrap_interval
from treebank.evaluate.systems import System, SystemInfo, baseline_brackets

GOLD_REPEATS = ("missed", "gold")  # rules by which repeated brackets count in gold trees only


def counted_spans(brackets: Bracketing, convention: ScoringConvention, *, gold: bool) -> Collection[Span]:
    """The spans that a convention counts: a set, or a list with repeated spans if these may count separately.

    If only the bracket of the root node is dropped, a prediction loses all full-sentence brackets, because unary chains
    over the whole sentence come from deleted words there.
    """
    shortest = 1 if convention.trivial == "keep" else 2
    whole = (0, brackets.length)
    once = convention.repeats == "once" or (convention.repeats in GOLD_REPEATS and not gold)
    drops_whole = convention.root == "drop" or (convention.root == "node" and once and not gold)
    if once and drops_whole:
        return {span for span in brackets.spans if span[1] - span[0] >= shortest and span != whole}
    spans = [span for span in brackets.spans if span[1] - span[0] >= shortest and not (drops_whole and span == whole)]
    if convention.root == "node" and whole in spans:
        spans.remove(whole)
    return set(spans) if once else spans


def count_spans(predicted: Collection[Span], gold: Collection[Span], repeats: str = "once") -> Counts:
    """The counts of one sentence. A repeated span matches as often as both sides repeat it.

    Two published programs count lists without this rule, so that a repeated gold bracket counts again only if it was
    ``missed``, or counts as often as it occurs in ``gold``, also as a predicted one.
    """
    if repeats in GOLD_REPEATS:
        return _repeated_gold(Counter(gold), dict.fromkeys(predicted, 1), len(predicted), repeats)
    spans, reference = (side if isinstance(side, set) else set(side) for side in (predicted, gold))
    matched = len(spans & reference)
    if len(spans) < len(predicted) and len(reference) < len(gold):
        matched = (Counter(predicted) & Counter(gold)).total()
    return Counts(matched, len(predicted), len(gold))


def _repeated_gold(gold: Counter[Span], chances: Mapping[Span, float], predicted: int, repeats: str) -> Counts:
    """The expected counts of one sentence if spans are predicted with ``chances``, ``predicted`` spans in total."""
    once = sum(chances.get(span, 0) for span in gold)
    often = sum(times * chances.get(span, 0) for span, times in gold.items())
    if repeats == "missed":
        return Counts(once, predicted, gold.total() - often + once)
    return Counts(often, predicted - once + often, gold.total())


@dataclass(frozen=True)
class GoldTrees:
    """The gold brackets of a treebank under one rule for words.

    ``constituents`` are the labeled spans of two or more words of each sentence, each once, without function tags.
    ``apostrophes`` are the indices of the words with an apostrophe.
    """

    views: Sequence[TreeView]
    constituents: Sequence[Constituents]
    apostrophes: Sequence[frozenset[int]]

    @classmethod
    def of(cls, views: Sequence[TreeView]) -> GoldTrees:
        return cls(views, [_constituents(view.brackets) for view in views], list(map(_apostrophes, views)))

    @cached_property
    def trees(self) -> Sequence[Tree]:
        """The gold trees over the words that count."""
        return [view.tree for view in self.views]


def _constituents(brackets: Bracketing) -> Constituents:
    spans = brackets.spans
    named = zip(spans, map(bare_label, brackets.labels), strict=True)
    pairs = [(span, label) for span, label in named if label and span[1] - span[0] > 1]
    return pairs if len(set(spans)) == len(spans) else list(dict.fromkeys(pairs))


def _apostrophes(view: TreeView) -> frozenset[int]:
    if "'" not in "".join(view.gold.words):
        return frozenset()
    return frozenset(i for i, word in enumerate(view.words) if "'" in word)


@dataclass(frozen=True)
class PredictedTrees:
    """The brackets of a system over the words of each gold sentence, and their shapes."""

    brackets: Sequence[Bracketing]
    shapes: Sequence[SentenceShape]

    @classmethod
    def of(cls, brackets: Sequence[Bracketing], gold: GoldTrees) -> PredictedTrees:
        return cls(brackets, list(map(sentence_shape, brackets, gold.apostrophes)))


@dataclass(frozen=True)
class Reference:
    """The gold sentences that a convention scores (``indices``), and the spans that it counts in each."""

    convention: ScoringConvention
    data: str
    gold: GoldTrees
    indices: Sequence[int]
    counted: Sequence[Collection[Span]]

    @classmethod
    def of(cls, gold: GoldTrees, convention: ScoringConvention, *, data: str, included: Sequence[bool]) -> Reference:
        """The reference of a treebank named ``data``. Raises SynparseError if no sentence remains."""
        indices = [
            i
            for i, view in enumerate(gold.views)
            if included[i] and convention.includes(view.brackets.length, len(view.sentence.words))
        ]
        if not indices:
            raise SynparseError(f"{data}: no sentence is left to score ({convention})")
        return cls(
            convention,
            data,
            gold,
            indices,
            [counted_spans(gold.views[i].brackets, convention, gold=True) for i in indices],
        )

    @property
    def constituents(self) -> Sequence[Constituents]:
        """The gold constituents of the scored sentences."""
        return [self.gold.constituents[i] for i in self.indices]

    def count(self, predicted: PredictedTrees) -> list[Counts]:
        """The counts of each scored sentence."""
        convention = self.convention
        if convention.trivial == "drop" and convention.repeats == "once" and convention.root != "keep":
            shapes = (predicted.shapes[i] for i in self.indices)
            spans: Iterable[Collection[Span]] = (shape.phrases - {(0, shape.length)} for shape in shapes)
        else:
            spans = (counted_spans(predicted.brackets[i], convention, gold=False) for i in self.indices)
        pairs = zip(spans, self.counted, strict=True)
        return [count_spans(brackets, counted, convention.repeats) for brackets, counted in pairs]


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
    """
    has_penn = has_penn_tags(gold)
    included = [short_enough(length, max_length) for length in count_words(gold)] if max_length else [True] * len(gold)
    predict = _predictions(gold, systems, included)
    by_rule: dict[str, tuple[GoldTrees, list[dict[str, PredictedTrees]]]] = {}
    scores = []
    for convention in conventions:
        if convention.tokens == "words" and not has_penn:
            convention = replace(convention, tokens="letters")
        if convention.tokens not in by_rule:
            trees = GoldTrees.of(view_treebank(gold, convention.tokens))
            by_rule[convention.tokens] = trees, [predict(system, trees) for system in systems]
        trees, predicted = by_rule[convention.tokens]
        reference = Reference.of(trees, convention.up_to(max_length), data=gold.label, included=included)
        for system, runs in zip(systems, predicted, strict=True):
            if system.is_exact:
                scores.append(expected_score(system.info, reference, SEEDED[system.name], runs, details=details))
            else:
                scores.append(score(system.info, reference, runs[""], details=details))
    return scores


def _predictions(
    gold: Treebank, systems: Sequence[System], included: Sequence[bool]
) -> Callable[[System, GoldTrees], dict[str, PredictedTrees]]:
    """A function from a system and gold trees to the predicted trees by draw. Every parser is called once."""
    raw: dict[int, Sequence[object]] = {}

    def predict(system: System, trees: GoldTrees) -> dict[str, PredictedTrees]:
        if system.predict is None:
            seeds = {str(seed): seed for seed in system.draws} if system.is_exact else {"": system.info.seed}
            return {
                name: PredictedTrees.of(baseline_brackets(system.name, trees.trees, seed), trees)
                for name, seed in seeds.items()
            }
        if id(system) not in raw:
            raw[id(system)] = system.predict(list(compress(gold.sentences, included)))
        brackets = reduce_all(system.name, raw[id(system)], trees.views, included, noun="tree", empty=Bracketing())
        return {"": PredictedTrees.of(brackets, trees)}

    return predict


def score(info: SystemInfo, reference: Reference, predicted: PredictedTrees, *, details: bool = False) -> TreeScore:
    """UF1 of the ``predicted`` trees with its interval and the secondary measures."""
    shapes = [predicted.shapes[i] for i in reference.indices]
    brackets = [predicted.brackets[i] for i in reference.indices]
    phrases = [shape.phrases for shape in shapes]
    heights = None
    if details:
        gold = (sentence_shape(reference.gold.views[i].brackets).phrases for i in reference.indices)
        heights = precision_by_height(((shape.phrases, shape.length) for shape in shapes), gold)
    return replace(
        _score(
            info,
            reference,
            reference.count(predicted),
            Shape.of(shapes),
            recall_by_label(reference.constituents, phrases),
            details,
        ),
        by_height=heights,
        predicted=[sentence.spans for sentence in brackets],
        labels=label_scores(reference.constituents, brackets),
    )


def expected_score(
    info: SystemInfo,
    reference: Reference,
    probability: Callable[[int, int, bool], float],
    drawn: Mapping[str, PredictedTrees],
    *,
    details: bool = False,
) -> TreeScore:
    """The expected UF1 of a random baseline over binary trees, with the values of some draws.

    ``probability`` is a function of the length of a bracket, the length of the sentence, and whether the bracket is at
    an edge of it. The F1 is linear in the number of matched brackets, so it follows exactly from the expected number.
    It does not if a convention counts repeated gold brackets again; the F1 of the expected counts is then an
    approximation. Depth and right/left ratio are means over the draws ``drawn``.
    """
    convention, keeps_root = reference.convention, reference.convention.root == "keep"
    chance_of = cache(probability)

    def chance(span: Span, length: int) -> float:
        size = span[1] - span[0]
        return chance_of(size, length, span[0] == 0 or span[1] == length) if size > 1 else 0.0

    counts, chances = [], []
    for i, counted in zip(reference.indices, reference.counted, strict=True):
        length = reference.gold.views[i].brackets.length
        chances_of = {span: chance(span, length) for span in counted if keeps_root or span != (0, length)}
        predicted = max(length - 1 - (not keeps_root), 0)
        if convention.repeats in GOLD_REPEATS:
            counts.append(_repeated_gold(Counter(counted), chances_of, predicted, convention.repeats))
        else:
            counts.append(Counts(sum(chances_of.values()), predicted, len(counted)))
        chances.append([chance(span, length) for span, _ in reference.gold.constituents[i]])
    shapes = [Shape.of([run.shapes[i] for i in reference.indices]) for run in drawn.values()]
    values = {name: 100 * average_score(reference.count(run), convention).f1 for name, run in drawn.items()}
    return replace(
        _score(
            info,
            reference,
            counts,
            Shape(*map(fmean, zip(*shapes, strict=True))),
            expected_recall(reference.constituents, chances),
            details,
        ),
        draws=Runs(values),
    )


def _score(
    info: SystemInfo,
    reference: Reference,
    counts: Sequence[Counts],
    shape: Shape,
    by_label: Recall,
    details: bool,
) -> TreeScore:
    """The score that follows from the counts of the scored sentences."""
    convention = reference.convention
    precision, recall, f1 = average_score(counts, convention)
    low, high = bootstrap_interval(columns(counts, convention), statistic(convention))
    lengths = [reference.gold.views[i].brackets.length for i in reference.indices]
    return TreeScore(
        info=info,
        convention=convention,
        data=reference.data,
        value=100 * f1,
        bracket_precision=100 * precision,
        bracket_recall=100 * recall,
        interval=(100 * low, 100 * high),
        counts=counts,
        indices=reference.indices,
        shape=shape,
        by_label=by_label,
        by_length=by_length(counts, lengths, convention) if details else None,
    )
