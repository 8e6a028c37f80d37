"""Tables for people, on a terminal or in a file, and JSON for programs."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import click

from treebank.errors import SynparseError, placed
from treebank.tree import Tree

STDOUT = ("-", "/dev/stdout")  # as the name of a file to write
SHORTEST_NAME = 12  # columns that a folded name gets at least


def print_json(value: Any) -> None:
    """Writes ``value`` as indented JSON, in UTF-8."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, text_columns: int = 1) -> None:
    """Writes a table: coloured on a terminal, plain elsewhere.

    The first ``text_columns`` columns are text on the left, all others numbers on the right.
    """
    if sys.stdout.isatty():
        _print_rich(header, rows, text_columns)
    else:
        click.echo(plain_table(header, rows, text_columns))


def plain_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int, *, form: str = "simple"
) -> str:
    """The table as text in one of tabulate's formats; every cell as it is."""
    from tabulate import tabulate

    align = ["left" if column < text_columns else "right" for column in range(len(header))]
    return tabulate(rows, headers=header, tablefmt=form, colalign=align, disable_numparse=True)


def _print_rich(header: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int) -> None:
    """The table in the width of the terminal; long names are folded, never a number."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    narrowest = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    narrowest[0] = min(narrowest[0], SHORTEST_NAME)
    needed = sum(narrowest) + len(header)
    console = Console()
    console.width = max(console.width, needed)
    roomy = console.width >= needed + 2 * len(header) + SHORTEST_NAME
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, int(roomy)), header_style="bold")
    for column, title in enumerate(header):
        if column == 0:
            table.add_column(title, overflow="fold", min_width=narrowest[0])
        else:
            justify: Literal["left", "right"] = "left" if column < text_columns else "right"
            table.add_column(title, justify=justify, no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def drawing(tree: Tree) -> str:
    """The tree as a picture made of characters, without tags; "" for no words."""
    from nltk.tree.prettyprinter import TreePrettyPrinter

    if not tree.words:
        return ""
    bare = Tree(tree.words, ("",) * len(tree), tree.spans, tree.labels).to_nltk()
    for index, place in enumerate(bare.treepositions("leaves")):  # or words beside phrases change places
        bare[place] = index
    picture: str = TreePrettyPrinter(bare, list(tree.words)).text(unicodelines=True)
    return picture


@contextmanager
def opened(path: str | None) -> Iterator[Callable[[str], None]]:
    """A function that writes one line to standard output, or to the file ``path`` (compressed if it ends in ``.gz``).

    The file is written under the name ``path.part`` and renamed when all is done: an earlier file of that name is safe
    until then, and whatever was written before an error is kept in the part. Devices and pipes are written directly.
    """
    if path is None or path in STDOUT:
        yield lambda line: print(line, flush=True)  # not click.echo, which takes escape sequences out of words
        return
    if os.path.isdir(path):
        raise SynparseError(f"{path}: this is a folder; name a file to write")
    direct = os.path.exists(path) and not os.path.isfile(path)
    target = os.path.realpath(path) if os.path.islink(path) else path  # a link stays, what it points to is replaced
    place = path if direct else target + ".part"
    opener: Any = gzip.open if path.lower().endswith(".gz") else open
    with placed(place), opener(place, "wt", encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
        yield lambda line: print(line, file=stream)
    if not direct:
        os.replace(place, target)
