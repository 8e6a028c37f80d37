"""Margins of phrases under syntactic distances: how clearly the distances separate a phrase from its context."""

from __future__ import annotations

import math
from collections.abc import Sequence

Span = tuple[int, int]


def margins(distances: Sequence[float], phrases: Sequence[Span]) -> list[float]:
    """Margin of each phrase: the narrower gap at its edges minus the widest gap inside it.

    ``distances`` contains the gap before each word; the first gap is not an edge. The results are ordered
    by the start of the phrases, last first, then by their end. Linear time: each gap is read in the smallest phrase
    that contains it, and larger phrases take the widest gap of that phrase.
    """
    results = []
    right: list[tuple[int, int, float]] = []  # start, end and widest gap of phrases to the right, the nearest last
    for start, end in sorted(phrases, key=lambda span: (-span[0], span[1])):
        widest, gap = -math.inf, start + 1
        while right and right[-1][0] < end:
            inner_start, inner_end, inner = right.pop()
            widest, gap = max(widest, inner, *distances[gap : inner_start + 1]), inner_end
        widest = max(widest, *distances[gap:end], -math.inf)
        right.append((start, end, widest))
        edges = [distances[edge] for edge in (start, end) if 0 < edge < len(distances)]
        results.append(min(edges) - widest)
    return results
