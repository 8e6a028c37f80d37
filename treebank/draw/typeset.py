"""Scenes as PDF or PNG, set by Typst (``pip install 'synparse[draw]'``).

Lines and boxes are the SVG of the scene. Typst itself sets the texts, because it shapes the letters of every script.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from treebank.base.errors import SynparseError
from treebank.draw.measure import LATIN_FONTS, fonts_for
from treebank.draw.scene import Scene, Text
from treebank.draw.svg import svg

POINT = 0.75  # points in a pixel
PIXELS_PER_INCH = 192.0  # of a PNG; 96 shows the picture in the size of the SVG
MAX_TEXT_WIDTH = 4000.0  # pixels, of the invisible box in which a text is aligned
MAX_POINTS = 14_000.0  # longest side of a page of PDF in points, and half of that of a PNG in pixels
HEAD = """#set document(date: datetime(year: 2000, month: 1, day: 1))
#set page(margin: 0pt, fill: white)
#set text(top-edge: "baseline", bottom-edge: "baseline", hyphenate: false)
"""
STANDARD = "a-2b"  # of PDF; it refuses text without a glyph
NO_GLYPH = "could not be displayed"  # in the error message of Typst
INVISIBLE = ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp")  # categories of characters without a glyph
FIRST_SYMBOL, FIRST_EMOJI = "\u2000", "\U0001f000"


def pdf(scenes: Sequence[Scene]) -> bytes:
    """One page for each scene.

    Raises SynparseError if Typst is missing, a page would be too large, or no font has a character.
    """
    return _compile(scenes, "pdf")


def png(scene: Scene) -> bytes:
    """The scene with two pixels for each of its own. Raises SynparseError as ``pdf`` does."""
    return _compile([scene], "png")


def _compile(scenes: Sequence[Scene], form: str) -> bytes:
    typst = check_typst()
    for scene in scenes:
        if max(scene.width, scene.height) * POINT > MAX_POINTS:
            size = f"{scene.width:,.0f} by {scene.height:,.0f} pixels"
            raise SynparseError(f"a picture of {size} is too large for {form.upper()}; use .svg or .html")
    _check_glyphs(typst, {item.text for scene in scenes for item in scene.items if isinstance(item, Text)})
    source = HEAD + "\n#pagebreak()\n".join(map(_page, scenes))
    compiled: Any = typst.compile(source.encode(), format=form, ppi=PIXELS_PER_INCH)
    return bytes(compiled[0] if isinstance(compiled, list) else compiled)


def check_typst() -> Any:
    """The module typst. Raises SynparseError, with the command that installs it, if it is missing."""
    try:
        import typst
    except ImportError:
        raise SynparseError(
            "PDF and PNG need Typst, which is not installed: pip install 'synparse[draw]'; or use .svg or .html"
        ) from None
    return typst


def _page(scene: Scene) -> str:
    """Typst markup of one page."""
    shapes = svg(replace(scene, items=[item for item in scene.items if not isinstance(item, Text)]))
    size = f"width: {_points(scene.width)}, height: {_points(scene.height)}"
    image = f'#place(top + left, image(bytes({_quoted(shapes)}), format: "svg", {size}))'
    texts = []
    for item in (item for item in scene.items if isinstance(item, Text)):  # each in a wide box, aligned at its anchor
        side, shift = {"start": ("left", 0.0), "middle": ("center", 0.5), "end": ("right", 1.0)}[item.anchor]
        look = f'size: {_points(item.size)}, fill: rgb("{scene.inks[item.ink]}")' + ', weight: "bold"' * item.bold
        aligned = f"align({side}, text({look}, {_font_and_text(item.text, fonts_for(item.text, scene.font))}))"
        position = f"dx: {_points(item.x - shift * MAX_TEXT_WIDTH)}, dy: {_points(item.y)}"
        texts.append(f"#place(top + left, {position}, box(width: {_points(MAX_TEXT_WIDTH)}, {aligned}))")
    return "\n".join([f"#set page({size})", image, *texts])


def _font_and_text(text: str, fonts: Sequence[str]) -> str:
    """Arguments of Typst's ``text``. There are always several fonts, so no final comma is needed."""
    return f"font: ({', '.join(map(_quoted, fonts))}), {_quoted(text)}"


def _check_glyphs(typst: Any, texts: Iterable[str]) -> None:
    """Raises SynparseError, with the script and a font to install, for a character that no font has."""
    clusters = {cluster: fonts_for(text) for text in texts for cluster in _clusters(text)}
    lines = [f"#text({_font_and_text(cluster, clusters[cluster])})" for cluster in sorted(clusters)]

    def problem(start: int, end: int) -> str:
        """Error message of Typst for some of the lines, empty if all their characters have glyphs."""
        try:
            typst.compile((HEAD + "\n".join(lines[start:end])).encode(), format="pdf", pdf_standards=STANDARD)
        except typst.TypstError as error:
            return str(error).partition("\n")[0]
        return ""

    start, end = 0, len(lines)
    message = problem(start, end)
    if not message:
        return
    if NO_GLYPH in message:
        while end - start > 1:  # Typst may name the letter if its combining mark has no glyph
            middle = (start + end) // 2
            start, end = (start, middle) if problem(start, middle) else (middle, end)
        message = _no_glyph(sorted(clusters)[start])
    raise SynparseError(f"{message}; or use .svg or .html")


def _clusters(text: str) -> list[str]:
    """Visible characters of ``text``, each with its combining marks, which a font draws together."""
    clusters: list[str] = []
    for character in text:
        category = unicodedata.category(character)
        if category.startswith("M") and clusters:
            clusters[-1] += character
        elif category not in INVISIBLE:
            clusters.append(character)
    return clusters


def _no_glyph(cluster: str) -> str:
    """The error message for a character, or a letter with combining marks, that no font has."""
    names = [unicodedata.name(character, f"U+{ord(character):04X}") for character in cluster]
    script = "CJK" if names[0].startswith("CJK") else names[0].split()[0].capitalize()
    kind = f"the {script} character" if cluster[0].isalpha() else "the character"
    font, category = fonts_for(cluster)[0], unicodedata.category(cluster[0])
    if font == LATIN_FONTS[0] and script not in ("Latin", "Greek", "Cyrillic"):
        font = f"Noto Sans {script}"
        if category in ("Cn", "Co"):  # not assigned, or for private use
            font = ""
        elif category.startswith("S") and cluster > FIRST_SYMBOL:
            font = "Noto Emoji" if cluster > FIRST_EMOJI else "Noto Sans Symbols 2"
    return f"no font has {kind} {cluster!r} ({', '.join(names)})" + f"; install one, such as {font}" * bool(font)


def _points(pixels: float) -> str:
    return f"{pixels * POINT:.2f}pt"


def _quoted(text: str) -> str:
    """``text`` as a string of Typst."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
