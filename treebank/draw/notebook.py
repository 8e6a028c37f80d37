"""Pictures in Python: trees and heads in a notebook, as files, text and LaTeX."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from treebank.base.errors import SynparseError
from treebank.core.sentence import Location, Sentence
from treebank.core.tree import Tree
from treebank.draw.files import write_pictures
from treebank.draw.latex import dependency, forest
from treebank.draw.layout import scene_of
from treebank.draw.page import figure, ink_rules
from treebank.draw.picture import GOLD, Analysis, Picture
from treebank.draw.reading import fitted
from treebank.draw.scene import DARK
from treebank.draw.svg import column, svg
from treebank.draw.terminal import plain

DRAWABLE = "a tree, a sentence or a pair of words and heads"
Drawable = Tree | Sentence | Analysis | tuple[Sequence[str], Sequence[int]]  # the last: words and their heads


@dataclass(frozen=True)
class Drawing:
    """Pictures that a notebook displays and that ``print`` draws with characters."""

    pictures: tuple[Picture, ...]

    def _repr_html_(self) -> str:
        """All pictures, in the light or dark style of the page."""
        lines = [
            line
            for number, picture in enumerate(self.pictures)
            for line in figure(picture, f"synparse-{id(self)}-{number}")
        ]
        dark = f"@media (prefers-color-scheme: dark) {{\n{ink_rules(DARK)}}}"
        return f"<style>.synparse .scroll {{ overflow-x: auto; }}\n{dark}</style>\n" + (
            '<div class="synparse">\n' + "\n".join(lines) + "\n</div>"
        )

    def __str__(self) -> str:
        width = shutil.get_terminal_size().columns
        return "\n\n".join(plain(picture, width) for picture in self.pictures)

    def to_svg(self) -> str:
        """All pictures as one SVG."""
        return svg(column([scene_of(picture) for picture in self.pictures]))

    def to_latex(self) -> str:
        """The bodies of all pictures for the packages forest and tikz-dependency."""
        marked = [entry for picture in self.pictures for entry in picture.marked()]
        trees = [
            forest(entry.analysis.tree, entry.brackets) if entry.analysis.tree is not None else "" for entry in marked
        ]
        heads = [dependency(entry) if entry.analysis.heads else "" for entry in marked]
        return "\n".join(text for pair in zip(trees, heads, strict=True) for text in pair if text)

    def save(self, path: str, *, title: str = "Trees") -> None:
        """Write all pictures to one file. Its suffix chooses the format, as in ``synparse draw -o``."""
        write_pictures(self.pictures, path, title=title)


def draw(
    drawable: Drawable | Iterable[Drawable], *others: Iterable[Drawable], gold: Iterable[Drawable] = ()
) -> Drawing:
    """Pictures of trees, heads (pairs of words and heads) or sentences, one or many.

    ``others`` are analyses of the same sentences by further systems, and ``gold`` the analyses that all are compared
    with. Raises SynparseError if the words of gold differ, and for trees against heads.
    """
    systems = [_analyses(system, str(number)) for number, system in enumerate((drawable, *others), start=1)]
    references = _analyses(gold, GOLD)
    pictures = []
    for number, row in enumerate(zip(*systems, strict=True)):
        reference = references[number] if references else None
        if reference is not None:
            row = tuple(fitted(analysis, Location(analysis.name, 0), reference.words) for analysis in row)
        picture = Picture(str(number + 1) if len(systems[0]) > 1 else "", row, reference)
        picture.check_compared()
        pictures.append(picture)
    return Drawing(tuple(pictures))


def _analyses(values: Any, name: str) -> list[Analysis]:
    """The analyses in one drawable value, or in an iterable of several."""
    if isinstance(values, Tree | Sentence | Analysis | str) or _is_pair(values) or hasattr(values, "leaves"):
        return [_analysis(values, name)]
    if not isinstance(values, Iterable):
        raise SynparseError(f"cannot draw {type(values).__name__}: {values!r}; give {DRAWABLE}")
    return [_analysis(value, name) for value in values]


def _is_pair(value: object) -> bool:
    """Whether ``value`` is a pair of words and heads."""
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(head, int) for head in value[1])


def _analysis(value: Any, name: str) -> Analysis:
    if isinstance(value, Analysis):
        return value
    if isinstance(value, Sentence):
        return Analysis.of_sentence(value, name)
    if _is_pair(value):
        return Analysis(name, tuple(value[0]), heads=tuple(value[1]))
    try:
        return Analysis.of_tree(Tree.of(value), name)
    except (TypeError, ValueError) as error:
        raise SynparseError(f"cannot draw this: {error}; give {DRAWABLE}") from None


def display_svg(value: Tree | Sentence) -> str:
    """The tree or the heads of a sentence as SVG, or its words if it has neither."""
    return svg(scene_of(Picture("", (_analysis(value, ""),))), name=f"picture-{id(value)}")


def register_display(ipython: Any) -> None:
    """Make an IPython shell display trees and sentences as pictures."""
    formatter = ipython.display_formatter.formatters["image/svg+xml"]
    for kind in (Tree, Sentence):
        formatter.for_type(kind, display_svg)
