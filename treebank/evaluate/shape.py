"""What the papers report beside F1: recall by label, depth, and the right/left ratio."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np

from treebank.evaluate.flat import Brackets, Constituents, by_sentence, found_in, totals_of

LABELS = ("ADJP", "NP", "VP", "PP", "INTJ", "ADVP", "S", "SBAR")  # those of the papers, in their order


@dataclass(frozen=True, slots=True)
class Shapes:
    """What is said of the predicted trees of S sentences beside their scores."""

    phrases: np.ndarray  # sorted keys of the brackets over two words or more, the whole sentence always among them
    depth: np.ndarray  # (S,) mean number of brackets around a word
    first: np.ndarray  # (S,) words that are the first child of a bracket
    last: np.ndarray
    first_no_apostrophe: np.ndarray  # of those without an apostrophe
    last_no_apostrophe: np.ndarray
    heights: Heights | None = None  # only where they are asked for, since they are slow

    @classmethod
    def of(cls, brackets: Brackets, marked: np.ndarray, gold: Brackets | None = None) -> Shapes:
        """The shapes of the trees with these ``brackets``; heights only with those of ``gold``.

        ``marked`` says of each word of all sentences whether it holds an apostrophe.
        A word is a first child exactly if a bracket begins at it: of those that do, the shortest has it as a child.
        """
        phrases, lengths = brackets.phrases(), brackets.lengths
        found = Brackets.of_keys(phrases, lengths)
        place = np.concatenate([[0], np.cumsum(lengths)])  # of each sentence's first word among all
        covered = by_sentence(phrases, lengths, found.size.astype(float))
        counts = []
        for children in (place[found.sentence] + found.start, place[found.sentence] + found.end - 1):
            is_child = np.zeros(place[-1], bool)
            is_child[children] = True
            for mask in (is_child, is_child & ~marked):
                counts.append(np.diff(np.concatenate([[0], np.cumsum(mask)])[place]))
        first, first_no_apostrophe, last, last_no_apostrophe = counts
        depth = covered / np.maximum(lengths, 1)
        heights = None if gold is None else Heights.of(found, gold)
        return cls(phrases, depth, first, last, first_no_apostrophe, last_no_apostrophe, heights)

    def mean_depth(self, places: np.ndarray) -> float:
        """Mean number of brackets around a word, averaged over the words of a sentence, then over these sentences."""
        return float(self.depth[places].mean())

    def right_left(self, places: np.ndarray) -> float:
        """Words that are the first child of a bracket, divided by those that are the last one (Du et al. 2020)."""
        return _ratio(self.first[places], self.last[places])

    def right_left_no_apostrophe(self, places: np.ndarray) -> float:
        """The same without words that hold an apostrophe, which the released script leaves out in effect."""
        return _ratio(self.first_no_apostrophe[places], self.last_no_apostrophe[places])


def _ratio(first: np.ndarray, last: np.ndarray) -> float:
    return float(first.sum() / last.sum()) if last.any() else 1.0


@dataclass(frozen=True, slots=True)
class Heights:
    """Of each predicted bracket but the whole sentence: where it is, its height, and whether gold has it."""

    sentence: np.ndarray
    height: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, found: Brackets, gold: Brackets) -> Heights:
        """Of brackets that are there once each, in the order of their keys."""
        sizes = np.bincount(found.sentence, minlength=len(found.lengths)).tolist()
        spans = list(zip(found.start.tolist(), found.end.tolist(), strict=True))
        bounds = list(accumulate(sizes, initial=0))
        each = (heights(spans[one : one + size]).values() for one, size in zip(bounds, sizes, strict=False))
        height = np.fromiter(chain.from_iterable(each), np.int64, len(spans))
        right, inner = found_in(found.keys, gold.phrases()), ~found.whole
        return cls(found.sentence[inner], height[inner], right[inner])

    def precision(self, included: np.ndarray) -> dict[int, tuple[int, int]]:
        """Per height how many brackets are gold ones, and how many there are (Du et al., figure 4).

        Of the sentences that are ``included`` (S,).
        """
        here = included[self.sentence]
        total, found = np.bincount(self.height[here]), np.bincount(self.height[here & self.right])
        return {int(k): (int(found[k]) if k < len(found) else 0, int(total[k])) for k in np.flatnonzero(total)}


def heights(spans: Collection[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Height of each bracket: one more than its highest child, a word having 1 (Du et al. 2020, algorithm 1)."""
    found = dict.fromkeys(spans, 2)
    open_brackets: list[tuple[int, int]] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_brackets and open_brackets[-1][1] <= span[0]:
            _close(open_brackets, found)
        open_brackets.append(span)
    while open_brackets:
        _close(open_brackets, found)
    return found


def _close(open_brackets: list[tuple[int, int]], height: dict[tuple[int, int], int]) -> None:
    """The last open bracket is done: its parent is at least one higher."""
    child = open_brackets.pop()
    if open_brackets:
        height[open_brackets[-1]] = max(height[open_brackets[-1]], height[child] + 1)


def papers_first(totals: Mapping[str, int]) -> dict[str, int]:
    """The labels of the papers first, then the others as they are."""
    order = [label for label in LABELS if label in totals]
    order += [label for label in totals if label not in LABELS]
    return {label: totals[label] for label in order}


def recall_by_label(gold: Constituents, chances: np.ndarray) -> dict[str, tuple[float, int]]:
    """Per gold label how many constituents are brackets of the prediction, and how many there are.

    ``chances`` (K,) says of each constituent whether it is one, or with what probability. Summed over sentences
    (Williams et al. 2018; ON-LSTM, Table 2). In the order of `papers_first`.
    """
    found = np.bincount(gold.label, chances, minlength=len(gold.names))
    sums: Iterable[float] = found.tolist() if chances.dtype == float else found.astype(int).tolist()
    by_name = dict(zip(gold.names, sums, strict=True))
    return {label: (by_name[label], total) for label, total in papers_first(totals_of(gold.label, gold.names)).items()}
