"""Pictures as one self-contained page of HTML for light and dark screens and for paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from treebank.draw.panels import scene_of
from treebank.draw.picture import Picture
from treebank.draw.scene import DARK, LIGHT, Ink
from treebank.draw.svg import escaped, svg

MAX_LISTED = 200  # sentences; a longer list is left out
STYLE = """
:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.45; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; background: #fff; color: #1a1a1a; }
h1 { font-size: 1.4rem; } h2 { font-size: 1rem; margin-bottom: 0.3rem; font-weight: 600; }
a { color: #0063a6; }
nav ol { columns: 24rem; padding-left: 2.5rem; } nav li { overflow-wrap: anywhere; }
figure { margin: 0 0 1.6rem; border-top: 1px solid #ccc; }
.scroll { overflow-x: auto; background: /* a shadow on the right as long as there is more to scroll to */
  linear-gradient(to left, #fff 30%, #fff0) right / 4rem 100% no-repeat local,
  linear-gradient(to left, #0004, #0000) right / 0.9rem 100% no-repeat scroll; }
.scroll:focus-visible { outline: 2px solid #0063a6; }
figcaption { overflow-wrap: anywhere; padding-top: 0.6rem; }
@media (prefers-color-scheme: dark) {
  body { background: #161616; color: #ededed; } a { color: #63b5f0; } figure { border-color: #444; }
  .scroll:focus-visible { outline-color: #63b5f0; }
  .scroll { background:
    linear-gradient(to left, #161616 30%, #16161600) right / 4rem 100% no-repeat local,
    linear-gradient(to left, #fff3, #fff0) right / 0.9rem 100% no-repeat scroll; }
DARK}
@media print {
  nav { display: none; } figure { break-inside: avoid; } .scroll { overflow: visible; background: none; }
  .scroll svg { max-width: 100%; max-height: 21cm; width: auto; height: auto; }
}
"""


def page(pictures: Sequence[Picture], title: str) -> str:
    """The page with each picture below its sentence, and a list of the sentences at the top."""
    return "\n".join(_lines(pictures, title)) + "\n"


def style() -> str:
    """The style sheet of the page, with the colors of the pictures on dark screens."""
    return STYLE.replace("DARK", ink_rules(DARK, "  "))


def ink_rules(inks: Mapping[Ink, str], indent: str = "") -> str:
    """CSS rules for the color of each ink in pictures of a page."""
    rules = []
    for ink in Ink:
        color = inks[ink]
        rules.append(f"{indent}svg text.{ink}, svg rect.{ink}, svg path.{ink}.filled {{ fill: {color}; }}")
        rules.append(f"{indent}svg path.{ink}:not(.filled), svg rect.{ink}[stroke] {{ stroke: {color}; }}")
    return "\n".join(rules) + "\n"


def _lines(pictures: Sequence[Picture], title: str) -> Iterator[str]:
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escaped(title)}</title>\n<style>{style()}</style>\n</head>\n<body>\n<h1>{escaped(title)}</h1>"
    if 1 < len(pictures) <= MAX_LISTED:
        yield '<nav aria-label="Sentences">\n<ol>'
        for number, picture in enumerate(pictures, start=1):
            yield f'<li><a href="#picture-{number}" dir="auto">{escaped(" ".join(picture.words))}</a></li>'
        yield "</ol>\n</nav>"
    yield "<main>"
    for number, picture in enumerate(pictures, start=1):
        yield from figure(picture, f"picture-{number}")
    yield "</main>\n</body>\n</html>"


def figure(picture: Picture, name: str) -> Iterator[str]:
    """One picture below its sentence. A wide picture scrolls separately, also with the keyboard."""
    words = escaped(" ".join(picture.words))
    yield f'<figure id="{name}">\n<figcaption dir="auto">{words}</figcaption>'
    yield f'<div class="scroll" tabindex="0" role="group" aria-label="picture of: {words}">'
    yield svg(scene_of(picture), inks=LIGHT, paper="", name=name)
    yield "</div>\n</figure>"
