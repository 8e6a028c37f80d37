"""Pictures as files. The suffix of the name chooses the format."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from treebank.base.atomic_write import write_whole
from treebank.draw.latex import document
from treebank.draw.layout import scene_of
from treebank.draw.page import page
from treebank.draw.picture import Picture
from treebank.draw.svg import column, svg
from treebank.draw.typeset import check_typst, pdf, png
from treebank.io.output_path import check_output

#: end of the name -> what makes the file of pictures and a title
KINDS: dict[str, Callable[[Sequence[Picture], str], bytes]] = {
    ".svg": lambda pictures, title: svg(column(list(map(scene_of, pictures)))).encode(),
    ".pdf": lambda pictures, title: pdf(list(map(scene_of, pictures))),
    ".png": lambda pictures, title: png(column(list(map(scene_of, pictures)))),
    ".html": lambda pictures, title: page(pictures, title).encode(),
    ".tex": lambda pictures, title: document(pictures).encode(),
}


def check_format(path: str) -> str:
    """The suffix of a picture. Raises SynparseError for an unknown one and if a package that it needs is missing."""
    check_output(path, suffixes=KINDS)
    suffix = os.path.splitext(path)[1].lower()
    if suffix in (".pdf", ".png"):
        check_typst()
    return suffix


def write_pictures(pictures: Sequence[Picture], path: str, *, title: str = "Trees") -> None:
    """Draw all pictures into one file. An earlier file of that name is safe until they are drawn."""
    made = KINDS[check_format(path)](pictures, title)
    write_whole(path, made)
