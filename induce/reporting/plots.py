"""Plots as scenes: lines, values with their intervals, heat maps, and the plots of analyses."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from treebank.draw.measure import em_width
from treebank.draw.scene import Box, Ink, Point, Scene, Stroke, Text

if TYPE_CHECKING:
    from induce.analysis.channels import ChannelReport
    from induce.analysis.sweep import Sweep

WIDTH, HEIGHT = 380.0, 220.0  # of the area between the axes
SIZE = 13.0  # of letters
ROW = 24.0  # of a plot of intervals
BOLD = 1.25  # width of bold letters over that of regular ones
INKS = (Ink.SHARED, Ink.MISSED, Ink.EXTRA, Ink.PLAIN, Ink.FAINT)
CELL = 16.0  # of a heat map
MAX_MARKS = 40  # a line with more points has no marks


@dataclass(frozen=True, slots=True)
class Line:
    """A named line through points (x, y), with a bar of ``deviations`` above and below each point if there are any."""

    name: str
    points: Sequence[Point]
    deviations: Sequence[float] = ()

    def finite(self) -> Line:
        """The line without the points that are not finite."""
        bars = self.deviations or [0.0] * len(self.points)
        pairs = [(point, bar) for point, bar in zip(self.points, bars, strict=True) if all(map(math.isfinite, point))]
        return Line(self.name, [point for point, _ in pairs], [bar for _, bar in pairs] if self.deviations else ())

    def in_words(self) -> str:
        """First and last point."""
        (first, start), (last, end) = min(self.points), max(self.points)
        return f"{self.name}: from {start:.3g} at {first:.3g} to {end:.3g} at {last:.3g}"

    def bars(self) -> list[tuple[Point, Point]]:
        """Lower and upper end of each bar."""
        pairs = zip(self.points, self.deviations, strict=False)
        return [((x, y - deviation), (x, y + deviation)) for (x, y), deviation in pairs]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value of a system with its interval, in bold if ``is_model`` is true."""

    name: str
    value: float
    low: float
    high: float
    is_model: bool = True


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers from ``low`` to ``high``, about ``count`` of them."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-6)
    return [round(i * step, 10) for i in range(first, math.floor(high / step + 1e-6) + 1)]


def draw_lines(lines: Sequence[Line], *, title: str, across: str, up: str, names: Sequence[str] = ()) -> Scene:
    """A plot of ``lines`` with the axis labels ``across`` and ``up``.

    With ``names``, x values are indices of names, which label the axis instead of numbers. Points that are not finite
    are left out. The name of a line is at its end, in its color; three of the colors also have dashes.
    """
    known = [line for line in (line.finite() for line in lines) if line.points]
    scene = Scene(title=title, description="; ".join(line.in_words() for line in known) or "no numbers")
    if not known:
        return _nothing(scene)
    frame = _Frame.around(known, names)
    frame.draw_axes(scene, across, up, names)
    inks = [INKS[number % len(INKS)] for number in range(len(known))]
    for line, ink in zip(known, inks, strict=True):
        points = [frame.position(point) for point in sorted(line.points)]
        if len(points) > 1:
            scene.items.append(Stroke(tuple(points), ink, 2.0))
        if len(points) <= MAX_MARKS:
            scene.items += [Box(x - 3, y - 3, 6, 6, ink) for x, y in points]
        scene.items += [Stroke(tuple(map(frame.position, bar)), ink, 1.0) for bar in line.bars()]
    _draw_names(scene, [(frame.position(max(line.points))[1], line.name) for line in known], inks, frame)
    return scene


