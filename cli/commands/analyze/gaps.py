"""``synparse analyze gaps``: agreement of syntactic distances with word or chunk boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.command import command
from cli.options import default_model, format_option, gold_option, model_option, parsing_options, reading_options
from cli.views import FORMATS, show

if TYPE_CHECKING:
    from treebank.io.read import InputOptions

EXAMPLES = [
    ("synparse analyze gaps -m spelling input.txt", "Word boundaries in a model of characters."),
    ("synparse analyze gaps -m mine --gold gold.mrg", "Chunk boundaries in a model of words."),
    (
        "synparse analyze gaps -m spelling input.txt --decoder segments",
        "Score the boundaries that the model itself gives.",
    ),
]


@command("gaps", examples=EXAMPLES)
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@model_option
@parsing_options
@gold_option()
@reading_options
@format_option(*FORMATS, default="table")
def gaps(
    text: Sequence[str], model: str | None, gold: str | None, form: str, input_options: InputOptions, **parsing: Any
) -> None:
    """Compare syntactic distances with boundaries: the largest gaps between characters with the ends of words, or
    those between words with the ends of chunks.

    TEXT is for models of characters, --gold for models of words; chunks are the lowest constituents of gold trees. F1
    is computed with as many gaps as there are boundaries, next to the F1 of random gaps; "Wider" is the probability
    that the gap at a boundary is larger than another gap. With --decoder segments, "Own F1" uses the gaps that the
    model itself considers boundaries.
    """
    if bool(text) == (gold is not None):
        raise click.UsageError("give a TEXT, for the ends of words, or --gold, for the ends of chunks")
    from induce.analysis.gaps import chunk_boundaries, word_boundaries
    from induce.parsing.load import load_model_parser
    from treebank.corpora.catalog import load_gold, read_input

    folder = default_model(model)
    parser = load_model_parser(folder, **parsing)
    if gold is not None:
        score = chunk_boundaries(parser, folder, load_gold(gold, input_options=input_options))
    else:
        score = word_boundaries(parser, folder, read_input(text, input_options=parser.input_options(input_options)))
    show(score, form)
