"""Pictures as files. The suffix of the name chooses the format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from treebank.base.errors import SynparseError
from treebank.base.files import write_whole
from treebank.draw.latex import document
from treebank.draw.page import page
from treebank.draw.panels import scene_of
from treebank.draw.picture import Picture
from treebank.draw.scene import Scene
from treebank.draw.svg import column, svg
from treebank.draw.typeset import check_typst, pdf, png
from treebank.io.output_path import check_output

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


def write_pictures(pictures: Sequence[Picture], path: str, *, title: str = "Trees") -> None:
    """Draw all pictures into one file. An existing file is replaced only after they are drawn.

    Raises SynparseError if there is no picture.
    """
    suffix = check_format(path)
    if not pictures:
        raise SynparseError(f"{path}: there is no sentence to draw; name other input or other --sentences")
    if suffix in SCENES:
        write_scenes(list(map(scene_of, pictures)), path)
    else:
        write_whole(path, PAGES[suffix](pictures, title))


def write_scenes(scenes: Sequence[Scene], path: str) -> None:
    """Write scenes below each other, or on pages of their own in a PDF, into an .svg, .pdf or .png file."""
    write_whole(path, SCENES[check_format(path, SCENES)](scenes))
