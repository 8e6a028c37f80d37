"""What the papers report beside F1: recall by label, depth, and the right/left ratio."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from treebank.tagset import bare_label
from treebank.tree import Tree

LABELS = ("ADJP", "NP", "VP", "PP", "INTJ", "ADVP", "S", "SBAR")  # those of the papers, in their order
Brackets = Collection[tuple[int, int]]
Constituent = tuple[tuple[int, int], str]


class Shape(NamedTuple):
    """What is said of one predicted tree beside its score."""

    brackets: set[tuple[int, int]]  # each span of two or more words once, the whole sentence always among them
    depth: float  # mean number of brackets around a word
    first: int  # words that are the first child of a bracket
    last: int
    first_no_apostrophe: int  # of those without an apostrophe
    last_no_apostrophe: int
    heights: Sequence[tuple[int, bool]]  # of each bracket but the whole sentence: height, and whether gold has it


def shape(
    spans: Iterable[tuple[int, int]], words: Sequence[str], gold: Collection[tuple[int, int]] | None = None
) -> Shape:
    """The shape of the tree with brackets ``spans``; heights only with the ``gold`` brackets.

    A word is a first child exactly if a bracket begins at it: of those that do, the shortest has it as a child.
    """
    length = len(words)
    found = brackets(spans, length)
    starts, ends = zip(*found, strict=True) if found else ((), ())
    first, last = set(starts), set(ends)
    marked = [i for i, word in enumerate(words) if "'" in word] if "'" in "".join(words) else []
    return Shape(
        found,
        (sum(ends) - sum(starts)) / length if length else 0.0,
        len(first),
        len(last),
        len(first.difference(marked)),
        len(last.difference([i + 1 for i in marked])),
        ()
        if gold is None
        else [(height, span in gold) for span, height in heights(found).items() if span != (0, length)],
    )


def brackets(spans: Iterable[tuple[int, int]], length: int) -> set[tuple[int, int]]:
    """Each span of two or more words once, the whole sentence always among them."""
    found = {span for span in spans if span[1] - span[0] > 1}
    if length > 1:
        found.add((0, length))
    return found


def constituents(tree: Tree) -> list[Constituent]:
    """Each labelled gold constituent of two or more words once; ``NP-SBJ`` and ``NP=2`` are ``NP``."""
    labelled = zip(tree.spans, map(bare_label, tree.labels), strict=True)
    return list(dict.fromkeys([one for one in labelled if one[0][1] - one[0][0] > 1 and one[1]]))


def recall_by_label(gold: Sequence[Sequence[Constituent]], predicted: Sequence[Shape]) -> Mapping[str, tuple[int, int]]:
    """Per gold label how many constituents are brackets of the prediction, and how many there are.

    Summed over sentences (Williams et al. 2018; ON-LSTM, Table 2). In the order of `totals_by_label`.
    """
    found = Counter(
        chain.from_iterable(
            [label for span, label in sentence if span in tree.brackets]
            for sentence, tree in zip(gold, predicted, strict=True)
        )
    )
    return {label: (found[label], total) for label, total in totals_by_label(gold).items()}


def totals_by_label(gold: Sequence[Sequence[Constituent]]) -> Mapping[str, int]:
    """Number of constituents with each label; the labels of the papers first, then the others by frequency."""
    total = Counter(chain.from_iterable([label for _, label in sentence] for sentence in gold))
    order = [label for label in LABELS if label in total]
    order += [label for label, _ in total.most_common() if label not in LABELS]
    return {label: total[label] for label in order}


def mean_depth(predicted: Sequence[Shape]) -> float:
    """Mean number of brackets around a word, averaged over the words of a sentence, then over sentences."""
    return sum(tree.depth for tree in predicted) / len(predicted)


def right_left(predicted: Sequence[Shape]) -> float:
    """Number of words that are the first child of a bracket, divided by that of last children (Du et al. 2020)."""
    last = sum(tree.last for tree in predicted)
    return sum(tree.first for tree in predicted) / last if last else 1.0


def right_left_no_apostrophe(predicted: Sequence[Shape]) -> float:
    """The same without words that hold an apostrophe, which the released script leaves out in effect."""
    last = sum(tree.last_no_apostrophe for tree in predicted)
    return sum(tree.first_no_apostrophe for tree in predicted) / last if last else 1.0


def heights(spans: Brackets) -> dict[tuple[int, int], int]:
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


def by_height(predicted: Sequence[Shape]) -> dict[int, tuple[int, int]]:
    """Per height in the predicted trees how many brackets are gold ones, and how many there are (Du et al., figure 4).

    The whole sentence does not count.
    """
    total, found = Counter[int](), Counter[int]()
    for tree in predicted:
        for height, right in tree.heights:
            total[height] += 1
            found[height] += right
    return {height: (found[height], total[height]) for height in sorted(total)}
