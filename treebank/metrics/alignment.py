"""Gold sentences as a convention sees them, and predicted trees brought to the same words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate

from treebank.errors import SynparseError
from treebank.formats.predictions import PredictedTree
from treebank.metrics.conventions import TOKENS
from treebank.sentence import Sentence, Treebank
from treebank.tree import TRACE, Tree

Spans = Sequence[tuple[int, int]]
TOPS = frozenset({"ROOT", "S1"})  # outer brackets that some treebanks put where the Penn Treebank has none, like TOP
ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


@dataclass(frozen=True, slots=True)
class View:
    """A gold sentence reduced to the tokens that survive; unary brackets are still there."""

    sentence: Sentence
    tree: Tree
    mask: Sequence[bool]  # which leaves of the sentence's own tree survive

    def __len__(self) -> int:
        return len(self.tree.words)

    @property
    def seen(self) -> int:
        """The number of tokens that are no traces."""
        return len(self.sentence.words)

    def reduce(self, predicted: PredictedTree) -> Spans:
        """Brackets of ``predicted`` over the surviving tokens, in pre-order.

        ``predicted`` may hold all tokens of the gold tree, all but traces, or only those that survive.
        Raises SynparseError if its words are others.
        """
        read = list[Tree]()
        if predicted.spans is not None:  # from JSON, and without words
            lengths = [len(words) for words, _ in self._readings()]
            fits = predicted.length if predicted.length in lengths else len(self.sentence.words)
            words, mask = self._readings()[lengths.index(fits)]
            return _project(predicted.over(words).spans, mask)
        for tree in _trees(predicted):
            spans = self._spans(tree)
            if spans is not None:
                return spans
            read.append(tree)
        raise SynparseError(self._mismatch(read, f"{predicted.path}:{predicted.line}"))

    def _spans(self, tree: Tree) -> Spans | None:
        """Brackets of ``tree`` over the surviving tokens; None if its words are not the gold sentence's."""
        if tree.words == self.tree.words:
            return without_top(tree).spans
        for words, mask in self._readings():
            if len(words) == len(tree.words):
                if words != tree.words and plain(words) != plain(tree.words):
                    return None
                spans = without_top(tree).spans
                return spans if all(mask) else _project(spans, mask)
        return None

    def _readings(self) -> list[tuple[tuple[str, ...], list[bool]]]:
        """The words that a prediction may hold, the fewest first, each list with a mask of the surviving ones."""
        gold = self.sentence.tree or self.tree
        seen = [tag != TRACE for tag in gold.tags]
        return [
            (self.tree.words, [True] * len(self)),
            (
                tuple(word for word, kept in zip(gold.words, seen, strict=True) if kept),
                [survives for survives, kept in zip(self.mask, seen, strict=True) if kept],
            ),
            (gold.words, list(self.mask)),
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
    survive = TOKENS[tokens]
    views = []
    for sentence in treebank.sentences:
        if sentence.tree is None:
            raise SynparseError(f"{sentence.place}: this sentence has no tree to score against")
        mask = survive(sentence.tree)
        views.append(View(sentence, without_top(sentence.tree.keep(mask)), mask))
    return views


def without_top(tree: Tree) -> Tree:
    """``tree`` without an outer bracket ``TOP``, which EVALB ignores, nor ``ROOT`` or ``S1`` over a single child."""
    if len(tree.spans) < 2:
        return tree
    if tree.labels[0] != "TOP" and (tree.labels[0] not in TOPS or tree.spans[0] != tree.spans[1]):
        return tree
    return Tree(tree.words, tree.tags, tree.spans[1:], tree.labels[1:])


def _trees(predicted: PredictedTree) -> Iterator[Tree]:
    """The ways to read a prediction: ``(a (b c))`` is one word with two labels, or three words."""
    if predicted.labelled is not None:
        yield predicted.labelled
    with suppress(ValueError):
        yield predicted.bare


def _project(spans: Spans, mask: Sequence[bool]) -> Spans:
    """The brackets over the words whose mask is true; those left without words vanish."""
    before = list(accumulate(mask, initial=0))
    moved = [(before[start], before[end]) for start, end in spans]
    return [span for span in moved if span[0] < span[1]]


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