def draw_intervals(rows: Sequence[Interval], *, title: str, across: str) -> Scene:
    """Values with their intervals, one per row, over an axis that starts at 0."""
    scene = Scene(title=title)
    scene.description = "; ".join(f"{row.name}: {row.value:.1f} ({row.low:.1f} to {row.high:.1f})" for row in rows)
    if not rows:
        return _nothing(scene)
    left = max(em_width(row.name) for row in rows) * SIZE * BOLD + 14
    marks = ticks(0.0, max(10.0, max(row.high for row in rows)))
    scale = WIDTH / max(marks[-1], max(row.high for row in rows))
    bottom = ROW * len(rows) + 8
    for mark in marks:
        x = left + mark * scale
        scene.items.append(Stroke(((x, 4), (x, bottom)), Ink.FAINT, 0.4))
        scene.items.append(Text(x, bottom + SIZE + 3, f"{mark:g}", Ink.FAINT, SIZE, kind="tick"))
    for number, row in enumerate(rows):
        ink, y = Ink.SHARED if row.is_model else Ink.PLAIN, ROW * (number + 0.5) + 4
        scene.items.append(Text(left - 10, y + SIZE * 0.35, row.name, ink, SIZE, "end", bold=row.is_model))
        scene.items.append(Stroke(((left + row.low * scale, y), (left + row.high * scale, y)), ink, 2.0))
        scene.items.append(Box(left + row.value * scale - 4, y - 4, 8, 8, ink))
    scene.items.append(Text(left + WIDTH / 2, bottom + 2.6 * SIZE + 3, across, Ink.PLAIN, SIZE, kind="axis"))
    scene.width, scene.height = left + WIDTH + 24, bottom + 3.2 * SIZE + 3
    return scene


def draw_heat_map(
    rows: Sequence[tuple[str, Sequence[float]]],
    *,
    title: str,
    across: str,
    columns: Sequence[str],
    marked: Collection[tuple[int, int]] = (),
) -> Scene:
    """A heat map of values from -1 to 1, with names of rows and columns. A dot is in each ``marked`` (row, column)."""
    scene = Scene(title=title, description="; ".join(name for name, _ in rows) or "no numbers")
    left, top = max((em_width(name) for name, _ in rows), default=0.0) * SIZE + 10, 2.2 * SIZE
    scene.items.append(Text(0, SIZE, title, Ink.PLAIN, SIZE, "start", kind="axis"))
    for number, (name, values) in enumerate(rows):
        y = top + number * CELL
        scene.items.append(Text(left - 6, y + CELL * 0.8, name, Ink.PLAIN, SIZE, "end", kind="tick"))
        for column, value in enumerate(values):
            if math.isfinite(value):
                ink = Ink.SHARED if value > 0 else Ink.MISSED
                scene.items.append(Box(left + column * CELL, y, CELL, CELL, ink, opacity=min(1.0, abs(value))))
            if (number, column) in marked:
                scene.items.append(Box(left + (column + 0.5) * CELL - 2, y + CELL / 2 - 2, 4, 4, Ink.PLAIN))
    bottom = top + len(rows) * CELL
    for column, name in enumerate(columns):
        position = left + (column + 0.5) * CELL
        scene.items.append(Text(position, bottom + 1.2 * SIZE, name, Ink.FAINT, SIZE * 0.8, kind="tick"))
    note = f"{across}; blue: positive, orange: negative, darker: nearer to 1 or -1"
    scene.items.append(Text(left, bottom + 2.6 * SIZE, note, Ink.PLAIN, SIZE, "start", kind="axis"))
    width = max(len(columns) * CELL, em_width(note) * SIZE, em_width(title) * SIZE - left)
    scene.width, scene.height = left + width + 10, bottom + 3.2 * SIZE
    return scene


