"""Manual pages in roff, one for ``synparse`` and one for each command: ``python -m cli.manual FOLDER`` writes them."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from cli.help import examples_of, option_groups
from cli.main import synparse
from treebank.base.version import VERSION


def manual_pages() -> Iterator[tuple[str, str]]:
    """The name of each page's file and its text."""
    for name, command in commands_of(synparse, "synparse"):
        yield f"{name.replace(' ', '-')}.1", manual_page(name, command)


def commands_of(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """``command`` and all below it, each with the words that call it."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                yield from commands_of(found, f"{name} {inner}")


def manual_page(name: str, command: click.Command) -> str:
    """The page of one command: what it is, how it is called, what it does, its options and its commands."""
    context = click.Context(command, info_name=name)
    title = name.replace(" ", "-")
    lines = [f'.TH "{title.upper()}" 1 "" "synparse {VERSION}" "synparse"', ".SH NAME"]
    lines.append(rf"{roff(title)} \- {roff(command.get_short_help_str(200))}")
    lines += [".SH SYNOPSIS", rf"\fB{roff(name)}\fR {roff(' '.join(command.collect_usage_pieces(context)))}"]
    lines += [".SH DESCRIPTION", *_paragraphs(command.help or "")]
    groups = list(option_groups(command, context))
    lines.append(".SH OPTIONS")
    for title, records in groups:
        lines += [f".SS {roff(title)}"] * (len(groups) > 1) + list(_defined(records))
    if inner := _inner(command, context):
        lines += [".SH COMMANDS", *_defined(inner)]
    if examples := examples_of(context):
        lines += [".SH EXAMPLES", *_defined(examples)]
    above = name.rpartition(" ")[0]
    if above:
        lines += [".SH SEE ALSO", rf"\fB{roff(above.replace(' ', '-'))}\fR(1)"]
    return "\n".join(lines) + "\n"


def _defined(records: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Each term, and what is said of it."""
    for term, told in records:
        yield from (".TP", rf"\fB{roff(term)}\fR", roff(told))


def _inner(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """The commands of a group, with what each is for."""
    if not isinstance(command, click.Group):
        return []
    found = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
    return [(name, inner.get_short_help_str(200)) for name, inner in found if inner is not None]


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a docstring; one that begins with a backspace keeps its lines."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        yield ".PP"
        if paragraph.startswith("\b"):
            yield ".nf"
            yield from map(roff, paragraph.splitlines()[1:])
            yield ".fi"
        else:
            yield roff(" ".join(paragraph.split()))


def roff(text: str) -> str:
    """``text`` so that roff prints it as it is, in one line."""
    text = " ".join(text.splitlines()).replace("\\", r"\e").replace("-", r"\-")
    text = "".join(letter if letter.isascii() else rf"\[u{ord(letter):04X}]" for letter in text)
    return rf"\&{text}" if text.startswith((".", "'")) else text


def write_pages(folder: Path) -> int:
    """Write all pages into ``folder`` and return how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = dict(manual_pages())
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return len(pages)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m cli.manual FOLDER")
    print(f"{write_pages(Path(sys.argv[1]))} pages in {sys.argv[1]}")
