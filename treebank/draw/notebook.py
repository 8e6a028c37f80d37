"""Pictures in Python: trees and heads in a notebook, as files, text and LaTeX."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT, Location, Sentence
from treebank.core.tree import Tree
from treebank.draw.latex import blocks
from treebank.draw.panels import scene_of
from treebank.draw.picture import GOLD, Analysis, Picture, fitted
from treebank.draw.picture_files import figure, ink_rules, write_pictures
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
        lines = [figure(picture, f"synparse-{id(self)}-{number}") for number, picture in enumerate(self.pictures)]
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
        return "\n".join(block for picture in self.pictures for marked in picture.marked() for block in blocks(marked))

    def save(self, path: str | os.PathLike[str], *, title: str = "Trees") -> None:
        """Write all pictures to one file. Its suffix chooses the format, as in ``synparse draw -o``."""
        write_pictures(self.pictures, os.fspath(path), title=title)


def draw(
    drawable: Drawable | Iterable[Drawable], *others: Iterable[Drawable], gold: Iterable[Drawable] = ()
) -> Drawing:
    """Pictures of trees, heads (pairs of words and heads) or sentences, one or many.

    ``others`` are analyses of the same sentences by further systems, and ``gold`` the analyses that all are compared
    with. A dictionary has systems by name; others are called ``predicted``, or ``system 1`` and so on. Heads need not
    form a tree. Raises SynparseError if something cannot be drawn, if the systems or gold have different numbers of
    sentences, if the words of gold differ, and for trees against heads.
    """
    named = [
        pair
        for number, system in enumerate((drawable, *others), start=1)
        for pair in (
            system.items() if isinstance(system, Mapping) else [(f"system {number}" if others else "predicted", system)]
        )
    ]
    systems = [_analyses(system, name) for name, system in named]
    references = _analyses(gold, GOLD)
    count = len(systems[0])
    counts = {f"system {number}": len(system) for number, system in enumerate(systems, start=1)}
    for name, other in {**counts, GOLD: len(references) or count}.items():
        if other != count:
            raise SynparseError(f"{name}: number of sentences {other}, in system 1 {count}; give the same sentences")
    pictures = []
    for number, row in enumerate(zip(*systems, strict=True)):
        reference = references[number] if references else None
        if reference is not None:
            row = tuple(fitted(analysis, Location(analysis.name, 0), reference.words) for analysis in row)
        picture = Picture(str(number + 1) if count > 1 else "", row, reference)
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
    if not isinstance(value, tuple) or len(value) != 2 or not all(isinstance(part, Sequence) for part in value):
        return False
    return all(isinstance(head, int) for head in value[1])


def _analysis(value: Any, name: str) -> Analysis:
    """The analysis in a drawable value. Raises SynparseError for any other value, and for heads that do not fit."""
    if isinstance(value, Analysis):
        return value
    if isinstance(value, Sentence):
        if value.heads:
            _check_heads(value.words, value.heads)
        return Analysis.of_sentence(value, name)
    if _is_pair(value):
        words = tuple(value[0].split() if isinstance(value[0], str) else value[0])
        _check_heads(words, value[1])
        return Analysis(name, words, heads=tuple(value[1]))
    try:
        return Analysis.of_tree(Tree.of(value), name)
    except (TypeError, ValueError) as error:
        raise SynparseError(f"cannot draw this: {error}; give {DRAWABLE}") from None


def _check_heads(words: Sequence[Any], heads: Sequence[int]) -> None:
    """Raise SynparseError if there is not one head for each word, or if a head is neither a word nor ``ROOT``."""
    if len(heads) != len(words):
        raise SynparseError(f"cannot draw {len(words)} words with {len(heads)} heads; give each word a head")
    for word, head in zip(words, heads, strict=True):
        if not isinstance(word, str):
            raise SynparseError(f"cannot draw {word!r} as a word; give a list of strings")
        if not ROOT <= head < len(words):
            problem = f"cannot draw {head} as the head of {word!r}"
            raise SynparseError(f"{problem}; give the index of a word, 0 to {len(words) - 1}, or {ROOT} for a root")


def display_svg(value: Tree | Sentence) -> str:
    """The tree or the heads of a sentence as SVG, or its words if it has neither."""
    return svg(scene_of(Picture("", (_analysis(value, ""),))), name=f"picture-{id(value)}")


def register_display(ipython: Any) -> None:
    """Make an IPython shell display trees and sentences as pictures."""
    formatter = ipython.display_formatter.formatters["image/svg+xml"]
    for kind in (Tree, Sentence):
        formatter.for_type(kind, display_svg)
