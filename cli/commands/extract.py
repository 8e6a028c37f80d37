"""``synparse extract``: distances, head probabilities, span scores or vectors of each sentence."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.command import command, option
from cli.options import (
    OUTPUT,
    default_model,
    device_option,
    distances_option,
    input_paths,
    layer_option,
    model_option,
    note,
    output_option,
    priors_option,
    reading_options,
)
from cli.output import open_output
from cli.progress import reading
from induce.registry import DECODERS
from treebank.base.atomic_write import write_whole
from treebank.base.errors import SynparseError
from treebank.base.json_text import has_nan, json_text

if TYPE_CHECKING:
    from induce.analysis.vectors import SentenceVector
    from treebank.io.read import InputOptions

STRUCTURES = dict.fromkeys(entry.reads.name for entry in DECODERS.values())
VECTORS = "vectors"
VECTOR_DIGITS = 6  # decimals in JSON lines

EXAMPLES = [
    ("synparse extract -m mine input.txt > numbers.jsonl", "Write the syntactic distances of each sentence."),
    ("synparse extract -m mine input.txt --what vectors -o vectors.npz", "Write sentence vectors as numpy arrays."),
]


@command(examples=EXAMPLES)
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@model_option
@layer_option
@distances_option
@priors_option
@device_option
@reading_options
@output_option
@option(
    "--what",
    "content",
    type=click.Choice([*STRUCTURES, VECTORS]),
    help="Values to write (default: those that the model's decoder reads).",
    group=OUTPUT,
)
def extract(
    input: Sequence[str],
    model: str | None,
    output: str | None,
    content: str | None,
    input_options: InputOptions,
    device: str,
    **parsing: Any,
) -> None:
    """Write the syntactic distances or head probabilities of each sentence as one JSON line.

    A line has the keys "words", "kept" (indices of the words that the model reads, if it does not read all) and the
    structure: "distances", the gap before each kept word; "heads", a row of head probabilities per word; "heights",
    pairs of distance and height; "stack", slot numbers; "span_scores", a row per start of a span; "brackets" or "arcs",
    decoded by the model. "with_priors" has the numbers after the model's priors, if these change them. `synparse
    decode` reads these lines, and "with_priors" if a line has it.

    With --what vectors, a line has "words" and "vector", the mean of the final hidden states; a file that ends in .npz
    has the arrays "vectors" (sentences, units) and "words" (number of words per sentence).
    """
    from induce.parsing.load import load_parser
    from induce.storage.outputs import check_output
    from treebank.io.expand import expand
    from treebank.io.read import read_sentences

    paths = input_paths(input)
    files = expand(paths)  # a wrong path is reported before a model is loaded
    run = default_model(model)
    check_output(output, inputs=paths, models=[run])
    if content == VECTORS:
        _extract_vectors(run, paths, files, output, input_options, device)
        return
    parser = load_parser(run, tell=note, device=device, **parsing)
    if content:
        parser.offer(content)
    options, hidden = parser.input_options(input_options), not output and sys.stdout.isatty()
    with open_output(output) as write, reading("extracting", files, options, hidden=hidden) as counted:
        for structure in parser.read(read_sentences(paths, input_options=counted)):
            line = json_text(structure.to_json(parser.decoder))
            if "NaN" in line and has_nan(structure.to_json(parser.decoder)):
                raise SynparseError(f"model {parser.name!r}: its output is not a number; train it again")
            write(line)


def _extract_vectors(
    run: str, paths: Sequence[str], files: Sequence[str], output: str | None, input_options: InputOptions, device: str
) -> None:
    """Write the vector of each sentence."""
    from induce.analysis.vectors import Embedder
    from treebank.io.read import read_sentences

    embedder = Embedder(run, device=device)
    options, hidden = embedder.input_options(input_options), not output and sys.stdout.isatty()
    with reading("extracting", files, options, hidden=hidden) as counted:
        vectors = embedder.embed(read_sentences(paths, input_options=counted))
        if output and output.lower().endswith(".npz"):
            write_whole(output, _arrays(vectors))
            return
        with open_output(output) as write:
            for sentence in vectors:
                vector = [round(value, VECTOR_DIGITS) for value in sentence.vector.tolist()]
                write(json_text({"words": list(sentence.words), "vector": vector}))


def _arrays(vectors: Iterable[SentenceVector]) -> bytes:
    """Content of the .npz file."""
    import numpy as np

    rows = list(vectors)
    matrix = np.stack([sentence.vector for sentence in rows]) if rows else np.zeros((0, 0), np.float32)
    stream = io.BytesIO()
    np.savez(stream, vectors=matrix, words=np.array([len(sentence.words) for sentence in rows], np.int64))
    return stream.getvalue()
