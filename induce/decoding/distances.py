"""Syntactic distances to brackets: linear time, no recursion, the first maximum wins on ties.

``distances`` has one entry per word, entry i being the gap *before* word i. The result holds every bracket of two or
more words, the whole sentence included, each once and in no particular order. NaN raises SynparseError; infinities
are fine.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from treebank.distances import nearest_larger, numbers, spans_from_distances

EVEN = 0.5  # the probability of an end from which on there is one


def unbiased(distances: Sequence[float]) -> list[tuple[int, int]]:
    """Brackets of the tree that splits at the widest gap first (Du et al. 2020, Algorithm 2); entry 0 is ignored.

    >>> unbiased([9.0, 1.0, 3.0, 2.0])
    [(0, 2), (0, 4), (2, 4)]
    """
    return spans_from_distances(distances)


def biased(distances: Sequence[float]) -> list[tuple[int, int]]:
    """Brackets by the published rule of PRPN and ON-LSTM (PRPN appendix A; Du et al. 2020, Algorithm 3).

    In a segment, word k with the largest entry (the segment's first word included) is joined to the tree of all that
    follows it; what precedes it is the left part. So every word k heads one segment, the one in which its entry is
    the first maximum, and gives the brackets of that segment and of its right part, which begins at k.

    >>> sorted(biased([0.0, 3.0, 1.0, 2.0]))
    [(0, 4), (1, 4), (2, 4)]
    """
    spans = []
    before, after = nearest_larger(numbers(distances))
    for k, (left, end) in enumerate(zip(before, after, strict=True)):
        start = left + 1
        if start < k:
            spans.append((start, end))
        if k + 1 < end:
            spans.append((k, end))
    return spans


def nary(distances: Sequence[float]) -> list[tuple[int, int]]:
    """Brackets of the tree that splits at all widest gaps at once, flat on ties (StructFormer); entry 0 is ignored.

    >>> nary([9.0, 1.0, 3.0, 3.0])
    [(0, 2), (0, 4)]
    """
    gaps = numbers(distances)[1:]
    before, after = nearest_larger(gaps)
    return [
        (left + 1, right + 1)
        for gap, left, right in zip(gaps, before, after, strict=True)
        if left < 0 or gaps[left] > gap  # an equal gap to the left has given this bracket already
    ]


def segments(distances: Sequence[float]) -> list[tuple[int, int]]:
    """The whole, and the segments between gaps of one half or more, for gaps that are probabilities of an end."""
    gaps = numbers(distances)
    cuts = [0, *(place for place, gap in enumerate(gaps) if place and gap >= EVEN), len(gaps)]
    parts = [(start, end) for start, end in pairwise(cuts) if end - start > 1]
    return parts if len(gaps) < 2 or len(cuts) == 2 else [(0, len(gaps)), *parts]
