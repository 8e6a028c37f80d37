"""Lines and texts on the grid of characters of a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntFlag

from treebank.base.terminal_text import columns
from treebank.draw.measure import runs_right_to_left
from treebank.draw.scene import Ink

LEFT_TO_RIGHT_MARK = "\u200e"  # keeps the words around it in their columns in terminals that reorder scripts


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
            yield _pieces(by_row.get(row, {}))


def _pieces(cells: dict[int, Piece]) -> list[Piece]:
    pieces: list[Piece] = []
    at = 0
    for column, (text, ink) in sorted(cells.items()):
        blanks = " " * (column - at)
        at = column + columns(text)
        if runs_right_to_left([text]):
            text = f"{LEFT_TO_RIGHT_MARK}{text}{LEFT_TO_RIGHT_MARK}"
        if pieces and pieces[-1][1] == ink:
            pieces[-1] = pieces[-1][0] + blanks + text, ink
        else:
            pieces.append((blanks + text, ink))
    return pieces
