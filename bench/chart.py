"""Time the CKY decoder against a plain loop over spans.

``python bench/chart.py`` prints a table and writes ``bench/results/chart.json``. The plain loop is also numpy code: one
maximum per span instead of one per width. Both must give the same trees.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import numpy as np  # noqa: E402

from induce.decoding.chart import mbr  # noqa: E402


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


def main() -> None:
    """Print and write the table."""
    draw, rows = np.random.default_rng(1), []
    for count, repeats in ((10, 50), (20, 50), (40, 50), (100, 5), (400, 1)):
        charts = [draw.random((count, count + 1)) for _ in range(repeats)]
        marks = [time.process_time()]
        for method in (mbr, plain):
            trees = [sorted(method(chart)) for chart in charts]
            marks.append(time.process_time())
            assert method is mbr or trees == [sorted(mbr(chart)) for chart in charts]
        fast, slow = (1000 * (after - before) / repeats for before, after in pairwise(marks))
        rows.append({"words": count, "by width (ms)": fast, "by span (ms)": slow})
        print(f"{count:3d} words: {fast:8.2f} ms by width, {slow:8.2f} ms by span, {slow / fast:5.1f} times")
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "chart.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
