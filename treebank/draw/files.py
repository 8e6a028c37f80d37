"""Pictures as files; the end of the name says of which kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from treebank.base.atomic_write import write_whole
from treebank.base.errors import SynparseError
from treebank.draw.latex import document
from treebank.draw.layout import scene_of
from treebank.draw.page import page
from treebank.draw.picture import Picture
from treebank.draw.svg import column, svg
from treebank.draw.typeset import check_typst, pdf, png

#: end of the name -> what makes the file of pictures and a title
KINDS: dict[str, Callable[[Sequence[Picture], str], bytes]] = {
    ".svg": lambda pictures, title: svg(column(list(map(scene_of, pictures)))).encode(),
    ".pdf": lambda pictures, title: pdf(list(map(scene_of, pictures))),
    ".png": lambda pictures, title: png(column(list(map(scene_of, pictures)))),
    ".html": lambda pictures, title: page(pictures, title).encode(),
    ".tex": lambda pictures, title: document(pictures).encode(),
}


def check_target(path: str) -> str:
    """The kind of picture that is asked for. Raises SynparseError if it is not known or cannot be made here."""
    kind = os.path.splitext(path)[1].lower()
    if kind not in KINDS:
        raise SynparseError(f"{path}: the kind of picture is told by the name; end it in {', '.join(KINDS)}")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise SynparseError(f"{path}: there is no folder {folder}")
    if os.path.isdir(path):
        raise SynparseError(f"{path}: this is a folder; name a file to write")
    if kind in (".pdf", ".png"):
        check_typst()
    return kind


def write_pictures(pictures: Sequence[Picture], path: str, *, title: str = "Trees") -> None:
    """Draw all pictures into one file. An earlier file of that name is safe until they are drawn."""
    made = KINDS[check_target(path)](pictures, title)
    write_whole(path, made)
