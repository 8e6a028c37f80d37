"""Heads from distances and heights (StructFormer)."""

from __future__ import annotations

from collections.abc import Sequence

from induce.decoding.distances import nary
from treebank.core.dependency import Heads
from treebank.core.distances import numbers
from treebank.core.sentence import ROOT


def heights(pairs: Sequence[Sequence[float]]) -> Heads:
    """The head of each word from ``pairs`` (N, 2): the gap before the word, and its height.

    The highest word of a phrase of `nary` heads the phrase, the first one on ties. The head of a word is that of the
    smallest phrase which it does not head itself; what heads the sentence is the root. It is one tree without crossing
    arcs. Each phrase joins what smaller ones have left: linear but for sorting. NaN raises SynparseError.
    """
    gaps, height = numbers([gap for gap, _ in pairs]), numbers([value for _, value in pairs], "height")
    found = [ROOT] * len(pairs)
    ends, tops = [i + 1 for i in range(len(pairs))], list(range(len(pairs)))  # of what now begins at each word
    for start, end in sorted(nary(gaps), key=lambda span: span[1] - span[0]):
        parts = [start]
        while ends[parts[-1]] < end:
            parts.append(ends[parts[-1]])
        top = max((tops[part] for part in parts), key=height.__getitem__)
        for part in parts:
            if tops[part] != top:
                found[tops[part]] = top
        ends[start], tops[start] = end, top
    return tuple(found)
