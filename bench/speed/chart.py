"""Speed of the CKY decoder against a plain loop with one numpy maximum per span instead of one per width."""

from __future__ import annotations

import numpy as np

from bench.common import best_seconds
from induce.decoding.chart import mbr


def plain(scores: np.ndarray) -> list[tuple[int, int]]:
    """Brackets of the best tree, computed span by span."""
    count = len(scores)
    best, split = np.zeros((count + 1, count + 1)), {}
    for width in range(2, count + 1):
        for start in range(count - width + 1):
            end = start + width
            totals = best[start, start + 1 : end] + best[start + 1 : end, end]
            split[start, end] = start + 1 + int(totals.argmax())
            best[start, end] = totals.max() + scores[start, end]
    spans = [(0, count)]
    for start, end in spans:
        middle = split[start, end]
        spans += [part for part in ((start, middle), (middle, end)) if part[1] - part[0] > 1]
    return spans


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """Milliseconds of both by the number of words. Both give the same trees."""
    draw, figures = np.random.default_rng(1), {}
    for count, repeats in ((10, 50), (20, 50), (40, 50), (100, 5), (400, 1))[: 3 if quick else 5]:
        charts = [draw.random((count, count + 1)) for _ in range(repeats)]
        assert all(sorted(plain(chart)) == sorted(mbr(chart)) for chart in charts)
        seconds = best_seconds(
            {
                "by width (ms)": lambda: [mbr(chart) for chart in charts],  # noqa: B023
                "by span (ms)": lambda: [plain(chart) for chart in charts],  # noqa: B023
            },
            1,
        )
        figures[f"words {count}"] = {name: 1000 * value / repeats for name, value in seconds.items()}
    return figures
