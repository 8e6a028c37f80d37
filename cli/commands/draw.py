"""``synparse draw``: pictures of trees and heads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from cli.help import command
from cli.options import (
    decoder_option,
    default_model,
    device_option,
    distances_option,
    inputs,
    layer_option,
    priors_option,
)

if TYPE_CHECKING:
    from induce.parsing.parser import Parser
    from treebank.draw.picture import Picture


@command()
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@click.option("-m", "--run", "runs", multiple=True, metavar="RUN", help="Parse with this model; may be repeated.")
@click.option("-o", "--output", metavar="FILE", help="Draw into FILE: .svg, .pdf, .png, .html or .tex.")
@click.option("--gold", metavar="GOLD", help="Draw beside this treebank: a file, or a name such as sample or wsj10.")
@click.option("--ptb", metavar="DIR", help="A full Penn Treebank, for the names that begin with wsj.")
@click.option(
    "--sentences", metavar="NUMBERS", help="Which ones, such as 3,7-9,20-; without it the first 100 into a file."
)
@click.option("--tokenize", is_flag=True, help="INPUT is not tokenised: split it into sentences and words.")
@click.option("--width", type=click.IntRange(min=20), metavar="N", help="Columns to draw in, of a terminal.")
@click.option("--title", metavar="TEXT", help="Of an .html page.")
@decoder_option
@layer_option
@distances_option
@priors_option
@device_option
def draw(
    input: Sequence[str],
    runs: Sequence[str],
    output: str | None,
    gold: str | None,
    ptb: str | None,
    sentences: str | None,
    tokenize: bool,
    width: int | None,
    title: str | None,
    **parsing: Any,
) -> None:
    """Draw trees and heads: of a model, or those that are in INPUT.

    INPUT are files of trees (brackets), of heads (CoNLL-U), JSON lines of `synparse extract` or `convert`, or text,
    which is parsed with -m, by default with ./synparse-model, else with the model that is built in. With --gold, INPUT
    are predictions for its sentences; what is shared, missed and extra is told by colour, by dashes and by a legend.
    Without -o, the pictures are drawn in the terminal.
    """
    from induce.parsing.pictures import FIRST, chosen_numbers, pictures
    from treebank.corpora.catalog import load_gold
    from treebank.draw.files import check_target, write_pictures

    if output:
        check_target(output)
    choose = chosen_numbers(sentences) if sentences else lambda number: not output or number <= FIRST + 1
    treebank = load_gold(gold, ptb=ptb) if gold else None
    paths = list(input) if treebank else inputs(input)
    parsers = _parsers(runs, paths, parsing) if runs or not treebank else []
    drawings = pictures(paths, parsers, treebank, choose=choose, tokenize=tokenize)
    if not output:
        show(drawings, width)
        return
    drawn = list(drawings if sentences else islice(drawings, FIRST + 1))
    if len(drawn) > FIRST and not sentences:
        del drawn[FIRST:]
        click.echo(f"note: only the first {FIRST} sentences are drawn; choose others with --sentences", err=True)
    write_pictures(drawn, output, title=title or f"Trees of {', '.join(map(os.path.basename, paths)) or gold}")


def _parsers(runs: Sequence[str], paths: Sequence[str], parsing: dict[str, Any]) -> list[tuple[str, Parser]]:
    """The models with the names that they are shown by; without any named, that of plain text is the usual one."""
    from induce.parsing.load import load_parser
    from induce.parsing.pictures import holds_text

    if not runs and not holds_text(paths):
        return []
    parsers = [(run, load_parser(run, **parsing)) for run in runs or [default_model()]]
    return [(f"{parser.name} {run}" if len(parsers) > 1 else parser.name, parser) for run, parser in parsers]


def show(pictures: Iterable[Picture], width: int | None = None) -> None:
    """Draw in the terminal, an empty line after each picture; in colour where there is one, plain elsewhere."""
    from rich.console import Console
    from rich.text import Text

    from treebank.draw.terminal import STYLES, drawn

    console = Console(highlight=False, soft_wrap=True)
    for picture in pictures:
        for row in drawn(picture, width or console.width):
            if console.is_terminal:
                console.print(Text.assemble(*((text, STYLES[ink]) for text, ink in row)))
            else:
                print("".join(text for text, _ in row))
        print(flush=True)
