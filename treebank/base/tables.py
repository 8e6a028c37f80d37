"""Tables of results, independent of the output format, and text for people: printable, with numbers and nouns.

Every result object (scores, analyses, perplexities) offers ``tables()`` and ``to_json()``. One printer writes the
tables to a terminal, as LaTeX or as CSV, and the object as JSON, so all formats have the same content.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, NamedTuple, Protocol

_FORMULA = re.compile(r"[=@\t\r].|[+-](?![\d.,]+$).", re.DOTALL)  # beginning of a formula, but not a single sign
Interval = tuple[float, float]
Cell = str | int | float | Interval | None  # None is an empty cell


class Column(NamedTuple):
    """A column of a table.

    ``form`` is the format specification of its numbers, such as ``.1f`` or ``+.1f``. A ``wide`` column, such as a
    signature, is only in the records; in tables, footnotes or other columns have its content. Wide columns come last.
    """

    name: str
    form: str = ""
    wide: bool = False


class Table(NamedTuple):
    """A table with a title, one cell per row and column, and footnotes.

    ``best`` holds the (row, column) indices of the values to emphasize, ``muted`` the indices of rows to print in a
    fainter color (baselines). ``footnotes`` explain abbreviations and give the signatures of scores.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    footnotes: Sequence[str] = ()
    best: frozenset[tuple[int, int]] = frozenset()
    muted: frozenset[int] = frozenset()

    def header(self) -> list[str]:
        """The names of the columns that are not wide."""
        return [column.name for column in self.columns if not column.wide]

    def texts(self) -> list[list[str]]:
        """The formatted cells without wide columns, row by row.

        >>> Table("", [Column("UF1", ".1f"), Column("95 % int.", ".1f")], [[9.04, (8, 10)]]).texts()
        [['9.0', '[8.0, 10.0]']]
        """
        return [
            [_text(cell, column.form) for cell, column in zip(row, self.columns, strict=True) if not column.wide]
            for row in self.rows
        ]

    def without_empty_columns(self) -> Table:
        """The table without the columns in which every cell is None. ``best`` has the remaining indices."""
        used = [i for i in range(len(self.columns)) if not self.rows or any(row[i] is not None for row in self.rows)]
        return self._replace(
            columns=[self.columns[i] for i in used],
            rows=[[row[i] for i in used] for row in self.rows],
            best=frozenset((row, used.index(column)) for row, column in self.best),
        )

    def is_text(self, index: int) -> bool:
        """True if a column holds text, which is aligned to the left."""
        return all(isinstance(row[index], str) for row in self.rows)

    def html(self) -> str:
        """The table as HTML without empty columns, for notebooks."""
        table = self.without_empty_columns()
        header = "".join(f"<th>{escape(name)}</th>" for name in table.header())
        rows = ["".join(f"<td>{escape(text)}</td>" for text in row) for row in table.texts()]
        body = "\n".join(f"<tr>{row}</tr>" for row in rows)
        notes = "".join(f"<br>{escape(note)}" for note in self.footnotes)
        return (
            f"<table>\n<caption>{escape(self.title)}</caption>\n<thead><tr>{header}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>\n<p><small>{notes.removeprefix('<br>')}</small></p>"
        )

    @property
    def text_columns(self) -> int:
        """Number of columns of text at the left of the table."""
        count = len(self.header())
        return next((index for index in range(count) if not self.is_text(index)), count)

    def text(self) -> str:
        """The title, the table without empty columns, and the footnotes as lines of text."""
        table = self.without_empty_columns()
        lines = [self.title, plain_table(table.header(), table.texts(), table.text_columns), *self.footnotes]
        return "\n".join(filter(None, lines))

    def records(self) -> list[dict[str, str | int | float | None]]:
        """One dictionary per row with unrounded numbers.

        An interval becomes the two keys ``NAME low`` and ``NAME high``.
        """
        return list(self.iterate_records())

    def iterate_records(self) -> Iterator[dict[str, str | int | float | None]]:
        """Yield the `records` one by one."""
        intervals = {
            column.name
            for row in self.rows
            for column, cell in zip(self.columns, row, strict=True)
            if isinstance(cell, tuple)
        }
        for row in self.rows:
            record: dict[str, str | int | float | None] = {}
            for column, cell in zip(self.columns, row, strict=True):
                if column.name in intervals:
                    low, high = cell if isinstance(cell, tuple) else (None, None)
                    record |= {f"{column.name} low": low, f"{column.name} high": high}
                elif not isinstance(cell, tuple):
                    record[column.name] = cell
            yield record


def csv_line(cells: Iterable[Cell], separator: str = ",") -> str:
    """One line of CSV (RFC 4180), without its end.

    A text that a spreadsheet would take for a formula is preceded by an apostrophe.

    >>> print(csv_line(["a,b", "=SUM(A1)", -1.5]))
    "a,b",'=SUM(A1),-1.5
    """
    safe = [f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell for cell in cells]
    stream = io.StringIO()
    # the writer quotes only the characters of its own line end, and words may contain carriage returns
    csv.writer(stream, delimiter=separator, lineterminator="\r\n").writerow(safe)
    return stream.getvalue().removesuffix("\r\n")


def plain_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int, *, form: str = "simple"
) -> str:
    """The table as text in one of tabulate's formats, with unchanged cells.

    The first ``text_columns`` columns contain left-aligned text, all others right-aligned numbers.
    """
    from tabulate import tabulate

    align = ["left" if column < text_columns else "right" for column in range(len(header))]
    return tabulate(rows, headers=header, tablefmt=form, colalign=align, disable_numparse=True)


class Result(Protocol):
    """An object that can be printed in every output format."""

    def tables(self) -> Sequence[Table]:
        """The tables for people, the most important one first."""

    def to_json(self) -> Any:
        """The whole result as dictionaries, lists, strings and numbers."""


def percent(part: float, total: float) -> float | None:
    """``part`` of ``total`` in percent, or None if ``total`` is 0."""
    return 100 * part / total if total else None


def _text(cell: Cell, form: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, tuple):
        return f"[{cell[0]:{form}}, {cell[1]:{form}}]"
    return f"{cell:{form}}" if isinstance(cell, float) else str(cell)


_UNPRINTABLE = (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xDC80))
_PRINTABLE = {code: f"\\x{code:02x}" for code in _UNPRINTABLE} | {ord("\n"): " "}
_PRINTABLE_LINES = {code: text for code, text in _PRINTABLE.items() if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    """``text`` in one line and without control characters: a space for a line end, ``\\x1b`` for an escape character.

    Characters that change the direction of writing and halves of characters are escaped as well. Letters of all
    scripts stay.
    """
    return text.translate(_PRINTABLE)


def printable_lines(text: str) -> str:
    """Lines of text with control characters spelled out as in `printable`, except line ends and tabs."""
    return text.translate(_PRINTABLE_LINES)


def columns(text: str) -> int:
    """Number of terminal columns of ``text``: 2 for a Chinese character, 0 for a combining mark."""
    from rich.cells import cell_len

    return cell_len(text) if text.isprintable() else len(text)


def quantity(count: int, noun: str) -> str:
    """A count with its noun in the singular or plural.

    >>> quantity(1, "shard"), quantity(2000, "shard")
    ('1 shard', '2,000 shards')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
