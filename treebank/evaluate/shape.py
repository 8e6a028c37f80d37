"""Secondary measures of trees: recall by label, depth, the right/left ratio, and precision by height."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Sequence
from operator import add
from statistics import fmean
from typing import NamedTuple

from treebank.core.tree import Span, pre_order
from treebank.evaluate.align import Bracketing

LABELS = ("ADJP", "NP", "VP", "PP", "INTJ", "ADVP", "S", "SBAR")  # the labels that papers report, in their order
Constituents = Sequence[tuple[Span, str]]  # labeled spans of two or more words


class SentenceShape(NamedTuple):
    """Shape of one predicted tree over ``length`` words.

    ``phrases`` are the different spans of two or more words, always including the full sentence. ``depth`` is the mean
    number of them around a word. ``first`` and ``last`` count the words that are the first and last child of a phrase;
    the ``…_without`` counts leave out words with an apostrophe, as the released script of Du et al. (2020) does in
    effect.
    """

    length: int
    phrases: set[Span]
    depth: float
    first: int
    last: int
    first_without: int
    last_without: int


def sentence_shape(brackets: Bracketing, apostrophes: Collection[int] = ()) -> SentenceShape:
    """The shape of a tree, where ``apostrophes`` are the indices of the words with an apostrophe.

    A word is a first child exactly if a phrase begins with it: the shortest such phrase has it as a child.
    """
    length = brackets.length
    phrases = {span for span in brackets.spans if span[1] - span[0] > 1}
    if length > 1:
        phrases.add((0, length))
    if not phrases:
        return SentenceShape(length, phrases, 0.0, 0, 0, 0, 0)
    starts, ends = zip(*phrases, strict=True)
    depth = (sum(ends) - sum(starts)) / length
    first, last = set(starts), set(ends)
    without = len(first), len(last)
    if apostrophes:
        without = len(first.difference(apostrophes)), sum(end - 1 not in apostrophes for end in last)
    return SentenceShape(length, phrases, depth, len(first), len(last), *without)


class Shape(NamedTuple):
    """Mean depth and right/left ratios of the trees of a system (Du et al. 2020).

    The depth of a sentence is the mean number of brackets around its words. The right/left ratio is the number of words
    that are first children, divided by the number of last children; above 1 means right-branching.
    """

    depth: float
    right_left: float
    right_left_no_apostrophe: float


class ShapeSums:
    """Sums of the shapes of sentences, which are added one by one."""

    def __init__(self) -> None:
        self._depths = array("d")
        self._ends: Sequence[int] = (0, 0, 0, 0)  # numbers of first and last children, with all words and without some

    def add(self, shape: SentenceShape) -> None:
        """Add one sentence."""
        self._depths.append(shape.depth)
        self._ends = list(map(add, self._ends, shape[3:]))

    def shape(self) -> Shape:
        """The averages over sentences."""
        first, last, first_without, last_without = self._ends
        return Shape(fmean(self._depths), _ratio(first, last), _ratio(first_without, last_without))


def _ratio(first: int, last: int) -> float:
    return first / last if last else 1.0


def label_order(totals: Counter[str]) -> dict[str, int]:
    """The labels that papers report first, then the others by frequency."""
    return {label: totals[label] for label in LABELS if label in totals} | dict(totals.most_common())


def compared_heights(phrases: Collection[Span], length: int, gold: Collection[Span]) -> tuple[list[int], list[int]]:
    """The heights of the predicted phrases of a sentence, without the full sentence, and of those in ``gold``."""
    height = heights(phrases)
    height.pop((0, length), None)
    return list(height.values()), [each for span, each in height.items() if span in gold]


def heights(spans: Collection[Span]) -> dict[Span, int]:
    """Height of each bracket: one more than its highest child, where words have height 1 (Du et al., algorithm 1)."""
    height = dict.fromkeys(spans, 2)
    open_brackets: list[Span] = []
    for span in sorted(spans, key=pre_order):
        while open_brackets and open_brackets[-1][1] <= span[0]:
            _close(open_brackets, height)
        open_brackets.append(span)
    while open_brackets:
        _close(open_brackets, height)
    return height


def _close(open_brackets: list[Span], height: dict[Span, int]) -> None:
    """Remove the last open bracket and raise its parent above it."""
    child = open_brackets.pop()
    if open_brackets:
        height[open_brackets[-1]] = max(height[open_brackets[-1]], height[child] + 1)
