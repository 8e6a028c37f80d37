"""``synparse extract``: the numbers behind the trees."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.help import command
from cli.options import (
    default_model,
    device_option,
    distances_option,
    inputs,
    layer_option,
    note,
    priors_option,
    reading_options,
)
from cli.output import opened
from cli.status import reading
from induce.registry import DECODERS
from treebank.base.errors import SynparseError
from treebank.base.json_text import has_nan, json_text

if TYPE_CHECKING:
    from treebank.io.read import InputOptions

STRUCTURES = dict.fromkeys(entry.reads.name for entry in DECODERS.values())


@command()
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@click.option("-m", "--run", metavar="RUN", help="The model: ./synparse-model, or what is built in.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option(
    "--what",
    type=click.Choice(list(STRUCTURES)),
    help="What to write; by default what the model's decoder reads.",
)
@reading_options
@layer_option
@distances_option
@priors_option
@device_option
def extract(
    input: Sequence[str],
    run: str | None,
    output: str | None,
    what: str | None,
    input_options: InputOptions,
    **parsing: Any,
) -> None:
    """Write the syntactic distances or the head probabilities of each sentence as a JSON line.

    {"words": […], "kept": […], "distances": […]}: kept are the indices of the words that the model saw (left out
    when it saw all), distances has one number for each, the gap before it. In the place of these, heads has a row
    for each: how probable each word is as its head; heights a pair: the gap before it, and its height; stack the
    number of a slot; span_scores a row: the score of the span from it up to each place; brackets and arcs are trees
    that the model decoded itself. with_priors holds the numbers after the model's priors, if these change anything.
    `synparse decode` turns the lines into trees or heads; it reads with_priors if a line has it.
    """
    from induce.parsing.load import load_parser
    from treebank.io.expand import expand
    from treebank.io.output_path import check_output
    from treebank.io.read import read_sentences

    paths = inputs(input)
    files = expand(paths)  # a misspelt path is told before a model is loaded
    check_output(output, paths)
    parser = load_parser(run or default_model(), tell=note, **parsing)
    if what:
        parser.offer(what)
    options, shown = parser.input_options(input_options), not output and sys.stdout.isatty()
    with opened(output) as write, reading("extracting", files, options, results_shown=shown) as counted:
        for one in parser.read(read_sentences(paths, input_options=counted)):
            line = json_text(one.to_json(parser.decoder))
            if "NaN" in line and has_nan(one.to_json(parser.decoder)):
                raise SynparseError(f"model {parser.name!r}: what it says of a sentence is not a number; train it anew")
            write(line)
