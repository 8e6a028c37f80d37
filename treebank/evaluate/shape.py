"""Secondary measures of trees: recall by label, depth, the right/left ratio, and precision by height."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from treebank.core.tree import Span
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

    @classmethod
    def of(cls, shapes: Sequence[SentenceShape]) -> Shape:
        """The averages over sentences."""
        _, _, depths, first, last, first_without, last_without = zip(*shapes, strict=True)
        return cls(fmean(depths), _ratio(first, last), _ratio(first_without, last_without))


def _ratio(first: Iterable[int], last: Iterable[int]) -> float:
    divisor = sum(last)
    return sum(first) / divisor if divisor else 1.0


def recall_by_label(gold: Sequence[Constituents], phrases: Iterable[Collection[Span]]) -> dict[str, tuple[float, int]]:
    """For each gold label, the number of constituents among the predicted phrases, and their total.

    (Williams et al. 2018; ON-LSTM, table 2.)
    """
    pairs = zip(gold, phrases, strict=True)
    hits = Counter(label for constituents, predicted in pairs for span, label in constituents if span in predicted)
    return {label: (hits[label], number) for label, number in _totals(gold).items()}


def expected_recall(gold: Sequence[Constituents], chances: Iterable[Sequence[float]]) -> dict[str, tuple[float, int]]:
    """For each gold label, the expected number of predicted constituents, and their total.

    ``chances`` has the probability of each gold constituent.
    """
    hits = dict[str, float]()
    for constituents, probabilities in zip(gold, chances, strict=True):
        for (_, label), probability in zip(constituents, probabilities, strict=True):
            hits[label] = hits.get(label, 0.0) + probability
    return {label: (hits[label], number) for label, number in _totals(gold).items()}


def _totals(gold: Iterable[Constituents]) -> dict[str, int]:
    return label_order(Counter(label for constituents in gold for _, label in constituents))


def label_order(totals: Counter[str]) -> dict[str, int]:
    """The labels that papers report first, then the others by frequency."""
    return {label: totals[label] for label in LABELS if label in totals} | dict(totals.most_common())


def precision_by_height(
    predicted: Iterable[tuple[Collection[Span], int]], gold: Iterable[Collection[Span]]
) -> dict[int, tuple[int, int]]:
    """For each height, the number of predicted phrases that are gold phrases, and their total (Du et al., figure 4).

    ``predicted`` has the phrases and the length of each sentence. The full sentence is left out.
    """
    hits, totals = Counter[int](), Counter[int]()
    for (phrases, length), reference in zip(predicted, gold, strict=True):
        for span, height in heights(phrases).items():
            if span != (0, length):
                totals[height] += 1
                hits[height] += span in reference
    return {height: (hits[height], totals[height]) for height in sorted(totals)}


def heights(spans: Collection[Span]) -> dict[Span, int]:
    """Height of each bracket: one more than its highest child, where words have height 1 (Du et al., algorithm 1)."""
    height = dict.fromkeys(spans, 2)
    open_brackets: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
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
