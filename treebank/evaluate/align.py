"""Gold sentences as a convention counts them, and predictions aligned to the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, compress
from typing import Any, NamedTuple

from treebank.base.errors import SynparseError
from treebank.base.tables import quantity
from treebank.core.brackets import SPANS
from treebank.core.dependency import Heads, delete
from treebank.core.sentence import ROOT, Sentence, Treebank, word_mask
from treebank.core.tree import TRACE, Span, Tree
from treebank.core.word_check import align, mismatch
from treebank.evaluate.conventions import AttachmentConvention
from treebank.io.predictions import PredictedHeads, PredictedTree

TOPS = frozenset({"TOP", "ROOT", "S1"})  # outer brackets of treebanks in which the Penn Treebank has none
# --- trees


class Bracketing(NamedTuple):
    """Brackets over the words of one sentence, in pre-order, with their labels if they are known.

    A bracket can be empty, ``(i, i)``, if its tokens do not count as words. No convention counts it.
    """

    length: int = 0  # words
    spans: Sequence[Span] = ()
    labels: Sequence[str] = ()


def surviving(spans: Sequence[Span], labels: Sequence[str], before: Sequence[int]) -> Bracketing:
    """The brackets over selected words. A bracket without such words becomes empty.

    ``before`` has the number of selected tokens before each token, and in total.
    """
    if before[-1] == len(before) - 1:
        return Bracketing(before[-1], spans, labels)
    return Bracketing(before[-1], [SPANS[before[start], before[end]] for start, end in spans], labels)


def without_top(brackets: Bracketing) -> Bracketing:
    """The brackets without an outer ``TOP``, which EVALB ignores, or ``ROOT`` or ``S1`` over a single child."""
    length, spans, labels = brackets
    if not labels or labels[0] not in TOPS:
        return brackets
    if labels[0] != "TOP" and spans[0] != next((span for span in spans[1:] if span[0] < span[1]), None):
        return brackets
    return Bracketing(length, spans[1:], labels[1:])


@dataclass(frozen=True)
class TreeView:
    """A gold tree and, for each of its tokens, whether it counts as a word.

    ``before`` has the number of words before each token, and in total. ``brackets`` are the gold brackets over the
    words, with unary ones but without an outer ``TOP``.
    """

    sentence: Sentence
    gold: Tree
    mask: Sequence[bool]
    before: Sequence[int]
    brackets: Bracketing

    @classmethod
    def of(cls, sentence: Sentence, tree: Tree, rule: str) -> TreeView:
        """The view of a sentence with the gold ``tree``, with the words selected by ``rule``."""
        mask = word_mask(rule, tree.words, tree.tags)
        before = list(accumulate(mask, initial=0))
        return cls(sentence, tree, mask, before, without_top(surviving(tree.spans, tree.labels, before)))

    @property
    def words(self) -> Sequence[str]:
        """The words that count."""
        return list(compress(self.gold.words, self.mask))

    @cached_property
    def tree(self) -> Tree:
        """The gold tree over the words, with the same brackets."""
        tags = compress(self.gold.tags, self.mask)
        pairs = zip(self.brackets.spans, self.brackets.labels, strict=True)
        return Tree.from_brackets(self.words, tags, [(span, label) for span, label in pairs if span[0] < span[1]])

    @cached_property
    def masks(self) -> list[Sequence[bool]]:
        """The gold tokens that a prediction may have: the words, all except traces, or all."""
        return [self.mask, [tag != TRACE for tag in self.gold.tags], [True] * len(self.gold)]

    def reduce(self, predicted: PredictedTree) -> Bracketing:
        """The brackets of ``predicted`` over the words of this view.

        ``predicted`` has all tokens of the gold tree, all except traces, the words only, or no words after a failed
        parse. Raises SynparseError if its words differ.
        """
        if predicted.spans is not None:  # JSON without words
            tokens = next((mask for mask in self.masks if sum(mask) == predicted.length), self.masks[1])
            spans = predicted.over(tuple(compress(self.gold.words, tokens))).spans
            return surviving(spans, (), list(accumulate(compress(self.mask, tokens), initial=0)))
        if predicted.is_empty:  # a failed parse
            return Bracketing(self.before[-1])
        trees = []
        for tree in readings(predicted):
            before: Sequence[int] | None = self.before
            if tree.words != self.gold.words:
                words = align(self.gold.words, self.masks, tree.words)
                before = None if words is None else list(accumulate(compress(self.mask, words), initial=0))
            if before is not None:
                brackets = without_top(Bracketing(len(tree), tree.spans, tree.labels))
                return surviving(brackets.spans, brackets.labels if tree is predicted.labelled else (), before)
            trees.append(tree)
        raise SynparseError(
            mismatch(
                [tree.words for tree in trees],
                [tuple(compress(self.gold.words, mask)) for mask in self.masks],
                location=f"{predicted.path}:{predicted.line}",
                gold_location=str(self.sentence.location),
            )
        )


def check_has_trees(treebank: Treebank) -> None:
    """Raises SynparseError if a sentence has no tree."""
    for sentence in treebank.sentences:
        if sentence.tree is None:
            raise SynparseError(f"{sentence.location}: this sentence has no tree to score against")


def readings(predicted: PredictedTree) -> Iterator[Tree]:
    """The ways to read a prediction: ``(a (b c))`` is one word with two labels, or three words."""
    if predicted.labelled is not None:
        yield predicted.labelled
    with suppress(ValueError):
        yield predicted.bare


# --- heads


class ReducedHeads(NamedTuple):
    """Predicted heads of the remaining words, and predicted relations of the counted words, empty if there are none."""

    heads: Heads
    relations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeadView:
    """A gold sentence as a convention counts it.

    ``mask`` says which words of the sentence count. ``heads`` are the gold heads of the remaining words: all words, or
    the counted ones if the others are deleted. ``counted`` are the indices of the counted words among these.
    """

    sentence: Sentence
    mask: Sequence[bool]
    heads: Heads
    counted: Sequence[int]

    @classmethod
    def of(cls, sentence: Sentence, heads: Sequence[int], convention: AttachmentConvention) -> HeadView:
        """The view of a sentence with gold ``heads`` over all words. Raises SynparseError if tags are missing."""
        mask = word_mask(convention.tokens, sentence.words, sentence.tags, sentence.universal_tags)
        if len(mask) != len(sentence.words):
            raise SynparseError(f"{sentence.location}: this sentence has no tags, which {convention.name} needs")
        if convention.others == "deleted":
            remaining = delete(heads, mask)
            return cls(sentence, mask, remaining, range(len(remaining)))
        rooted = tuple(ROOT if head == i else head for i, head in enumerate(heads))
        return cls(sentence, mask, rooted, list(compress(range(len(mask)), mask)))

    @property
    def length(self) -> int:
        """Number of counted words."""
        return len(self.counted)

    def reduce(self, predicted: PredictedHeads) -> ReducedHeads:
        """The predicted heads of the remaining words, and the predicted relations of the counted words.

        ``predicted`` has all words of the gold sentence, or the counted ones only.
        Raises SynparseError if its words differ or if a head is not a word of the sentence.
        """
        heads, gold, location = predicted.heads, self.sentence.words, f"{predicted.path}:{predicted.line}"
        if len(heads) != len(predicted.words) or not all(ROOT <= head < len(heads) for head in heads):
            raise SynparseError(f"{location}: a head is not a word of the sentence")
        words = align(gold, ([True] * len(gold), self.mask), predicted.words)
        if words is None:
            readings = [gold, tuple(compress(gold, self.mask))]
            raise SynparseError(
                mismatch([predicted.words], readings, location=location, gold_location=str(self.sentence.location))
            )
        relations = predicted.relations
        if len(relations) == len(gold):
            relations = tuple(compress(relations, self.mask))
        return ReducedHeads(self._remaining(heads, words), relations)

    def _remaining(self, heads: Heads, words: Sequence[bool]) -> Heads:
        """The heads of the remaining words, from ``heads`` of the gold words that ``words`` selects."""
        gold = self.sentence.words
        if len(heads) == len(self.heads):
            return heads
        if len(heads) == len(gold):
            return delete(heads, self.mask)
        indices = list(compress(range(len(gold)), words))
        spread = [ROOT] * len(gold)
        for i, head in zip(indices, heads, strict=True):
            spread[i] = ROOT if head == ROOT else indices[head]
        return tuple(spread)


# --- all predictions of a system


def by_sentence(
    name: str,
    predicted: Sequence[Any],
    gold: Treebank,
    included: Sequence[bool],
    noun: str,
    reduce: Callable[[int, Any], object],
) -> dict[int, Any]:
    """The predictions by the index of their sentence: one for each gold sentence, or for each ``included`` one.

    For another number, raises SynparseError that names the first sentence that differs, is missing or extra. ``reduce``
    is called with an index and a prediction, and raises SynparseError if their words differ.
    """
    for indices in (range(len(gold)), list(compress(range(len(gold)), included))):
        if len(predicted) == len(indices):
            return dict(zip(indices, predicted, strict=True))
    files = list(dict.fromkeys(sentence.location.path for sentence in gold.sentences)) or ["gold"]
    more = f" and {quantity(len(files) - 1, 'more file')}" if len(files) > 1 else ""
    kind, _, rest = noun.partition(" ")
    problem = f"{quantity(len(predicted), kind)}{' ' * bool(rest)}{rest}"
    problem += f" for the {quantity(len(gold), 'sentence')} of {files[0]}{more}"
    if not all(included):
        limit = f"within the length limit: {sum(included):,}"
        raise SynparseError(f"{name}: {problem} ({limit}); give one for each sentence, or for each of these")
    for i, prediction in zip(range(len(gold)), predicted, strict=False):
        try:
            reduce(i, prediction)
        except SynparseError as error:
            raise SynparseError(f"{error} ({problem})") from None
    if len(predicted) < len(gold):
        missing = gold.sentences[len(predicted)].location
        raise SynparseError(f"{name}: {problem}; the one for {missing} is missing")
    extra, last = predicted[len(gold)], gold.sentences[-1].location
    raise SynparseError(f"{extra.path}:{extra.line}: an extra {noun} after the one for {last} ({problem})")
