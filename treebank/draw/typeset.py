"""A scene as PDF or PNG, set by Typst (``pip install 'synparse[draw]'``), which shapes the letters of every script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from treebank.base.errors import SynparseError
from treebank.draw.measure import fonts_for
from treebank.draw.scene import DASHES, LIGHT, Box, Point, Scene, Stroke, Text
from treebank.draw.svg import towards

POINT = 0.75  # points in a pixel
WIDE = 4000.0  # of the invisible box that a text is aligned in; wider than any text
SHARPNESS = 192.0  # pixels of a PNG to the inch; 96 shows the picture in the size of the SVG
LARGEST = 14_000.0  # the longest side of a page of PDF, in points, and half that of a PNG in pixels


def pdf(scenes: Sequence[Scene]) -> bytes:
    """One page for each scene. Raises SynparseError if Typst is missing or a page would be too large."""
    return _compiled(scenes, "pdf")


def png(scene: Scene) -> bytes:
    """The scene in twice the size of its pixels. Raises SynparseError as ``pdf`` does."""
    return _compiled([scene], "png")


def _compiled(scenes: Sequence[Scene], form: str) -> bytes:
    typst = _typst()
    for scene in scenes:
        if max(scene.width, scene.height) * POINT > LARGEST:
            size = f"{scene.width:,.0f} by {scene.height:,.0f} pixels"
            raise SynparseError(f"a picture of {size} is too large for {form.upper()}; use .svg or .html")
    source = "\n#pagebreak()\n".join("\n".join(_page(scene)) for scene in scenes)
    head = "#set document(date: none)\n#set page(margin: 0pt)\n#set par(leading: 0pt, spacing: 0pt)\n"
    compiled: Any = typst.compile((head + source).encode(), format=form, ppi=SHARPNESS)
    return bytes(compiled[0] if isinstance(compiled, list) else compiled)


def check_typst() -> None:
    """Raises SynparseError, which says how to get it, if Typst is missing."""
    _typst()


def _typst() -> Any:
    """The module. Raises SynparseError if it is missing."""
    try:
        import typst
    except ImportError:
        raise SynparseError(
            "PDF and PNG need Typst, which is not installed: pip install 'synparse[draw]'; or use .svg or .html"
        ) from None
    return typst


def _page(scene: Scene) -> Iterator[str]:
    """Typst's markup for one page."""
    size = f"width: {_points(scene.width)}, height: {_points(scene.height)}"
    yield f'#set page({size}, fill: white)\n#set text(top-edge: "baseline", bottom-edge: "baseline", hyphenate: false)'
    for item in scene.items:
        if isinstance(item, Text):
            yield _text(item)
        elif isinstance(item, Box):
            yield _box(item)
        else:
            yield _stroke(item)


def _text(item: Text) -> str:
    shift = {"start": 0.0, "middle": WIDE / 2, "end": WIDE}[item.anchor]
    side = {"start": "left", "middle": "center", "end": "right"}[item.anchor]
    families = "".join(f'"{family}", ' for family in fonts_for(item.text))
    look = f'size: {_points(item.size)}, fill: rgb("{LIGHT[item.ink]}"), font: ({families})'
    look += ', style: "italic"' * item.italic + ', weight: "bold"' * item.bold
    quoted = item.text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    body = f'box(width: {_points(WIDE)}, align({side}, text({look}, "{quoted}")))'
    return f"#place(top + left, dx: {_points(item.x - shift)}, dy: {_points(item.y)}, {body})"


def _box(item: Box) -> str:
    color = f'rgb("{LIGHT[item.ink]}")'
    fill = f"{color}.transparentize({100 * (1 - item.opacity):.1f}%)"
    stroke = f", stroke: 0.9pt + {color}" if item.framed else ""
    body = f"rect(width: {_points(item.width)}, height: {_points(item.height)}, fill: {fill}{stroke})"
    return f"#place(top + left, dx: {_points(item.x)}, dy: {_points(item.y)}, {body})"


def _stroke(item: Stroke) -> str:
    color = f'rgb("{LIGHT[item.ink]}")'
    steps = "".join(_steps(item.points, item.radius))
    if item.filled:
        return f"#place(top + left, curve(fill: {color}, {steps}curve.close()))"
    dash = f", dash: ({', '.join(map(_points, DASHES[item.ink]))})" if item.ink in DASHES else ""
    stroke = f'(paint: {color}, thickness: {_points(item.width)}, join: "round"{dash})'
    return f"#place(top + left, curve(stroke: {stroke}, {steps}))"


def _steps(points: Sequence[Point], radius: float) -> Iterator[str]:
    """The line through ``points``, its corners rounded."""
    yield f"curve.move({_pair(points[0])}), "
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        if radius:
            yield f"curve.line({_pair(towards(corner, before, radius))}), "
            yield f"curve.quad({_pair(corner)}, {_pair(towards(corner, after, radius))}), "
        else:
            yield f"curve.line({_pair(corner)}), "
    yield f"curve.line({_pair(points[-1])}), "


def _pair(point: Point) -> str:
    return f"({_points(point[0])}, {_points(point[1])})"


def _points(pixels: float) -> str:
    return f"{pixels * POINT:.2f}pt"
