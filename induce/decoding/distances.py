"""Brackets from syntactic distances and from stack decisions, heads from distances and heights, without recursion.

On ties the first maximum wins. ``distances`` has one entry per word; entry i is the gap *before* word i. The result
contains every bracket of two or more words once, including the full-sentence span, in no particular order. NaN raises
SynparseError; infinities are accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from treebank.base.errors import SynparseError
from treebank.core.dependency import Heads
from treebank.core.distances import nearest_larger, numbers, spans_from_distances
from treebank.core.sentence import ROOT

EVEN = 0.5  # a segment ends where the probability of an end is at least this
TIE = 1e-5  # distances that differ by less are equal: in float32 they depend on the other sentences of a batch


def unbiased(distances: Sequence[float]) -> list[tuple[int, int]]:
    """Brackets of the tree that splits at the widest gap first (Du et al. 2020, Algorithm 2).

    Entry 0 is ignored.

    >>> unbiased([9.0, 1.0, 3.0, 2.0])
    [(0, 2), (0, 4), (2, 4)]
    """
    return spans_from_distances(distances)


def biased(distances: Sequence[float]) -> list[tuple[int, int]]:
    """Brackets by the published rule of PRPN and ON-LSTM (PRPN appendix A and Du et al. 2020, Algorithm 3).

    In a segment, the word k with the largest entry (which may be the first word) is joined to the tree of all words
    that follow it. The words before it form the left part. Every word k therefore heads one segment, in which its
    entry is the first maximum, and yields the brackets of that segment and of its right part, which begins at k.

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


def biased_inner(distances: Sequence[float]) -> list[tuple[int, int]]:
    """Brackets of the tree that splits at the widest gap first, and whose right parts begin with a single word.

    In a segment, the word k after the widest inner gap is joined to the tree of all words that follow it, and the
    words before it form the left part (``not_coo`` in the program of Kim et al. 2020). Unlike in `biased`, the gap
    before the first word of a segment never counts, so the gap after k is not used.

    >>> sorted(biased_inner([9.0, 3.0, 2.0, 1.0, 1.0]))
    [(0, 5), (1, 5), (2, 5), (3, 5)]
    """
    gaps = np.array(numbers(distances))
    spans, todo = [], [(0, len(gaps))]
    while todo:
        start, end = todo.pop()
        if end - start < 2:
            continue
        k = start + 1 + int(gaps[start + 1 : end].argmax())
        spans.append((start, end))
        if end - k > 1:
            spans.append((k, end))
        todo += [(start, k), (k + 1, end)]
    return spans


def nary(distances: Sequence[float], *, tolerance: float = 0.0) -> list[tuple[int, int]]:
    """Brackets of the tree that splits at all widest gaps at once, flat on ties (StructFormer).

    Entry 0 is ignored. Gaps that are narrower than the widest gap of their segment by at most ``tolerance`` count as
    equally wide (PRPN appendix D: 1 / tau; ``gap`` in the program of StructFormer). The tolerance is at least `TIE`.
    A larger tolerance never adds brackets; with 0 the tree is binary if all gaps differ by more than `TIE`.

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
    for k in sorted(range(len(gaps)), key=lambda k: before[k] - after[k]):  # a segment before the segments inside it
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
    """Brackets of the sentence and of its segments, if the gaps are probabilities that a segment ends.

    A segment ends before each gap of at least `EVEN`.
    """
    gaps = numbers(distances)
    cuts = [0, *(index for index, gap in enumerate(gaps) if index and gap >= EVEN), len(gaps)]
    parts = [(start, end) for start, end in pairwise(cuts) if end - start > 1]
    return parts if len(gaps) < 2 or len(cuts) == 2 else [(0, len(gaps)), *parts]


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


def shift_reduce(slots: Sequence[int]) -> list[tuple[int, int]]:
    """Brackets of the binary tree that a shift-reduce parser builds (Shen 2022, thesis, algorithm 3), in linear time.

    ``slots`` has one entry per word: the stack slot of its head after the reductions before the word. Slot 0 is the
    newest. Before each word, the two newest constituents are joined d times, if there are two, where d is the slot of
    the word minus that of the preceding word plus 1. The first entry counts too: in the published program it is the
    number of slots.
    """
    chosen = list(slots.tolist() if hasattr(slots, "tolist") else slots)
    if any(slot < 0 for slot in chosen):
        raise SynparseError(f"slot {min(chosen)}: slots count from 0")
    starts = [0]  # first word of each constituent on the stack
    spans: list[tuple[int, int]] = []
    for i in range(1, len(chosen)):
        for _ in range(chosen[i] - chosen[i - 1] + 1):
            if len(starts) < 2:
                break
            starts.pop()
            spans.append((starts[-1], i))
        starts.append(i)
    spans += [(start, len(chosen)) for start in starts[:-1]]
    return spans
