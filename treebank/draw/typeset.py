"""Scenes as PDF or PNG, set by Typst (``pip install 'synparse[draw]'``).

Lines and boxes are the SVG of the scene. Typst itself sets the texts, because it shapes the letters of every script.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from treebank.base.errors import SynparseError
from treebank.draw.measure import fonts_for
from treebank.draw.scene import LIGHT, Scene, Text
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
    return "\n".join([f"#set page({size})", image, *(_text(item) for item in scene.items if isinstance(item, Text))])


def _text(item: Text) -> str:
    """Typst markup of a text, aligned in a wide box at its anchor."""
    side, shift = {"start": ("left", 0.0), "middle": ("center", 0.5), "end": ("right", 1.0)}[item.anchor]
    look = f'size: {_points(item.size)}, fill: rgb("{LIGHT[item.ink]}")' + ', weight: "bold"' * item.bold
    aligned = f"align({side}, text({look}, {_font_and_text(item.text, fonts_for(item.text))}))"
    position = f"dx: {_points(item.x - shift * MAX_TEXT_WIDTH)}, dy: {_points(item.y)}"
    return f"#place(top + left, {position}, box(width: {_points(MAX_TEXT_WIDTH)}, {aligned}))"


def _font_and_text(text: str, fonts: Sequence[str]) -> str:
    """Arguments of Typst's ``text``. There are always several fonts, so no final comma is needed."""
    return f"font: ({', '.join(map(_quoted, fonts))}), {_quoted(text)}"


def _check_glyphs(typst: Any, texts: Iterable[str]) -> None:
    """Raises SynparseError, with the script and a font to install, for a character that no font has."""
    characters = {character: fonts_for(text) for text in texts for character in text}
    lines = [  # one character each, so that the error message has it
        f"#text({_font_and_text(character, fonts)})"
        for character, fonts in sorted(characters.items())
        if character.isprintable() and not unicodedata.combining(character)
    ]
    try:
        typst.compile((HEAD + "\n".join(lines)).encode(), format="pdf", pdf_standards=STANDARD)
    except typst.TypstError as error:
        missing = next((line[-3] for line in lines if f"`{line[-4:-1]}`" in str(error)), "")
        problem = _no_glyph(missing) if missing else str(error).partition("\n")[0]
        raise SynparseError(f"{problem}; or use .svg or .html") from None


def _no_glyph(character: str) -> str:
    """The error message for a character that no font has."""
    name = unicodedata.name(character, f"U+{ord(character):04X}")
    script = "CJK" if name.startswith("CJK") else name.split()[0].capitalize()
    font = fonts_for(character)[0]
    if font == fonts_for("a")[0]:
        font = f"Noto Sans {script}"
    kind = f"the {script} character" if character.isalpha() else "the character"
    return f"no font has {kind} {character!r} ({name}); install one, such as {font}"


def _points(pixels: float) -> str:
    return f"{pixels * POINT:.2f}pt"


def _quoted(text: str) -> str:
    """``text`` as a string of Typst."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
