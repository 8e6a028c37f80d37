"""Gold sentences as a convention sees them, and predicted trees brought to the same words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from treebank.errors import SynparseError
from treebank.metrics.conventions import TOKENS
from treebank.sentence import Place, Sentence, Treebank
from treebank.tree import TRACE, Tree

Spans = Sequence[tuple[int, int]]
ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


@dataclass(frozen=True, slots=True)
class View:
    """A gold sentence reduced to the tokens that survive; unary brackets are still there."""

    sentence: Sentence
    tree: Tree
    mask: Sequence[bool]  # which leaves of the sentence's own tree survive

    def __len__(self) -> int:
        return len(self.tree.words)

    def reduce(self, predicted: Tree, place: Place) -> Spans:
        """Brackets of ``predicted`` over the surviving tokens, in pre-order.

        ``predicted`` may hold all tokens of the gold tree, all but traces, or only those that survive.
        Raises SynparseError if its words are others.
        """
        if predicted.words == self.tree.words:
            return predicted.spans
        for words, mask in self._readings():
            if len(words) == len(predicted.words):
                if words != predicted.words and _plain(words) != _plain(predicted.words):
                    break
                return predicted.spans if all(mask) else _project(predicted.spans, mask)
        raise SynparseError(self._mismatch(predicted, place))

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

    def _mismatch(self, predicted: Tree, place: Place) -> str:
        """Both places, and the first word that differs from the most similar reading of the gold sentence."""
        found = _plain(predicted.words)
        place_of_gold, count = self.sentence.place, len(found)
        if not found:
            return f"{place}: an empty sentence, but {place_of_gold} has {len(self.sentence.words)} words"
        readings = [_plain(words) for words, _ in self._readings()]
        words = max(readings, key=lambda words: (_agreeing(words, found), -abs(len(words) - count)))
        i = _agreeing(words, found)
        ours = repr(found[i]) if i < count else f"the end after {count} words"
        gold = repr(words[i]) if i < len(words) else f"the end after {len(words)} words"
        return f"{place}: the words differ from {place_of_gold}: word {i + 1} is {ours}, in gold {gold}"


def view_treebank(treebank: Treebank, tokens: str) -> list[View]:
    """Every sentence, reduced to the surviving ``tokens``. Raises SynparseError if one has no tree."""
    survive = TOKENS[tokens]
    views = []
    for sentence in treebank.sentences:
        if sentence.tree is None:
            raise SynparseError(f"{sentence.place}: this sentence has no tree to score against")
        mask = survive(sentence.tree)
        views.append(View(sentence, sentence.tree.keep(mask), mask))
    return views


def _project(spans: Spans, mask: Sequence[bool]) -> Spans:
    """The brackets over the words whose mask is true; those left without words vanish."""
    before = list(accumulate(mask, initial=0))
    moved = [(before[start], before[end]) for start, end in spans]
    return [span for span in moved if span[0] < span[1]]


def _plain(words: Sequence[str]) -> list[str]:
    """The words with ``-LRB-`` and its kin written as brackets, slashes and stars without backslash."""
    return [_unescape(word) if "-" in word or "\\" in word else word for word in words]


def _unescape(word: str) -> str:
    for escaped, plain in ESCAPED.items():
        word = word.replace(escaped, plain)
    return word.replace("\\/", "/").replace("\\*", "*")


def _agreeing(first: Sequence[str], second: Sequence[str]) -> int:
    """How many words from the beginning on are the same."""
    same = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        same += 1
    return same
