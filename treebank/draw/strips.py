"""Numbers next to the words: distances as bars, head probabilities as shades."""

from __future__ import annotations

import math
from collections.abc import Sequence

from treebank.draw.measure import em_width
from treebank.draw.scene import Box, Ink, Scene, Stroke, Text

BAR, ROW = 44.0, 15.0  # height of the strip of bars, and of a row of shades
MAX_WIDTH = 14.0  # pixels of a bar
SMALL = 11.0


def draw_distances(values: Sequence[float], lefts: Sequence[float], width: float) -> Scene:
    """A bar in the gap before each word but the first. The sentence is first split at the highest bar.

    ``lefts`` are the left edges of the words. The smallest distance has the shortest bar; NaN has none.
    """
    scene = Scene(width, BAR)
    scene.items.append(Stroke(((0.0, BAR), (width, BAR)), Ink.FAINT, 0.6))
    for share, left in list(zip(shares(values), lefts, strict=True))[1:]:
        if share is not None:
            height = 4 + share * (BAR - 8)
            scene.items.append(Box(left - MAX_WIDTH / 2, BAR - height, MAX_WIDTH, height, Ink.BAR))
    return scene


def shares(values: Sequence[float]) -> list[float | None]:
    """Each distance, scaled from the smallest (0) to the largest (1), or None for NaN."""
    known = [value for value in values[1:] if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    return [
        None if not math.isfinite(value) else (value - low) / (high - low) if high > low else 0.5 for value in values
    ]


def draw_probabilities(
    rows: Sequence[Sequence[float]], words: Sequence[str], lefts: Sequence[float], width: float
) -> Scene:
    """A row of shades for each word, one under each of its possible heads. Darker shades are more probable.

    The diagonal has the probability that the word is the root. The maximum of a row has a frame. A word that the model
    did not receive has none.
    """
    names = max((em_width(word) for word in words), default=0.0) * SMALL
    scene = Scene(width + 8 + names, ROW * len(rows) + 4)
    edges = [*lefts, width]
    for i, row in enumerate(rows):
        best = max(range(len(row)), key=lambda j: _finite(row[j]), default=-1)
        for j, value in enumerate(row):
            share = min(max(_finite(value), 0.0), 1.0)
            left, right = edges[j] + 1, edges[j + 1] - 1
            framed = j == best and share > 0
            if share >= 0.005 or framed:
                y = ROW * i + 1
                scene.items.append(Box(left, y, right - left, ROW - 2, Ink.SHADE, round(share, 3), framed=framed))
        scene.items.append(Text(width + 8, ROW * i + SMALL, words[i], Ink.FAINT, SMALL, "start", kind="row"))
    return scene


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0
