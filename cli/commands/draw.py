"""``synparse draw``: pictures of trees and heads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, cast

import click

from cli.command import command, number_option, option
from cli.options import (
    INPUT,
    MODEL,
    OUTPUT,
    check_parsing_options,
    default_model,
    gold_option,
    head_rules_option,
    input_paths,
    note,
    parsing_options,
    ptb_option,
    reading_options,
)
from cli.plot_options import check_plot
from cli.process import ColoredOutput

if TYPE_CHECKING:
    from induce.parsing.parser import Parser
    from treebank.draw.picture import Picture
    from treebank.io.read import InputOptions

EXAMPLES = [
    ("synparse draw -m mine input.txt", "Draw trees in the terminal."),
    ("synparse draw -m mine --gold sample --sentences 1-5 -o trees.svg", "Draw five sentences next to gold trees."),
    ("synparse draw -m mine -m english input.txt -o both.html", "Mark where two parsers differ, on a page."),
]


@command(examples=EXAMPLES)
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@option("-m", "--model", "models", multiple=True, metavar="PATH", help="Trained model (repeatable).", group=MODEL)
@parsing_options
@gold_option()
@ptb_option
@head_rules_option
@option(
    "--sentences",
    metavar="NUMBERS",
    help="Sentences to draw, such as 3,7-9,20- (default: all in the terminal, the first 100 in a file).",
    group=INPUT,
)
@reading_options
@option("-o", "--output", metavar="FILE", help="Output file: .svg, .pdf, .png, .html or .tex.", group=OUTPUT)
@number_option("--width", low=20, help="Width of drawings in the terminal, in columns.", group=OUTPUT)
@option("--title", metavar="TEXT", help="Title of an .html page.", group=OUTPUT)
@option("--font", metavar="NAME", default="", help="Font of .svg, .pdf and .png files.", group=OUTPUT)
@option(
    "--scale", type=click.FloatRange(0.1, 10), metavar="F", help="Size of these pictures, such as 0.7.", group=OUTPUT
)
@option("--gray", is_flag=True, help="Draw these pictures in shades of gray.", group=OUTPUT)
@option("--no-numbers", is_flag=True, help="Leave out the numbers of sentences in pictures.", group=OUTPUT)
def draw(
    input: Sequence[str],
    models: Sequence[str],
    output: str | None,
    gold: str | None,
    ptb: str | None,
    head_rules: str | None,
    sentences: str | None,
    input_options: InputOptions,
    width: int | None,
    title: str | None,
    no_numbers: bool,
    font: str,
    scale: float | None,
    gray: bool,
    **parsing: Any,
) -> None:
    """Draw trees and heads that a model predicts or that INPUT contains.

    INPUT is any number of files with brackets, CoNLL-U, JSON lines of `synparse extract` or `convert`, or text, which
    is parsed first. With --gold, INPUT holds predictions for the sentences of that treebank; common, missing and
    additional brackets or arcs are distinguished by color, line style and a legend. Without --gold, the differences
    between several models are marked. Predicted heads are compared with the heads of gold trees by head rules. Without
    -o, drawings appear in the terminal.
    """
    _check_options(output, width=width, title=title, no_numbers=no_numbers, font=font, scale=scale, gray=gray)
    for name in (name for name, value in (("ptb", ptb), ("head-rules", head_rules)) if value and not gold):
        raise click.UsageError(f"--{name} requires --gold")
    from induce.reporting.sentence_pictures import FIRST, chosen_numbers, pictures
    from treebank.corpora.catalog import load_gold
    from treebank.draw.picture_files import write_pictures
    from treebank.draw.scene import Look

    check_plot(output, trees=True, inputs=[path for path in input if path != "-"], gold=gold, models=models)
    choose = chosen_numbers(sentences) if sentences else lambda number: not output or number <= FIRST + 1
    gold_options = replace(input_options, form="" if input else input_options.form)
    treebank = load_gold(gold, ptb=ptb, input_options=gold_options) if gold else None
    paths = list(input) if treebank else input_paths(input)
    parsers = _parsers(models, paths, input_options, parsing, has_gold=treebank is not None)
    if not parsers:
        check_parsing_options(parsing)
    drawings = pictures(paths, parsers, treebank, choose=choose, input_options=input_options, head_rules=head_rules)
    if not output:
        draw_in_terminal(map(_without_probabilities, drawings) if parsers else drawings, width)
        return
    chosen = list(drawings if sentences else _first(drawings, FIRST))
    if no_numbers:
        chosen = [replace(picture, title="") for picture in chosen]
    title = title or f"Trees of {', '.join(map(os.path.basename, paths)) or gold}"
    write_pictures(chosen, output, title=title, look=Look(font, scale or 1.0, gray))


def _without_probabilities(picture: Picture) -> Picture:
    """The picture without the probabilities of all possible heads, which the terminal shows only if INPUT has them."""
    return replace(picture, analyses=tuple(replace(each, probabilities=()) for each in picture.analyses))


def _check_options(output: str | None, *, width: int | None, title: str | None, no_numbers: bool, **look: Any) -> None:
    """Raises UsageError for options that have no effect."""
    if title and not (output or "").lower().endswith(".html"):
        raise click.UsageError("--title requires -o FILE.html")
    for name in (name for name, value in look.items() if value):
        if not (output or "").lower().endswith((".svg", ".pdf", ".png")):
            raise click.UsageError(f"--{name} requires -o FILE.svg, FILE.pdf or FILE.png")
    if no_numbers and (output or ".html").lower().endswith(".html"):
        raise click.UsageError("--no-numbers requires -o FILE with another suffix than .html")
    if width and output:
        raise click.UsageError("--width is for the terminal; leave it out, or leave out -o")


def _first(pictures: Iterable[Picture], count: int) -> list[Picture]:
    """At most the first ``count`` pictures, with a note if there are more."""
    first = list(islice(pictures, count + 1))
    if len(first) > count:
        note(f"only the first {count} sentences are drawn; choose others with --sentences")
    return first[:count]


def _parsers(
    models: Sequence[str], paths: Sequence[str], input_options: InputOptions, parsing: dict[str, Any], *, has_gold: bool
) -> list[tuple[str, Parser]]:
    """Parsers and their names in drawings. The default model is used if text has to be parsed.

    With gold, raises SynparseError for a model of characters.
    """
    from induce.reporting.sentence_pictures import holds_text

    if not models and (has_gold or not holds_text(paths, input_options)):
        return []
    from induce.parsing.load import load_parser
    from induce.parsing.systems import check_words
    from induce.storage.locate import system_name

    parsers = [(model, load_parser(model, report=note, **parsing)) for model in models or [default_model()]]
    for model, parser in parsers if has_gold else []:
        check_words(model, parser)
    return [(system_name(parser.name, model), parser) for model, parser in parsers]


def draw_in_terminal(pictures: Iterable[Picture], width: int | None = None) -> None:
    """Print pictures, each followed by an empty line, colored on a terminal."""
    from rich.console import Console
    from rich.text import Text

    from treebank.draw.terminal import STYLES, drawn

    console = Console(file=cast(IO[str], ColoredOutput()), highlight=False, soft_wrap=True)
    picture = None
    for picture in pictures:
        for row in drawn(picture, width or console.width):
            if console.is_terminal:
                console.print(Text.assemble(*((text, STYLES[ink]) for text, ink in row)))
            else:
                print("".join(text for text, _ in row))
        print(flush=True)
    if picture is None:
        note("there is no sentence to draw; name other input or other --sentences")
