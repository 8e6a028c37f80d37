"""How sure a model is of a tree: one number for each sentence, larger where the phrases stand out more."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from induce.structures import Distances, Heights, SpanScores, Structure

Span = tuple[int, int]


def confidence(structure: type[Structure], row: Any, spans: Sequence[Sequence[Any]]) -> float | None:
    """The mean over all phrases but the whole of how far the model is for them; None where it does not say.

    ``row`` is what it says of a sentence, ``spans`` are the brackets that a decoder read off it. Of distances it is the
    `margins`, in the model's own unit; of span scores it is the score, a probability or a share of the votes.
    """
    of_phrases = _BY_STRUCTURE.get(structure)
    phrases = [(start, end) for start, end, *_ in spans if 1 < end - start < structure.words_of(row)]
    if of_phrases is None or not phrases:
        return None
    mean = fmean(of_phrases(row, phrases))
    return mean if math.isfinite(mean) else None


def margins(distances: Sequence[float], phrases: Sequence[Span]) -> list[float]:
    """Of each phrase by how much the narrower gap at its edges is wider than the widest gap inside it.

    ``distances`` has the gap before each word, of which the first is no edge. In linear time: every gap is looked at
    in the smallest phrase that it lies in, and larger ones take the widest gap of that from it.
    """
    found = []
    right: list[tuple[int, int, float]] = []  # start, end and widest gap of what lies to the right, the nearest last
    for start, end in sorted(phrases, key=lambda span: (-span[0], span[1])):
        widest, gap = -math.inf, start + 1
        while right and right[-1][0] < end:
            inner_start, inner_end, inner = right.pop()
            widest, gap = max(widest, inner, *distances[gap : inner_start + 1]), inner_end
        widest = max(widest, *distances[gap:end], -math.inf)
        right.append((start, end, widest))
        edges = [distances[edge] for edge in (start, end) if 0 < edge < len(distances)]
        found.append(min(edges) - widest)
    return found


def _scores(score: Any, phrases: Sequence[Span]) -> list[float]:
    return [float(score[start][end]) for start, end in phrases]


_BY_STRUCTURE: dict[type[Structure], Callable[[Any, Sequence[Span]], list[float]]] = {
    Distances: margins,
    Heights: lambda row, phrases: margins([gap for gap, _ in row], phrases),
    SpanScores: _scores,
}
