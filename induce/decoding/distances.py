"""Syntactic distances to brackets: linear time, no recursion, the first maximum wins on ties.

``distances`` has one entry per word, entry i being the gap *before* word i. The result holds every bracket of two or
more words, the whole sentence included, each once and in no particular order. NaN raises SynparseError; infinities
are fine.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from treebank.core.distances import nearest_larger, numbers, spans_from_distances

EVEN = 0.5  # the probability of an end from which on there is one
TIE = 1e-5  # distances that differ by less are equal: in float32 they depend on the other sentences of a batch


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


def nary(distances: Sequence[float], *, tolerance: float = 0.0) -> list[tuple[int, int]]:
    """Brackets of the tree that splits at all widest gaps at once, flat on ties (StructFormer); entry 0 is ignored.

    A gap that is narrower than the widest one of its segment by ``tolerance`` or less is as wide: PRPN's 1 / tau
    (appendix D), the ``gap`` of StructFormer's program; it is at least `TIE`. From 0, the binary tree if no two gaps
    are equal, brackets only become fewer, until the tree is flat.

    >>> nary([9.0, 1.0, 3.0, 3.0])
    [(0, 4), (0, 2)]
    >>> nary([9.0, 1.0, 3.0, 3.0], tolerance=2.0)
    [(0, 4)]
    """
    tolerance = max(tolerance, TIE)
    gaps = numbers(distances)[1:]
    before, after = nearest_larger(gaps)
    top = [0] * len(gaps)  # the widest gap of the segment that each gap splits
    spans = []
    for k in sorted(range(len(gaps)), key=lambda k: before[k] - after[k]):  # a segment before those within it
        left, right = before[k], after[k]
        within = [gap for gap in (left, right) if 0 <= gap < len(gaps)]
        above = top[min(within, key=lambda gap: (gaps[gap], -gap))] if within else k
        if above != k and gaps[k] >= gaps[above] - tolerance:
            top[k] = above
        else:
            top[k] = k
            spans.append((left + 1, right + 1))
    return spans


def segments(distances: Sequence[float]) -> list[tuple[int, int]]:
    """The whole, and the segments between gaps of one half or more, for gaps that are probabilities of an end."""
    gaps = numbers(distances)
    cuts = [0, *(place for place, gap in enumerate(gaps) if place and gap >= EVEN), len(gaps)]
    parts = [(start, end) for start, end in pairwise(cuts) if end - start > 1]
    return parts if len(gaps) < 2 or len(cuts) == 2 else [(0, len(gaps)), *parts]
