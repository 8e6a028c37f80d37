"""Heads from distances and heights (StructFormer)."""

from __future__ import annotations

from collections.abc import Sequence

from induce.decoding.distances import nary
from treebank.core.dependency import Heads
from treebank.core.distances import numbers
from treebank.core.sentence import ROOT


def heights(pairs: Sequence[Sequence[float]]) -> Heads:
    """Heads of the words from ``pairs`` (N, 2) of the gap before each word and its height.

    The head of a phrase of `nary` is its highest word, on ties the first. The head of a word is the head of the
    smallest phrase that contains the word and is not headed by it; the head of the sentence is the root. The result is
    one tree without crossing arcs. Phrases are joined from small to large, in linear time except for sorting. Raises
    SynparseError if a number is NaN.
    """
    gaps, height = numbers([gap for gap, _ in pairs]), numbers([value for _, value in pairs], "height")
    heads = [ROOT] * len(pairs)
    # of the largest phrase so far that begins at each word
    ends, tops = list(range(1, len(pairs) + 1)), list(range(len(pairs)))
    for start, end in sorted(nary(gaps), key=lambda span: span[1] - span[0]):
        parts = [start]
        while ends[parts[-1]] < end:
            parts.append(ends[parts[-1]])
        top = max((tops[part] for part in parts), key=height.__getitem__)
        for part in parts:
            if tops[part] != top:
                heads[tops[part]] = top
        ends[start], tops[start] = end, top
    return tuple(heads)
