"""Results printed as table, JSON, CSV or LaTeX, with the same content in each format."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence

import click

from cli.output import BEST, plain_table, print_json, print_table
from treebank.base.tables import Result, Table

FORMATS = ("table", "json", "csv", "latex")


def show(result: Result, form: str) -> None:
    """Print a result in one of `FORMATS`."""
    if form == "json":
        print_json(result.to_json())
    elif form == "csv":
        print_csv(result.tables())
    elif form == "latex":
        print_latex(result.tables())
    else:
        print_tables(result.tables())


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables with title and footnotes, colored on a terminal."""
    for number, table in enumerate(tables):
        if number:
            click.echo()
        if table.title:
            click.echo(table.title)
        print_table(table.header(), _marked(table), text_columns=_text_columns(table), dim=table.muted)
        if table.footnotes:
            click.echo("\n" + "\n".join(table.footnotes))


def print_csv(tables: Sequence[Table]) -> None:
    """Print unrounded numbers. Titles and footnotes are lines that begin with ``#``."""
    for number, table in enumerate(tables):
        records = table.records()
        if number:
            click.echo()
        if table.title:
            click.echo(f"# {table.title}")
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(records[0] if records else table.header())
        writer.writerows(record.values() for record in records)
        for note in table.footnotes:
            click.echo(f"# {note}")


def print_latex(tables: Sequence[Table]) -> None:
    """Print tables for LaTeX with the package booktabs. The best values are bold, and footnotes are comments."""
    for table in tables:
        rows = table.texts()
        text = plain_table(table.header(), _marked(table), _text_columns(table), form="latex_booktabs")
        for row, column in table.best:
            text = text.replace(f"{BEST}{rows[row][column]}", rf"\textbf{{{rows[row][column]}}}")
        for line in filter(None, [table.title, *table.footnotes]):
            text += f"\n% {line}"
        click.echo(text)


def _marked(table: Table) -> list[list[str]]:
    """The cells with a mark before the best values."""
    return [
        [BEST + text if (row, column) in table.best else text for column, text in enumerate(texts)]
        for row, texts in enumerate(table.texts())
    ]


def _text_columns(table: Table) -> int:
    """Number of columns of text at the left of a table."""
    count = len(table.header())
    return next((index for index in range(count) if not table.is_text(index)), count)
