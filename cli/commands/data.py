"""``synparse data``: treebanks by name, and corpora on disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from cli.command import command, group, option
from cli.options import LEARNING, OUTPUT, input_paths, not_empty, ptb_option, reading_options, settings_option
from cli.output import wrapped
from treebank.base.terminal_text import printable

if TYPE_CHECKING:
    from treebank.io.read import InputOptions

SUBCOMMANDS = {
    "list": ("cli.commands.data:list_treebanks", "List treebanks by name and where they were found."),
    "prepare": ("cli.commands.data:prepare", "Write a corpus on disk, for training on more text than memory holds."),
}


@group(SUBCOMMANDS)
def data() -> None:
    """List treebanks, or prepare a large corpus on disk."""


@command(
    "list",
    examples=[
        ("synparse data list", "List the treebanks that --gold accepts by name."),
        ("synparse data list --ptb WSJ", "List those of a full Penn Treebank, too."),
    ],
)
@ptb_option
def list_treebanks(ptb: str | None) -> None:
    """List treebanks by name and where they were found, or what is missing."""
    for line in treebank_lines(ptb):
        click.echo(wrapped(printable(line), sys.stdout))


def treebank_lines(ptb: str | None) -> Iterator[str]:
    """One line per treebank name: its files on this machine, or what is missing."""
    from treebank.base.errors import SynparseError
    from treebank.corpora.catalog import survey

    yield "treebanks by name:"
    missing: dict[str, list[str]] = {}  # problem -> names of the treebanks that have it
    for name, result in survey(ptb):
        if isinstance(result, SynparseError):
            missing.setdefault(str(result).removeprefix(f"{name} is "), []).append(name)
        else:
            yield f"  {name}: {len(result):,} sentences" + (f" ({result.note})" if result.note else "")
    for problem, names in missing.items():
        yield f"  {', '.join(names)}: {problem}"
    for variable in ("SYNPARSE_PTB", "SYNPARSE_CTB", "NLTK_DATA", "SYNPARSE_MODEL"):
        yield f"  ${variable} = {os.environ.get(variable, '(not set)')}"


@command(
    examples=[
        ("synparse data prepare corpus.txt -o corpus", "Read, normalize and count a large text once."),
        (
            "synparse data prepare texts/ -o corpus --model udgn --tokenizer english",
            "Prepare raw texts for synparse train corpus --model udgn.",
        ),
    ]
)
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@option("--model", metavar="NAME", help="Model that will be trained (default: onlstm).", group=LEARNING)
@option("--preset", metavar="NAME", callback=not_empty, help="Preset of the model.", group=LEARNING)
@settings_option
@reading_options
@option("-o", "--output", required=True, metavar="FOLDER", callback=not_empty, help="Output folder.", group=OUTPUT)
def prepare(
    text: tuple[str, ...],
    output: str,
    model: str | None,
    preset: str | None,
    settings: tuple[str, ...],
    input_options: InputOptions,
) -> None:
    """Read, normalize and count a text once, and write it as a corpus on disk.

    `synparse train FOLDER` gives the same weights as `synparse train TEXT` and does not hold the corpus in memory. Only
    data.normalization, data.token and data.tokenization have an effect here; all other settings belong to the training.
    """
    from induce.training.corpora import prepare_text

    for line in prepare_text(
        input_paths(text), output, model=model, preset=preset, settings=settings, input_options=input_options
    ):
        click.echo(line, err=True)