def plot_channels(report: ChannelReport) -> Scene:
    """A heat map of relations (rows) by channels (columns, layer by layer), with a dot at the best channel."""
    layers, channels = report.relations[0].correlations.shape
    best = [(row, entry.best) for row, entry in enumerate(report.relations)]
    return draw_heat_map(
        [(f"{entry.relation} ({entry.arcs:,})", entry.correlations.ravel().tolist()) for entry in report.relations],
        title=f"Channels of {report.model} and relations of {os.path.basename(report.data)}",
        across=f"layer, {channels} channels each",
        columns=[str(index // channels + 1) if index % channels == 0 else "" for index in range(layers * channels)],
        marked={(row, position[0] * channels + position[1]) for row, position in best if position},
    )


def plot_sweep(report: Sweep) -> Scene:
    """Each score's mean over the values of the setting, with bars of one standard deviation."""
    numeric = all(type(value) in (int, float) for value in report.values)
    positions = {value: value if numeric else index for index, value in enumerate(report.values)}
    lines = []
    for name, runs in zip(report.names, report.scores.values(), strict=True):
        values = sorted(runs)
        points = [(float(positions[value]), runs[value].mean) for value in values]
        lines.append(Line(name, points, [runs[value].deviation for value in values]))
    title = f"Scores on {os.path.basename(report.data)}"
    names = [] if numeric else [str(value) for value in report.values]
    return draw_lines(lines, title=title, across=report.setting, up="%", names=names)


@dataclass(frozen=True, slots=True)
class _Frame:
    """Ranges of the axes, and the position of the area between them."""

    x: tuple[float, float]
    y: tuple[float, float]
    left: float
    width: float
    top: float = 2.2 * SIZE

    @classmethod
    def around(cls, lines: Sequence[Line], names: Sequence[str]) -> _Frame:
        across = [x for line in lines for x, _ in line.points]
        up = [y for line in lines for _, y in [*line.points, *chain.from_iterable(line.bars())]]
        x = (0.0, max(len(names) - 1.0, 1.0)) if names else _widened(min(0.0, *across), max(across), 0.0)
        y = _widened(min(up), max(up), 0.06)
        widest = max(em_width(f"{mark:g}") for mark in ticks(*y))
        room = max((em_width(name) for name in names), default=0.0) * SIZE + 6  # names do not touch
        return cls(x, y, widest * SIZE + 12, max(WIDTH, room * (len(names) - 1)))

    def position(self, point: Point) -> Point:
        across = (point[0] - self.x[0]) / (self.x[1] - self.x[0])
        up = (point[1] - self.y[0]) / (self.y[1] - self.y[0])
        return self.left + across * self.width, self.top + (1 - up) * HEIGHT

    def draw_axes(self, scene: Scene, across: str, up: str, names: Sequence[str]) -> None:
        bottom = self.top + HEIGHT
        scene.items.append(Text(0, SIZE, up, Ink.PLAIN, SIZE, "start", kind="axis"))
        scene.items.append(Text(self.left + self.width / 2, bottom + 2.8 * SIZE, across, Ink.PLAIN, SIZE, kind="axis"))
        for mark in ticks(*self.y):
            y = self.position((self.x[0], mark))[1]
            scene.items.append(Stroke(((self.left, y), (self.left + self.width, y)), Ink.FAINT, 0.4))
            scene.items.append(Text(self.left - 6, y + SIZE * 0.35, f"{mark:g}", Ink.FAINT, SIZE, "end", kind="tick"))
        marks = list(enumerate(names)) if names else [(mark, f"{mark:g}") for mark in ticks(*self.x)]
        for mark, text in marks:
            x = self.position((float(mark), self.y[0]))[0]
            scene.items.append(Stroke(((x, bottom), (x, bottom + 4)), Ink.FAINT, 1.0))
            scene.items.append(Text(x, bottom + 1.4 * SIZE, text, Ink.FAINT, SIZE, kind="tick"))
        scene.items.append(Stroke(((self.left, bottom), (self.left + self.width, bottom)), Ink.FAINT, 1.0))
        scene.width, scene.height = self.left + self.width + 24, bottom + 3.4 * SIZE


def _widened(low: float, high: float, share: float) -> tuple[float, float]:
    """``low`` and ``high`` with a margin, and never equal."""
    room = (high - low) * share or (abs(high) or 1.0) * 0.1 * (high == low)
    return low - room, high + room


def _draw_names(scene: Scene, ends: Sequence[tuple[float, str]], inks: Sequence[Ink], frame: _Frame) -> None:
    """Draw the name of each line next to its end, moved so that names do not overlap."""
    left, lowest = frame.left + frame.width + 10, frame.top + HEIGHT
    order = sorted(range(len(ends)), key=lambda number: ends[number])
    heights: list[float] = []
    for number in order:
        heights.append(max(ends[number][0], heights[-1] + SIZE * 1.3 if heights else 0.0))
    for row in range(len(heights) - 1, -1, -1):
        heights[row] = min(heights[row], lowest if row == len(heights) - 1 else heights[row + 1] - SIZE * 1.3)
    for number, y in zip(order, heights, strict=True):
        name = ends[number][1]
        scene.items.append(Text(left, y + SIZE * 0.35, name, inks[number], SIZE, "start", bold=True, kind="name"))
        scene.width = max(scene.width, left + em_width(name) * SIZE * BOLD + 4)


def _nothing(scene: Scene) -> Scene:
    scene.items.append(Text(4, 2 * SIZE, "(no numbers)", Ink.FAINT, SIZE, "start"))
    scene.width, scene.height = 120, 3 * SIZE
    return scene
