"""Gold sentences as a convention sees them, and predicted trees and heads brought to the same words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple, Protocol

from treebank.base.errors import SynparseError
from treebank.core.dependency import Heads, delete
from treebank.core.sentence import ROOT, Sentence, Treebank
from treebank.core.tags import word_mask
from treebank.core.tree import TRACE, Tree
from treebank.evaluate.conventions import AttachmentConvention
from treebank.io.predictions import PredictedTree

Spans = Sequence[tuple[int, int]]
TOPS = frozenset({"TOP", "ROOT", "S1"})  # outer brackets that some treebanks put where the Penn Treebank has none
ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


class Reading(NamedTuple):
    """The brackets of a predicted tree over its own words, and which of these survive."""

    spans: Spans = ()  # in pre-order
    labels: Sequence[str] = ()  # of each; none where the prediction has none
    mask: Sequence[bool] = ()

    @classmethod
    def over_survivors(cls, spans: Spans, count: int) -> Reading:
        """Brackets over so many words, which all survive."""
        return cls(spans, (), (True,) * count)


@dataclass(frozen=True)
class View:
    """A gold sentence, and which leaves of its tree survive."""

    sentence: Sentence
    gold: Tree  # that of the sentence
    mask: Sequence[bool]

    def __len__(self) -> int:
        return sum(self.mask)

    @cached_property
    def tree(self) -> Tree:
        """The gold tree over the tokens that survive; unary brackets are still there."""
        return without_top(self.gold.keep(self.mask))

    @property
    def seen(self) -> int:
        """The number of tokens that are no traces."""
        return len(self.sentence.words)

    def reduce(self, predicted: PredictedTree) -> Reading:
        """Brackets of ``predicted`` and the words of it that survive.

        ``predicted`` may hold all tokens of the gold tree, all but traces, or only those that survive.
        Raises SynparseError if its words are others.
        """
        read = list[Tree]()
        if predicted.spans is not None:  # from JSON, and without words
            lengths = [len(words) for words, _ in self._readings()]
            fits = predicted.length if predicted.length in lengths else len(self.sentence.words)
            words, mask = self._readings()[lengths.index(fits)]
            return Reading(predicted.over(words).spans, (), mask)
        for tree in _trees(predicted):
            survive = self._mask_of(tree)
            if survive is not None:
                inner = without_top(tree)
                return Reading(inner.spans, inner.labels if tree is predicted.labelled else (), survive)
            read.append(tree)
        raise SynparseError(self._mismatch(read, f"{predicted.path}:{predicted.line}"))

    def _mask_of(self, tree: Tree) -> Sequence[bool] | None:
        """Which words of ``tree`` survive; None if its words are not the gold sentence's, in none of their readings.

        Readings of the same number of words are the same, since each leaves out words of the one before.
        """
        if tree.words == self.gold.words:
            return self.mask
        for words, mask in self._readings():
            if len(words) == len(tree.words):
                return mask if words == tree.words or plain(words) == plain(tree.words) else None
        return None

    def _readings(self) -> list[tuple[tuple[str, ...], list[bool]]]:
        """The words that a prediction may hold, the fewest first, each list with a mask of the surviving ones."""
        words, seen = self.gold.words, [tag != TRACE for tag in self.gold.tags]
        return [
            (tuple(compress(words, self.mask)), [True] * len(self)),
            (tuple(compress(words, seen)), list(compress(self.mask, seen))),
            (words, list(self.mask)),
        ]

    def _mismatch(self, read: Sequence[Tree], place: str) -> str:
        """Both places, and the first word that differs, in the most similar readings of both sentences."""
        here = self.sentence.place
        pairs = [(plain(tree.words), plain(words)) for tree in read for words, _ in self._readings()]
        found, gold = max(pairs, key=lambda pair: (agreeing(*pair), -abs(len(pair[0]) - len(pair[1]))))
        if not found:
            return f"{place}: an empty sentence, but {here} has {len(self.sentence.words)} words"
        i = agreeing(found, gold)
        ours, theirs = (repr(words[i]) if i < len(words) else f"the end after {i} words" for words in (found, gold))
        return f"{place}: the words differ from {here}: word {i + 1} is {ours}, in gold {theirs}"


def view_treebank(treebank: Treebank, tokens: str) -> list[View]:
    """Every sentence, reduced to the surviving ``tokens``. Raises SynparseError if one has no tree."""
    views = []
    for sentence in treebank.sentences:
        if sentence.tree is None:
            raise SynparseError(f"{sentence.place}: this sentence has no tree to score against")
        views.append(View(sentence, sentence.tree, word_mask(tokens, sentence.tree.words, sentence.tree.tags)))
    return views


def without_top(tree: Tree) -> Tree:
    """``tree`` without an outer bracket ``TOP``, which EVALB ignores, nor ``ROOT`` or ``S1`` over a single child."""
    if len(tree.spans) < 2:
        return tree
    if tree.labels[0] not in TOPS or (tree.labels[0] != "TOP" and tree.spans[0] != tree.spans[1]):
        return tree
    return Tree(tree.words, tree.tags, tree.spans[1:], tree.labels[1:])


def _trees(predicted: PredictedTree) -> Iterator[Tree]:
    """The ways to read a prediction: ``(a (b c))`` is one word with two labels, or three words."""
    if predicted.labelled is not None:
        yield predicted.labelled
    with suppress(ValueError):
        yield predicted.bare


def plain(words: Sequence[str]) -> list[str]:
    """The words with ``-LRB-`` and its kin written as brackets, slashes and stars without backslash."""
    return [_unescape(word) if "-" in word or "\\" in word else word for word in words]


def _unescape(word: str) -> str:
    for escaped, plain in ESCAPED.items():
        word = word.replace(escaped, plain)
    return word.replace("\\/", "/").replace("\\*", "*")


def agreeing(first: Sequence[str], second: Sequence[str]) -> int:
    """How many words from the beginning on are the same."""
    same = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        same += 1
    return same


class PredictedHeads(Protocol):
    """One predicted sentence and where it was read."""

    @property
    def path(self) -> str: ...

    @property
    def line(self) -> int: ...

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def heads(self) -> Sequence[int]: ...


@dataclass(frozen=True, slots=True)
class GivenHeads:
    """Heads that did not come from a file."""

    path: str
    line: int
    words: tuple[str, ...]
    heads: Heads


@dataclass(frozen=True, slots=True)
class HeadView:
    """A gold sentence as a convention sees it: the words that are left, their heads, and which of them count."""

    sentence: Sentence
    mask: Sequence[bool]  # which words of the sentence count
    heads: Heads  # of the words that are left
    counted: Sequence[int]  # places among the words that are left

    @classmethod
    def of(cls, sentence: Sentence, heads: Sequence[int], convention: AttachmentConvention) -> HeadView:
        """The view of a sentence with gold ``heads`` over all its words. Raises SynparseError if tags are missing."""
        mask = word_mask(convention.tokens, sentence.words, sentence.tags, sentence.universal_tags)
        if len(mask) != len(sentence.words):
            raise SynparseError(f"{sentence.place}: this sentence has no tags to tell which words count")
        if convention.others == "deleted":
            left = delete(heads, mask)
            return cls(sentence, mask, left, range(len(left)))
        rooted = tuple(ROOT if head == i else head for i, head in enumerate(heads))
        return cls(sentence, mask, rooted, [i for i, counts in enumerate(mask) if counts])

    def __len__(self) -> int:
        return len(self.counted)

    def reduce(self, predicted: PredictedHeads) -> Heads:
        """The predicted heads of the words that are left.

        ``predicted`` may hold all words of the gold sentence, or only those that count.
        Raises SynparseError if its words are others.
        """
        heads, gold = predicted.heads, self.sentence.words
        if len(heads) != len(predicted.words) or not all(ROOT <= head < len(heads) for head in heads):
            raise SynparseError(f"{predicted.path}:{predicted.line}: a head that is no word of the sentence")
        places = [i for i, counts in enumerate(self.mask) if counts]
        if _same(predicted.words, gold):
            return tuple(heads) if len(self.heads) == len(gold) else delete(heads, self.mask)
        if not _same(predicted.words, [gold[i] for i in places]):
            raise SynparseError(self._mismatch(predicted, [gold[i] for i in places]))
        if len(self.heads) == len(heads):
            return tuple(heads)
        spread = [ROOT] * len(gold)
        for place, head in zip(places, heads, strict=True):
            spread[place] = ROOT if head == ROOT else places[head]
        return tuple(spread)

    def _mismatch(self, predicted: PredictedHeads, counted: Sequence[str]) -> str:
        """Both places, and the first word that differs."""
        here, found = self.sentence.place, plain(predicted.words)
        gold = max(plain(self.sentence.words), plain(counted), key=lambda words: agreeing(found, words))
        i = agreeing(found, gold)
        ours, theirs = (repr(words[i]) if i < len(words) else f"the end after {i} words" for words in (found, gold))
        place = f"{predicted.path}:{predicted.line}"
        return f"{place}: the words differ from {here}: word {i + 1} is {ours}, in gold {theirs}"


def _same(words: Sequence[str], gold: Sequence[str]) -> bool:
    """Whether they are the same words, ``-LRB-`` for ``(`` and the like allowed."""
    return len(words) == len(gold) and (tuple(words) == tuple(gold) or plain(words) == plain(gold))


class GoldView(Protocol):
    """A gold sentence as a convention sees it."""

    @property
    def sentence(self) -> Sentence: ...

    def reduce(self, predicted: Any, /) -> Any:
        """What is left of a prediction. Raises SynparseError if it is of another sentence."""


def align(
    name: str,
    predicted: Sequence[Any],
    views: Sequence[GoldView],
    wanted: Sequence[bool],
    *,
    thing: str,
    none: Any = (),
) -> list[Any]:
    """What is left of each prediction under its view: brackets or heads; ``none`` for a view without a prediction.

    There is one prediction for each view, or one for each view that is ``wanted``. ``thing``, a word such as "tree", is
    what they are in errors. Raises SynparseError if there are more or fewer, or if one is of another sentence.
    """
    chosen = range(len(views)) if len(predicted) == len(views) else [i for i, one in enumerate(wanted) if one]
    if len(predicted) != len(chosen):
        raise SynparseError(_miscount(name, predicted, views, wanted, thing))
    reduced: list[Any] = [none] * len(views)
    for i, one in zip(chosen, predicted, strict=True):
        reduced[i] = views[i].reduce(one)
    return reduced


def _miscount(
    name: str, predicted: Sequence[Any], views: Sequence[GoldView], wanted: Sequence[bool], thing: str
) -> str:
    """What is wrong with the number of predictions: where the words part, else which one is missing or too many."""
    gold = views[0].sentence.place.path if views else "gold"
    counts = f"{_count(len(predicted), thing)} for the {_count(len(views), 'sentence')} of {gold}"
    if not all(wanted):
        return f"{name}: {counts}, of which {sum(wanted):,} are scored; give one for each or each scored"
    for view, one in zip(views, predicted, strict=False):
        try:
            view.reduce(one)
        except SynparseError as error:
            return f"{error} ({counts})"
    if len(predicted) < len(views):
        return f"{name}: {counts}; the one for {views[len(predicted)].sentence.place} is missing"
    extra, last = predicted[len(views)], views[-1].sentence.place
    return f"{extra.path}:{extra.line}: a {thing} too many after that for {last} ({counts})"


def _count(number: int, thing: str) -> str:
    first, *others = thing.split(" ")
    return " ".join([f"{number:,} {first}{'s' * (number != 1)}", *others])
