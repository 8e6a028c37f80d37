"""``synparse extract``: the numbers behind the trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.options import default_run, device_option, distances_option, inputs, layer_option, tokenize_options
from cli.output import opened

if TYPE_CHECKING:
    from induce.parsing.parser import AnyReading


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@click.option("-m", "--run", metavar="RUN", help="The model folder, ./synparse-model by default.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option(
    "--what",
    type=click.Choice(["distances", "heads", "heights", "stack"]),
    help="What to write; by default what the model's decoder reads.",
)
@tokenize_options
@layer_option
@distances_option
@device_option
def extract(
    input: Sequence[str],
    run: str | None,
    output: str | None,
    what: str | None,
    tokenize: str | None,
    paragraphs: bool,
    **parsing: Any,
) -> None:
    """Write the syntactic distances or the head probabilities of each sentence as a JSON line.

    {"words": […], "kept": […], "distances": […]}: kept are the indices of the words that the model saw (left out
    when it saw all), distances has one number for each, the gap before it. In the place of these, heads has a row
    for each: how probable each word is as its head; heights a pair: the gap before it, and its height; stack the
    number of a slot. `synparse decode` turns the lines into trees or heads.
    """
    from cli.decode import DEFAULT_DECODERS
    from induce.parsing.parser import load_parser
    from treebank.formats import read_sentences
    from treebank.formats.writers import json_line

    sentences = read_sentences(inputs(input), tokenize=tokenize or False, paragraphs=paragraphs)
    parser = load_parser(run or default_run(), **parsing)
    if what in parser.gives and what != parser.structure:
        parser.choose(DEFAULT_DECODERS[what])
    if what:
        parser.needs(what, f"--what {parser.structure}")
    with opened(output) as write:
        for reading in parser.read(sentences):
            write(json_line(_object(reading, parser.decoder)))


def _object(reading: AnyReading, decoder: str) -> dict[str, Any]:
    """The line of one sentence; ``decoder`` is named where `decode` would not choose it by itself."""
    from cli.decode import DEFAULT_DECODERS
    from induce.parsing.parser import HeightReading, Reading, StackReading

    found: dict[str, Any] = {"words": list(reading.words)}
    if len(reading.kept) < len(reading.words):
        found["kept"] = list(reading.kept)
    if isinstance(reading, Reading):
        structure, found["distances"] = "distances", list(reading.distances)
    elif isinstance(reading, HeightReading):
        structure, found["heights"] = "heights", list(reading.heights)
    elif isinstance(reading, StackReading):
        structure, found["stack"] = "stack", list(reading.stack)
    else:
        structure, found["heads"] = "heads", [list(map(float, row)) for row in reading.heads]
    if decoder != DEFAULT_DECODERS[structure]:
        found["decoder"] = decoder
    return found
