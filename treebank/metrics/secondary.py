"""What the papers report beside F1: recall by label, depth, and the right/left ratio."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache

from treebank.tree import Tree

LABELS = ("ADJP", "NP", "VP", "PP", "INTJ", "ADVP", "S", "SBAR")  # those of the papers, in their order
Brackets = Collection[tuple[int, int]]
Constituent = tuple[tuple[int, int], str]


def brackets(spans: Iterable[tuple[int, int]], length: int) -> set[tuple[int, int]]:
    """Each span of two or more words once, the whole sentence always among them."""
    found = {span for span in spans if span[1] - span[0] > 1}
    if length > 1:
        found.add((0, length))
    return found


def constituents(tree: Tree) -> list[Constituent]:
    """Each labelled gold constituent of two or more words once; ``NP-SBJ`` and ``NP=2`` are ``NP``."""
    found = {
        (span, _bare(label)): None for span, label in zip(tree.spans, tree.labels, strict=True) if span[1] - span[0] > 1
    }
    return [constituent for constituent in found if constituent[1]]


@cache
def _bare(label: str) -> str:
    """The label without function tags and indices."""
    return label.partition("-")[0].partition("=")[0]


def recall_by_label(
    gold: Sequence[Sequence[Constituent]], predicted: Sequence[Brackets]
) -> Mapping[str, tuple[int, int]]:
    """Per gold label how many constituents are brackets of the prediction, and how many there are.

    Summed over sentences (Williams et al. 2018; ON-LSTM, Table 2). The labels of the papers come first, then the
    others by frequency.
    """
    total = Counter(label for sentence in gold for _, label in sentence)
    found = Counter(
        label for sentence, spans in zip(gold, predicted, strict=True) for span, label in sentence if span in spans
    )
    order = [label for label in LABELS if label in total]
    order += [label for label, _ in total.most_common() if label not in LABELS]
    return {label: (found[label], total[label]) for label in order}


def mean_depth(predicted: Sequence[Brackets], lengths: Sequence[int]) -> float:
    """Mean number of brackets around a word, averaged over the words of a sentence, then over sentences."""
    depths = [
        sum([end - start for start, end in spans]) / length for spans, length in zip(predicted, lengths, strict=True)
    ]
    return sum(depths) / len(depths)


def right_left(predicted: Sequence[Brackets], sentences: Sequence[Sequence[str]] | None = None) -> float:
    """Number of words that are the first child of a bracket, divided by that of last children (Du et al. 2020).

    A word is a first child exactly if a bracket begins at it: of those that do, the shortest has it as a child. With
    the words of the ``sentences``, those with an apostrophe are left out, as the released script does in effect.
    """
    first = sum(len({start for start, _ in spans}) for spans in predicted)
    last = sum(len({end for _, end in spans}) for spans in predicted)
    for words, spans in zip(sentences or (), predicted, strict=False):
        for i, word in enumerate(words):
            if "'" in word:
                first -= any(start == i for start, _ in spans)
                last -= any(end == i + 1 for _, end in spans)
    return first / last if last else 1.0


def heights(spans: Brackets) -> dict[tuple[int, int], int]:
    """Height of each bracket: one more than its highest child, a word having 1 (Du et al. 2020, algorithm 1)."""
    found: dict[tuple[int, int], int] = {}
    open_brackets: list[tuple[int, int]] = []
    tallest: list[int] = []  # child seen so far, of each open bracket
    for span in [*sorted(spans, key=lambda span: (span[0], -span[1])), None]:
        while open_brackets and (span is None or open_brackets[-1][1] <= span[0]):
            found[open_brackets.pop()] = height = tallest.pop() + 1
            if tallest:
                tallest[-1] = max(tallest[-1], height)
        if span is not None:
            open_brackets.append(span)
            tallest.append(1)
    return found


def by_height(
    predicted: Sequence[Brackets], gold: Sequence[Brackets], lengths: Sequence[int]
) -> dict[int, tuple[int, int]]:
    """Per height in the predicted trees how many brackets are gold ones, and how many there are (Du et al., figure 4).

    The whole sentence does not count.
    """
    total, found = Counter[int](), Counter[int]()
    for ours, truth, length in zip(predicted, gold, lengths, strict=True):
        for span, height in heights(ours).items():
            if span != (0, length):
                total[height] += 1
                found[height] += span in truth
    return {height: (found[height], total[height]) for height in sorted(total)}
