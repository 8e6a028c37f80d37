"""Pictures as files: SVG, PDF, PNG, LaTeX, or one self-contained page of HTML. The suffix of the name chooses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from treebank.base.errors import SynparseError
from treebank.base.files import write_whole
from treebank.draw.latex import document
from treebank.draw.panels import scene_of
from treebank.draw.picture import Picture
from treebank.draw.scene import DARK, Ink, Look, Scene
from treebank.draw.svg import column, svg, without_invalid
from treebank.draw.typeset import check_typst, pdf, png
from treebank.io.output_path import check_output

if TYPE_CHECKING:
    from jinja2 import Environment

BREAKS = re.compile(r"(?<=[/_.])(?=\w)")  # possible line breaks in names of models and settings
DEFAULT_LOOK = Look()
MAX_LISTED = 200  # sentences at the top of a page; a longer list is left out
#: suffix -> function that makes a file of scenes
SCENES: dict[str, Callable[[Sequence[Scene]], bytes]] = {
    ".svg": lambda scenes: svg(column(scenes)).encode(),
    ".pdf": pdf,
    ".png": lambda scenes: png(column(scenes)),
}
#: suffix -> function that makes a file of pictures with a title
PAGES: dict[str, Callable[[Sequence[Picture], str], bytes]] = {
    ".html": lambda pictures, title: page(pictures, title).encode(),
    ".tex": lambda pictures, title: document(pictures).encode(),
}
SUFFIXES = (*SCENES, *PAGES)


def check_format(path: str, suffixes: Iterable[str] = SUFFIXES) -> str:
    """The suffix of a picture. Raises SynparseError for an unknown one and if a package that it needs is missing."""
    allowed = tuple(suffixes)
    check_output(path, suffixes=allowed)
    suffix = next(suffix for suffix in allowed if path.lower().endswith(suffix))
    if suffix in (".pdf", ".png"):
        check_typst()
    return suffix


def write_pictures(pictures: Sequence[Picture], path: str, *, title: str = "Trees", look: Look = DEFAULT_LOOK) -> None:
    """Draw all pictures into one file. An existing file is replaced only after they are drawn.

    ``title`` is for .html, and ``look`` for .svg, .pdf and .png. Raises SynparseError if there is no picture.
    """
    suffix = check_format(path)
    if not pictures:
        raise SynparseError(f"{path}: there is no sentence to draw; name other input or other --sentences")
    if suffix in SCENES:
        write_scenes([look.of(scene_of(picture)) for picture in pictures], path)
    else:
        write_whole(path, PAGES[suffix](pictures, title))


def write_scenes(scenes: Sequence[Scene], path: str) -> None:
    """Write scenes below each other, or on pages of their own in a PDF, into an .svg, .pdf or .png file."""
    write_whole(path, SCENES[check_format(path, SCENES)](scenes))


def page(pictures: Sequence[Picture], title: str) -> str:
    """The page for light and dark screens and for paper: each picture below its sentence, and a list at the top."""
    return render("page.html", title=title, pictures=pictures, max_listed=MAX_LISTED)


def figure(picture: Picture, name: str) -> str:
    """One picture below its sentence, as part of a page. ``name`` is a prefix of its ids."""
    return str(templates().get_template("figure.html").module.figure(picture, name))  # type: ignore[attr-defined]


def ink_rules(inks: Mapping[Ink, str], indent: str = "") -> str:
    """CSS rules for the color of each ink in pictures of a page."""
    rules = []
    for ink in Ink:
        color = inks[ink]
        rules.append(f"{indent}svg text.{ink}, svg rect.{ink}, svg path.{ink}.filled {{ fill: {color}; }}")
        rules.append(f"{indent}svg path.{ink}:not(.filled), svg rect.{ink}[stroke] {{ stroke: {color}; }}")
    return "\n".join(rules) + "\n"


def render(template: str, package: str = "treebank.draw", **values: Any) -> str:
    """A page from a template in the folder ``templates`` of a package. It can extend ``base.html``."""
    return templates(package).get_template(template).render(values)


@cache
def templates(package: str = "treebank.draw") -> Environment:
    """The templates of a package and those of this one. Every text is escaped in HTML, and invalid characters are lost.

    The filter ``drawn`` gives the SVG of a picture or scene, with ids that begin with a name, and ``breakable`` a name
    with possible line breaks.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, select_autoescape
    from markupsafe import Markup

    def drawn(picture: Picture | Scene, name: str) -> Markup:
        scene = scene_of(picture) if isinstance(picture, Picture) else picture
        return Markup(svg(scene, paper="", name=name))

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, "treebank.draw"))]),
        autoescape=select_autoescape(["html"]),
        finalize=lambda value: without_invalid(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["drawn"] = drawn
    environment.filters["breakable"] = lambda name: Markup("<wbr>").join(BREAKS.split(without_invalid(name)))
    environment.globals["dark"] = ink_rules(DARK, "  ")
    return environment
