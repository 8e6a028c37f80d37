"""Pictures before they become SVG or PDF: texts, strokes and boxes at positions in pixels.

x grows to the right and y downwards. Colors have names (``Ink``), so that a page can choose values for dark and light.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal


class Ink(StrEnum):
    """The meaning of a color."""

    PLAIN = "plain"  # words, and trees without a comparison
    FAINT = "faint"  # brackets and arcs that are not compared, numbers, notes
    SHARED = "shared"  # in gold and in the prediction
    MISSED = "missed"  # in gold only
    EXTRA = "extra"  # in the prediction only
    BAR = "bar"  # distances
    SHADE = "shade"  # probabilities


#: colors on white paper; the three of a comparison differ in lightness and under all types of color blindness
LIGHT = {
    Ink.PLAIN: "#1a1a1a",
    Ink.FAINT: "#6b6b6b",
    Ink.SHARED: "#0063a6",
    Ink.MISSED: "#c04a00",
    Ink.EXTRA: "#8a0f5c",
    Ink.BAR: "#7fb2d9",
    Ink.SHADE: "#0063a6",
}
#: colors on a dark page
DARK = {
    Ink.PLAIN: "#ededed",
    Ink.FAINT: "#a3a3a3",
    Ink.SHARED: "#4aa3e8",
    Ink.MISSED: "#f0a030",
    Ink.EXTRA: "#ffd0ec",
    Ink.BAR: "#2f6a96",
    Ink.SHADE: "#4aa3e8",
}
#: shades of gray; a comparison is distinguished by the lines
GRAY = {
    Ink.PLAIN: "#1a1a1a",
    Ink.FAINT: "#6b6b6b",
    Ink.SHARED: "#1a1a1a",
    Ink.MISSED: "#4d4d4d",
    Ink.EXTRA: "#4d4d4d",
    Ink.BAR: "#b0b0b0",
    Ink.SHADE: "#4d4d4d",
}
#: lengths of strokes and gaps of a line in pixels, which distinguish inks without color
DASHES = {Ink.MISSED: (7.0, 4.0), Ink.EXTRA: (2.0, 3.0)}
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Text:
    """``text`` on the baseline ``y``. ``anchor`` says whether ``x`` is its start, middle or end."""

    x: float
    y: float
    text: str
    ink: Ink = Ink.PLAIN
    size: float = 16.0
    anchor: Literal["start", "middle", "end"] = "middle"
    bold: bool = False
    kind: str = "label"  # word, tag, label, note, …: the class in SVG


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line through ``points``, its corners rounded by ``radius``, or the enclosed area if ``filled``."""

    points: tuple[Point, ...]
    ink: Ink = Ink.PLAIN
    width: float = 1.4
    radius: float = 0.0
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle filled with ``ink`` of an ``opacity`` from 0 to 1, with a frame if ``framed``."""

    x: float
    y: float
    width: float
    height: float
    ink: Ink
    opacity: float = 1.0
    framed: bool = False


Item = Text | Stroke | Box


@dataclass(slots=True)
class Scene:
    """A picture with its size in pixels, its content in words (``title`` and ``description``), colors and font.

    ``font`` is the preferred one, "" for those of `treebank.draw.measure`.
    """

    width: float = 0.0
    height: float = 0.0
    items: list[Item] = field(default_factory=list)
    title: str = ""
    description: str = ""
    font: str = ""
    inks: Mapping[Ink, str] = field(default_factory=lambda: LIGHT)

    def put(self, other: Scene, x: float, y: float) -> None:
        """Add ``other`` with its upper left corner at (x, y), and grow to contain it."""
        self.items.extend(moved(item, x, y) for item in other.items)
        self.width = max(self.width, x + other.width)
        self.height = max(self.height, y + other.height)

    def mirrored(self) -> Scene:
        """The scene with left and right exchanged. Texts stay readable."""
        return replace(self, items=[_mirrored(item, self.width) for item in self.items])


@dataclass(frozen=True)
class Look:
    """The font of pictures ("": the default ones), their size relative to 16 pixels for a word, and gray for colors."""

    font: str = ""
    scale: float = 1.0
    gray: bool = False

    def of(self, scene: Scene) -> Scene:
        """``scene`` with this look."""
        return replace(
            scene,
            width=scene.width * self.scale,
            height=scene.height * self.scale,
            items=[_scaled(item, self.scale) for item in scene.items],
            font=self.font,
            inks=GRAY if self.gray else scene.inks,
        )


def moved(item: Item, x: float, y: float) -> Item:
    """``item``, ``x`` further to the right and ``y`` further down."""
    if isinstance(item, Stroke):
        return replace(item, points=tuple((left + x, top + y) for left, top in item.points))
    return replace(item, x=item.x + x, y=item.y + y)


def _scaled(item: Item, scale: float) -> Item:
    if isinstance(item, Stroke):
        points = tuple((x * scale, y * scale) for x, y in item.points)
        return replace(item, points=points, width=item.width * scale, radius=item.radius * scale)
    if isinstance(item, Box):
        x, y, width, height = (scale * value for value in (item.x, item.y, item.width, item.height))
        return replace(item, x=x, y=y, width=width, height=height)
    return replace(item, x=item.x * scale, y=item.y * scale, size=item.size * scale)


def _mirrored(item: Item, width: float) -> Item:
    if isinstance(item, Stroke):
        return replace(item, points=tuple((width - x, y) for x, y in item.points))
    if isinstance(item, Box):
        return replace(item, x=width - item.x - item.width)
    anchor: dict[str, Literal["start", "middle", "end"]] = {"start": "end", "end": "start"}
    return replace(item, x=width - item.x, anchor=anchor.get(item.anchor, "middle"))
