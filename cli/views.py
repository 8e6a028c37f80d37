"""Results printed as table, JSON, CSV or LaTeX, with the same content in each format."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import redirect_stdout
from itertools import chain
from typing import IO, Literal, cast

import click

from cli.output import STANDARD_OUTPUT, open_output, wrapped
from cli.process import ColoredOutput
from treebank.base.metadata import json_text
from treebank.base.tables import Result, Table, csv_line, plain_table, printable

FORMATS = ("table", "json", "csv", "latex")
BEST = "*"  # precedes the best number of a table
SIGNATURE = "|"  # in a footnote that stays one line, so that it can be copied
MINUS = re.compile(r"(?<=[\s\[{])-(?=\d)")  # of a number; LaTeX prints it as a hyphen outside of formulas
MIN_NAME_WIDTH = 12  # columns of a folded name


def show(result: Result, form: str, output: str | None = None) -> None:
    """Print a result in one of `FORMATS`, or as ``tsv``: CSV with tabs. With ``output``, write it into this file."""
    if output and output not in STANDARD_OUTPUT:
        with open_output(output) as write, redirect_stdout(_LineStream(write)):
            show(result, form)
        return
    if form == "json":
        click.echo(json_text(result.to_json(), indent=2))
    elif form == "csv":
        print_csv(result.tables())
    elif form == "tsv":
        print_csv(result.tables(), separator="\t")
    elif form == "latex":
        print_latex(result.tables())
    else:
        print_tables(result.tables())


class _LineStream(io.TextIOBase):
    """Stream of text that passes each complete line to ``write``."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write, self._rest = write, ""

    def write(self, text: str) -> int:
        """Write the lines that ``text`` completes."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._write(line)
        return len(text)


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables with title and footnotes, colored on a terminal. Escape sequences in words are spelled out.

    Columns without any value are left out.
    """
    for number, table in enumerate(map(Table.without_empty_columns, tables)):
        if number:
            click.echo()
        if table.title:
            click.echo(printable(table.title))
        header, *rows = [list(map(printable, texts)) for texts in (table.header(), *_marked(table))]
        if sys.stdout.isatty():
            _print_rich(header, rows, table.text_columns, table.muted)
        else:
            click.echo(plain_table(header, rows, table.text_columns))
        if table.footnotes:
            click.echo()
        for note in map(printable, table.footnotes):
            click.echo(note if SIGNATURE in note else wrapped(note, sys.stdout))


def print_csv(tables: Sequence[Table], *, separator: str = ",") -> None:
    """Print unrounded numbers. Titles and footnotes are lines that begin with ``#``."""
    for number, table in enumerate(tables):
        if number:
            click.echo()
        if table.title:
            click.echo(f"# {table.title}")
        for line in csv_lines(table, separator):
            click.echo(line)
        for note in table.footnotes:
            click.echo(f"# {note}")


def csv_lines(table: Table, separator: str = ",") -> Iterator[str]:
    """The header of a table and its rows with unrounded numbers."""
    records = table.iterate_records()
    first = next(records, None)
    yield csv_line(first or table.header(), separator)
    for record in chain([first] if first else [], records):
        yield csv_line(record.values(), separator)


def print_latex(tables: Sequence[Table]) -> None:
    """Print tables for LaTeX with the package booktabs. The best values are bold, and footnotes are comments."""
    click.echo("% \\usepackage{booktabs}")
    for table in map(Table.without_empty_columns, tables):
        rows = table.texts()
        text = plain_table(table.header(), _marked(table), table.text_columns, form="latex_booktabs")
        for row, column in table.best:
            text = text.replace(f"{BEST}{rows[row][column]}", rf"\textbf{{{rows[row][column]}}}")
        text = MINUS.sub("$-$", text)
        for line in filter(None, [table.title, *table.footnotes]):
            text += f"\n% {line}"
        click.echo(text)


def _marked(table: Table) -> list[list[str]]:
    """The cells with a mark before the best values."""
    return [
        [BEST + text if (row, column) in table.best else text for column, text in enumerate(texts)]
        for row, texts in enumerate(table.texts())
    ]


def _print_rich(header: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int, dim: Collection[int]) -> None:
    """Print the table in the width of the terminal. Long names are folded, numbers are not.

    The rows ``dim`` (from 0) are dimmed, and numbers that begin with `BEST` are bold.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    narrowest = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    narrowest[0] = min(narrowest[0], MIN_NAME_WIDTH)
    needed = sum(narrowest) + len(header)
    console = Console(file=cast(IO[str], ColoredOutput()))
    console.width = max(console.width, needed)
    roomy = console.width >= needed + 2 * len(header) + MIN_NAME_WIDTH
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, int(roomy)), header_style="bold")
    for column, title in enumerate(header):
        if column == 0:
            table.add_column(title, overflow="fold", min_width=narrowest[0])
        else:
            justify: Literal["left", "right"] = "left" if column < text_columns else "right"
            table.add_column(title, justify=justify, no_wrap=True)
    for number, row in enumerate(rows):
        cells = [
            Text(cell, "bold" if cell.startswith(BEST) and i >= text_columns else "") for i, cell in enumerate(row)
        ]
        table.add_row(*cells, style="dim" if number in dim else None)
    console.print(table)
