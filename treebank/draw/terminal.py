"""Pictures made of characters: trees, rotated if the window is too narrow, and arcs for heads."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntFlag
from functools import partial
from itertools import accumulate

from treebank.base.tables import columns, printable
from treebank.core.sentence import ROOT, Sentence
from treebank.draw.arc_layout import Arc, arcs_of, levels_of
from treebank.draw.measure import runs_right_to_left
from treebank.draw.panels import shares
from treebank.draw.picture import GOLD, Analysis, Marked, Picture, plain_words
from treebank.draw.scene import Ink
from treebank.draw.tree_layout import BARE_LABELS, BARE_TAGS, Branches, make_room, visible

#: styles of rich; the marks make the same distinction without color
STYLES = {
    Ink.PLAIN: "",
    Ink.FAINT: "dim",
    Ink.SHARED: "bold blue",
    Ink.MISSED: "bold yellow",
    Ink.EXTRA: "bold magenta",
    Ink.BAR: "cyan",
    Ink.SHADE: "cyan",
}
MARKS = {Ink.SHARED: "●", Ink.MISSED: "○", Ink.EXTRA: "×", Ink.BAR: "▇"}
EIGHTHS = " ▁▂▃▄▅▆▇█"
SHADES = "·░▒▓█"
MAX_ARC_WORDS = 200  # longer sentences are drawn as a table of heads
LEFT_TO_RIGHT_MARK = "\u200e"  # keeps the words around it in their columns in terminals that reorder scripts
MAX_BAR = 12  # columns of the bar of a distance next to a rotated tree


class Side(IntFlag):
    """The sides on which a line leaves its cell."""

    UP = 1
    DOWN = 2
    LEFT = 4
    RIGHT = 8


_GLYPHS = " │││─┘┐┤─└┌├─┴┬┼"  # by the sum of the sides
_EXCHANGED = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT}
Piece = tuple[str, Ink]


@dataclass
class Grid:
    """Cells by row and column. A text hides the lines."""

    lines: dict[tuple[int, int], tuple[int, Ink]] = field(default_factory=dict)
    texts: dict[tuple[int, int], Piece] = field(default_factory=dict)

    def line(self, row: int, column: int, sides: int, ink: Ink) -> None:
        """Add a line that leaves the cell on these sides."""
        before, _ = self.lines.get((row, column), (0, ink))
        self.lines[row, column] = before | sides, ink

    def across(self, row: int, start: int, end: int, ink: Ink) -> None:
        """A line from one column to another."""
        start, end = min(start, end), max(start, end)
        for column in range(start, end + 1):
            sides = Side.LEFT * (column > start) | Side.RIGHT * (column < end)
            self.line(row, column, sides, ink)

    def down(self, column: int, start: int, end: int, ink: Ink) -> None:
        """A line from one row to another."""
        start, end = min(start, end), max(start, end)
        for row in range(start, end + 1):
            self.line(row, column, Side.UP * (row > start) | Side.DOWN * (row < end), ink)

    def text(self, row: int, column: int, text: str, ink: Ink = Ink.PLAIN) -> None:
        """Write ``text`` from this column on."""
        if text:
            self.texts[row, column] = text, ink

    @property
    def height(self) -> int:
        return max((row for row, _ in [*self.lines, *self.texts]), default=-1) + 1

    @property
    def width(self) -> int:
        ends = [column + columns(text) for (_, column), (text, _) in self.texts.items()]
        return max([*ends, *(column + 1 for _, column in self.lines)], default=0)

    def mirrored(self) -> Grid:
        """The grid with left and right exchanged. Texts stay readable."""
        width, other = self.width, Grid()
        for (row, column), (sides, ink) in self.lines.items():
            swapped = sides & ~(Side.LEFT | Side.RIGHT)
            for side, opposite in _EXCHANGED.items():
                swapped |= opposite if sides & side else 0
            other.lines[row, width - 1 - column] = swapped, ink
        for (row, column), (text, ink) in self.texts.items():
            other.texts[row, width - column - columns(text)] = text, ink
        return other

    def rows(self) -> Iterator[list[Piece]]:
        """Each row as pieces of one ink, from left to right, without spaces at the end."""
        by_row: dict[int, dict[int, Piece]] = {}
        for (row, column), (sides, ink) in self.lines.items():
            by_row.setdefault(row, {})[column] = _GLYPHS[sides], ink
        for (row, column), (text, ink) in self.texts.items():
            cells = by_row.setdefault(row, {})
            for hidden in range(column, column + columns(text)):
                cells.pop(hidden, None)
            cells[column] = text, ink
        for row in range(self.height):
            pieces: list[Piece] = []
            at = 0
            for column, (text, ink) in sorted(by_row.get(row, {}).items()):
                blanks = " " * (column - at)
                at = column + columns(text)
                if runs_right_to_left([text]):
                    text = f"{LEFT_TO_RIGHT_MARK}{text}{LEFT_TO_RIGHT_MARK}"
                if pieces and pieces[-1][1] == ink:
                    pieces[-1] = pieces[-1][0] + blanks + text, ink
                else:
                    pieces.append((blanks + text, ink))
            yield pieces


def drawn(picture: Picture, width: int) -> Iterator[list[Piece]]:
    """The rows of a picture for a window ``width`` columns wide, as pieces of one ink each."""
    if picture.title:
        yield [(printable(picture.title), Ink.FAINT)]
    marked = [replace(entry, analysis=entry.analysis.with_texts(printable)) for entry in picture.marked()]
    for entry in marked:
        title = " — ".join(filter(None, [entry.analysis.name, entry.note])) if len(marked) > 1 or entry.note else ""
        if title:
            yield [(title, Ink.PLAIN)]
        yield from _drawn(entry, width)
    if picture.translation:
        yield [(f"‘{printable(picture.translation)}’", Ink.FAINT)]
    texts = {MARKS.get(ink, "·"): (ink, text) for ink, text in picture.legend.items() if ink != Ink.FAINT}
    if texts:
        yield [part for mark, (ink, text) in texts.items() for part in ((f"{mark} ", ink), (f"{text}   ", Ink.FAINT))]


def draw_sentence(sentence: Sentence, gold: Sentence | None = None, *, name: str = "", width: int) -> str:
    """The tree or heads of a sentence, predicted by the system ``name``, as text next to ``gold``."""
    reference = None if gold is None else Analysis.of_sentence(gold, GOLD)
    return plain(Picture("", (Analysis.of_sentence(sentence, name),), reference), width)


def plain(picture: Picture, width: int) -> str:
    """The picture as text without color."""
    return "\n".join("".join(text for text, _ in row).rstrip() for row in drawn(picture, width))


def _drawn(marked: Marked, width: int) -> Iterator[list[Piece]]:
    """One analysis: upright, rotated, or as text if neither fits."""
    analysis = marked.analysis
    if not analysis.words:
        return
    shapes = _shapes(analysis, width)
    grid = next((grid for shape in shapes if (grid := shape(marked)).width <= width), None)
    if grid is not None:
        yield from (grid.mirrored() if runs_right_to_left(analysis.words) else grid).rows()
    else:
        if analysis.tree is not None or analysis.heads:
            yield [(f"(too wide to draw in {width} columns)", Ink.FAINT)]
        yield [(plain_words(analysis), Ink.PLAIN)]
    yield from _matrix(analysis, width)


def _shapes(analysis: Analysis, width: int) -> Sequence[Callable[[Marked], Grid]]:
    """The ways to draw an analysis that may fit into the window, the best first."""
    fits_upright = sum(columns(word) + 1 for word in analysis.words) <= width + 1
    if analysis.tree is not None:
        fits_rotated = Branches(analysis.tree).levels <= width
        return [_upright_tree] * fits_upright + [_rotated_tree, partial(_rotated_tree, bare=True)] * fits_rotated
    if analysis.heads:
        has_arcs = len(analysis.words) <= MAX_ARC_WORDS
        return [_upright_heads] * (fits_upright and has_arcs) + [_rotated_heads] * has_arcs + [_table_of_heads]
    return []


def _upright_tree(marked: Marked) -> Grid:
    """Brackets above the words, one or, with labels, two rows for each level."""
    analysis = marked.analysis
    assert analysis.tree is not None
    branches, tree = Branches(analysis.tree), analysis.tree
    labels = [visible(label, BARE_LABELS) for label in tree.labels]
    widths = _widths(analysis)
    make_room(branches, widths, [(columns(label) + 1) / 2 + 0.5 for label in labels])
    words = _columns(widths)
    columns_of = [math.floor(column) for column in branches.middles(words)]
    rows = 2 if branches.labelled else 1
    grid, bottom = Grid(), branches.levels * rows
    for k, children in enumerate(branches.children):
        ink = marked.brackets[k]
        row = branches.depths[k] * rows + rows - 1
        if rows == 2:
            left = max(columns_of[k] - (columns(labels[k]) - 1) // 2, 0)
            grid.text(row - 1, left, labels[k] or MARKS.get(ink, "·"), ink)
        grid.line(row, columns_of[k], Side.UP * (rows == 2 or branches.depths[k] > 0), ink)
        ends = [words[child - len(columns_of)] if child >= len(columns_of) else columns_of[child] for child in children]
        grid.across(row, ends[0], ends[-1], ink)
        for child, end in zip(children, ends, strict=True):
            grid.line(row, end, Side.DOWN, ink)
            if child >= len(columns_of) and row + 1 < bottom:
                grid.down(end, row + 1, bottom - 1, ink)
                grid.line(row + 1, end, Side.UP, ink)
                grid.line(bottom - 1, end, Side.DOWN, ink)
        if rows == 1 and ink in MARKS:
            grid.text(row, columns_of[k], MARKS[ink], ink)
    _word_rows(grid, bottom, analysis, widths, words)
    return grid


def _rotated_tree(marked: Marked, *, bare: bool = False) -> Grid:
    """One row per word, with the brackets on the left, one level to the right of the brackets around them.

    ``bare``: without labels, which take most of the width.
    """
    analysis = marked.analysis
    assert analysis.tree is not None
    tree = replace(analysis.tree, labels=("",) * len(analysis.tree.labels)) if bare else analysis.tree
    branches = Branches(tree)
    steps = [2] * (branches.levels + 1)
    for label, depth in zip(tree.labels, branches.depths, strict=True):
        steps[depth] = max(steps[depth], columns(visible(label, BARE_LABELS)) + 2)
    if branches.levels > 30 and not branches.labelled:
        steps = [1] * len(steps)
    columns_of = [column - 1 for column in accumulate(steps)]
    grid, far = Grid(), columns_of[branches.levels - 1] + 2 if branches.levels else 0
    for k, children in enumerate(branches.children):
        ink, column = marked.brackets[k], columns_of[branches.depths[k]]
        first = tree.spans[k][0]
        grid.across(first, column - steps[branches.depths[k]] + 1, column, ink)
        grid.down(column, first, branches.start(children[-1]), ink)
        for child in children:
            row = branches.start(child)
            end = far - 1 if child >= len(tree.spans) else columns_of[branches.depths[child]]
            grid.across(row, column, end, ink)
        label = visible(tree.labels[k], BARE_LABELS) or MARKS.get(ink, "")
        grid.text(first, column - columns(label), label, ink) if steps[0] > 1 else None
    _write_right(grid, far, analysis)
    return grid


def _upright_heads(marked: Marked) -> Grid:
    """Arcs above the words, and missed gold arcs below them."""
    analysis = marked.analysis
    arcs = arcs_of(analysis.heads, marked.arcs)
    missed = arcs_of(marked.missed, [Ink.MISSED] * len(analysis.words))
    widths = _widths(analysis, analysis.relations)
    for count in (*_ends(arcs), *_ends(missed)):
        for word, ends in count.items():
            widths[word] = max(widths[word], 2 * ends + 2.0)
    words = _columns(widths)
    grid = Grid()
    top = _arcs(grid, arcs, words, row=0, upwards=True)
    below = _word_rows(grid, top, analysis, widths, words)
    if missed:
        _arcs(grid, missed, words, row=below, upwards=False)
    return grid


def _ends(arcs: Sequence[Arc]) -> tuple[Counter[int], Counter[int]]:
    """Number of arcs to the right and to the left of each word that has any."""
    inner = [arc for arc in arcs if arc.head != ROOT]
    return Counter(arc.left for arc in inner), Counter(arc.right for arc in inner)


def _arcs(grid: Grid, arcs: Sequence[Arc], words: Sequence[int], *, row: int, upwards: bool) -> int:
    """Draw arcs from ``row`` on and return the first row below them."""
    levels = levels_of(arcs, len(words))
    count = max(levels, default=0)
    at_word = row + count if upwards else row  # the row of the arrows
    rightward, leftward = Counter[int](), Counter[int]()
    for index in sorted(range(len(arcs)), key=lambda index: arcs[index].left - arcs[index].right):
        arc, level = arcs[index], levels[index]
        high = at_word - level if upwards else at_word + level
        if arc.head == ROOT:
            column = words[arc.word]
            grid.down(column, high, at_word, arc.ink)
        else:
            rightward[arc.left] += 1
            leftward[arc.right] += 1
            left, right = words[arc.left] + rightward[arc.left], words[arc.right] - leftward[arc.right]
            grid.across(high, left, right, arc.ink)
            grid.down(left, high, at_word, arc.ink)
            grid.down(right, high, at_word, arc.ink)
            column = left if arc.word == arc.left else right
        grid.text(at_word, column, "×" if arc.ink == Ink.EXTRA else "▼" if upwards else "▲", arc.ink)
    return at_word + 1 if upwards else at_word + count + 1


def _table_of_heads(marked: Marked) -> Grid:
    """One row per word: its number, the word, its head, and the gold head if it differs."""
    analysis, grid = marked.analysis, Grid()
    arcs = arcs_of(analysis.heads, marked.arcs)
    digits = len(str(len(analysis.words)))
    for word, text in enumerate(analysis.words):
        grid.text(word, 0, f"{word + 1:>{digits}}", Ink.FAINT)
        grid.text(word, digits + 1, text)
        grid.text(word, digits + 2 + columns(text), analysis.gloss(word), Ink.FAINT)
    left = grid.width + 2
    for arc in arcs:
        head = "root" if arc.head == ROOT else f"{arc.head + 1} {analysis.words[arc.head]}"
        name = analysis.relations[arc.word] if analysis.relations else ""
        relation = f" {name}" if name not in ("", head) else ""
        gold = f" (gold {marked.missed[arc.word] + 1 or 'root'})" if arc.word in marked.missed else ""
        grid.text(arc.word, left, f"{MARKS.get(arc.ink, '←')} {head}{relation}{gold}", arc.ink)
    return grid


def _rotated_heads(marked: Marked) -> Grid:
    """The table of heads with arcs on the right."""
    analysis, grid = marked.analysis, _table_of_heads(marked)
    arcs = arcs_of(analysis.heads, marked.arcs)
    right = grid.width + 1
    for arc, level in zip(arcs, levels_of(arcs, len(analysis.words)), strict=True):
        if arc.head != ROOT:
            column = right + 2 * level
            grid.down(column, arc.left, arc.right, arc.ink)
            for row in (arc.left, arc.right):
                grid.across(row, right, column, arc.ink)
    for arc in arcs:
        if arc.head != ROOT:
            grid.text(arc.word, right, "◄", arc.ink)
    return grid


def _widths(analysis: Analysis, below: Sequence[str] = ()) -> list[float]:
    """Number of columns of each word with its tag, its gloss or its relation and a space."""
    rows = [analysis.words, [visible(tag, BARE_TAGS) for tag in analysis.tags], *analysis.below, below]
    return [float(max(map(columns, texts)) + 1) for texts in zip(*filter(None, rows), strict=True)]


def _columns(widths: list[float]) -> list[int]:
    """The middle column of each word. ``widths`` are rounded up, too."""
    widths[:] = [float(math.ceil(width)) for width in widths]
    lefts = [0, *(int(left) for left in accumulate(widths))]
    return [left + (int(width) - 2) // 2 for left, width in zip(lefts, widths, strict=False)]


def _word_rows(grid: Grid, row: int, analysis: Analysis, widths: Sequence[float], words: Sequence[int]) -> int:
    """Write tags, words, glosses, relations and distances from ``row`` on, and return the first row below them."""
    tags = [visible(tag, BARE_TAGS) for tag in analysis.tags]
    faint = [(texts, Ink.FAINT) for texts in (*analysis.below, analysis.relations)]
    for texts, ink in [(tags, Ink.FAINT), (analysis.words, Ink.PLAIN), *faint]:
        if any(texts):
            for text, column in zip(texts, words, strict=True):
                grid.text(row, max(column - (columns(text) - 1) // 2, 0), text, ink)
            row += 1
    if analysis.distances:
        lefts = [0, *(int(left) for left in accumulate(widths))]
        for left, share in list(zip(lefts, shares(analysis.distances), strict=False))[1:]:
            if share is not None:
                grid.text(row, left - 1, EIGHTHS[1 + round(share * 7)], Ink.BAR)
        row += 1
    return row


def _write_right(grid: Grid, left: int, analysis: Analysis) -> None:
    """Write words, tags, glosses and distances to the right of a rotated tree."""
    heights = shares(analysis.distances) if analysis.distances else [None] * len(analysis.words)
    tags = [visible(tag, BARE_TAGS) for tag in analysis.tags or ("",) * len(analysis.words)]
    widest = max(map(columns, analysis.words))
    for row, (word, tag, share) in enumerate(zip(analysis.words, tags, heights, strict=True)):
        grid.text(row, left, word)
        grid.text(row, left + columns(word) + 1, " ".join(filter(None, [tag, analysis.gloss(row)])), Ink.FAINT)
        if share is not None and row:
            grid.text(row, left + widest + 2, "▇" * max(1, round(share * MAX_BAR)), Ink.BAR)


def _matrix(analysis: Analysis, width: int) -> Iterator[list[Piece]]:
    """Head probabilities: one row per word, one shade per possible head, and the root on the diagonal."""
    if not analysis.probabilities:
        return
    names = max(map(columns, analysis.words)) + 1
    if names + 2 * len(analysis.words) > width:
        return
    yield [("heads of each word, by position of the head (diagonal: root)", Ink.FAINT)]
    for word, row in zip(analysis.words, analysis.probabilities, strict=True):
        shades = " ".join(SHADES[min(int(max(value, 0.0) * len(SHADES)), len(SHADES) - 1)] for value in row)
        yield [(word + " " * (names - columns(word)), Ink.PLAIN), (shades, Ink.SHADE)]
