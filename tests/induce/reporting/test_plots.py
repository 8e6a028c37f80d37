"""Plots: round numbers at the axes, complete names, nothing outside."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

from induce.reporting.plots import Interval, Line, draw_intervals, draw_lines, ticks
from tests.support.browser import measured, needs_fonts, outside, overlaps
from treebank.draw.scene import Scene, Text
from treebank.draw.svg import svg

CLOSE = [Line(f"a rather long name of a run {i}", [(0, 5.0 - i / 100), (10, 2.0 + i / 1000)]) for i in range(7)]


def scenes() -> list[Scene]:
    """Lines with the same end, a single point, a named axis, intervals from 0 to 100, and no lines."""
    rows = [
        Interval(f"system {i}", 14.3 * i, max(0.0, 14.3 * i - 5), 14.3 * i + 0.01, is_model=i < 3) for i in range(8)
    ]
    return [
        draw_lines(CLOSE, title="close", across="minutes", up="nats"),
        draw_lines([Line("one", [(3, 4.5)])], title="one point", across="minutes", up="nats"),
        draw_lines(
            [Line("a", [(0, 40), (2, 60)])], title="named", across="words", up="%", names=["1-10", "11-20", "21-"]
        ),
        draw_intervals(rows, title="intervals", across="percent"),
        draw_lines([], title="empty", across="", up=""),
    ]


def test_ticks_are_round_and_within() -> None:
    assert ticks(0, 100) == ticks(0, 99.9999999) == [0, 20, 40, 60, 80, 100]
    assert ticks(1.58, 2.43) == [1.6, 1.8, 2.0, 2.2, 2.4]
    assert ticks(3, 3) == [3]


def test_infinite_and_missing_numbers_are_left_out() -> None:
    drawn = draw_lines([Line("a", [(0, math.inf), (1, 2.0), (2, math.nan), (3, 1.0)])], title="", across="", up="")
    assert drawn.description == "a: from 2 at 1 to 1 at 3"


def test_description_has_the_values() -> None:
    drawn = draw_intervals([Interval("onlstm", 47.7, 46.2, 49.1)], title="UF1", across="%")
    assert drawn.description == "onlstm: 47.7 (46.2 to 49.1)"
    assert (drawn.title, draw_lines([], title="x", across="", up="").description) == ("UF1", "no numbers")


def test_names_are_complete_and_do_not_overlap() -> None:
    names = [item for item in scenes()[0].items if isinstance(item, Text) and item.kind == "name"]
    heights = sorted(item.y for item in names)
    assert len(heights) == 7
    assert all(after - before >= 15 for before, after in pairwise(heights))
    assert {item.text for item in names} == {line.name for line in CLOSE}


@needs_fonts
def test_texts_do_not_overlap_and_are_inside_the_plot(tmp_path: Path) -> None:
    drawn = scenes()
    measurements = measured("".join(svg(scene, name=f"p{number}") for number, scene in enumerate(drawn)), tmp_path)
    for scene, boxes in zip(drawn, measurements, strict=True):
        assert overlaps(boxes["texts"]) == [], scene.title
        assert outside(boxes["texts"], boxes["frame"]) == [], scene.title
