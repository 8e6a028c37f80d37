"""A scene as SVG: plain elements with explicit colors, so that all programs show the same picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from treebank.draw.measure import fonts_for
from treebank.draw.scene import DASHES, Box, Item, Point, Scene, Text

PAPER = "#ffffff"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def without_invalid(text: str) -> str:
    """``text`` with U+FFFD for characters that are invalid in XML and HTML."""
    return _NOT_IN_XML.sub("\ufffd", text)


def escaped(text: str) -> str:
    """``text`` escaped for XML and HTML. Invalid characters become U+FFFD."""
    return escape(without_invalid(text), quote=False).replace('"', "&quot;")


def svg(scene: Scene, *, paper: str = PAPER, name: str = "picture") -> str:
    """The scene as an SVG element. ``name`` is part of the ids of its title and description.

    ``paper`` is the background color, "" for none.
    """
    width, height = _number(scene.width), _number(scene.height)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="{name}-t {name}-d">',
        f'<title id="{name}-t">{escaped(scene.title)}</title>',
        f'<desc id="{name}-d">{escaped(scene.description)}</desc>',
        *([f'<rect width="100%" height="100%" fill="{paper}"/>'] if paper else []),
        *(_element(item, scene) for item in scene.items),
        "</svg>\n",
    ]
    return "\n".join(lines)


def column(scenes: Sequence[Scene], gap: float = 18.0) -> Scene:
    """All scenes as one, each below the other."""
    title = scenes[0].title if len(scenes) == 1 else f"{len(scenes)} sentences"
    whole = Scene(title=title, font=scenes[0].font, inks=scenes[0].inks)
    for number, scene in enumerate(scenes):
        whole.put(scene, 0, whole.height + gap * (number > 0))
    whole.description = "; ".join(scene.description for scene in scenes)
    return whole


def _element(item: Item, scene: Scene) -> str:
    """A text, box or stroke of ``scene`` as an element."""
    color = scene.inks[item.ink]
    if isinstance(item, Text):
        families = ", ".join(f"'{escaped(family)}'" for family in fonts_for(item.text, scene.font))
        style = ' font-weight="bold"' * item.bold
        anchor = f' text-anchor="{item.anchor}"' if item.anchor != "start" else ""
        position = f'x="{_number(item.x)}" y="{_number(item.y)}" font-size="{_number(item.size)}"'
        look = f'font-family="{families}, sans-serif"{anchor}{style} fill="{color}"'
        return f'<text class="{item.kind} {item.ink}" {position} {look}>{escaped(item.text)}</text>'
    if isinstance(item, Box):
        corner = f'x="{_number(item.x)}" y="{_number(item.y)}"'
        size = f'width="{_number(item.width)}" height="{_number(item.height)}"'
        frame = f' stroke="{color}" stroke-width="1.2"' if item.framed else ""
        opacity = f' fill-opacity="{item.opacity:g}"' if item.opacity < 1 else ""
        return f'<rect class="{item.ink}" {corner} {size} fill="{color}"{opacity}{frame}/>'
    pieces = [f"M{_pair(item.points[0])}"]
    for start, middle, end in zip(item.points, item.points[1:], item.points[2:], strict=False):
        if item.radius:
            pieces.append(f"L{_pair(towards(middle, start, item.radius))}Q{_pair(middle)} ")
            pieces.append(_pair(towards(middle, end, item.radius)))
        else:
            pieces.append(f"L{_pair(middle)}")
    path = "".join([*pieces, f"L{_pair(item.points[-1])}"])
    if item.filled:
        return f'<path class="{item.ink} filled" d="{path}Z" fill="{color}"/>'
    dashes = f' stroke-dasharray="{" ".join(map(_number, DASHES[item.ink]))}"' if item.ink in DASHES else ""
    look = f'fill="none" stroke="{color}" stroke-width="{_number(item.width)}" stroke-linejoin="round"'
    return f'<path class="{item.ink}" d="{path}" {look}{dashes}/>'


def towards(start: Point, end: Point, distance: float) -> Point:
    """The point on the line from ``start`` to ``end`` at ``distance`` from ``start``, at most half the way."""
    length = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5
    share = min(distance / length, 0.5) if length else 0.0
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def _pair(point: Point) -> str:
    return f"{_number(point[0])} {_number(point[1])}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
