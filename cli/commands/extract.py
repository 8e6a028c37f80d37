"""``synparse extract``: distances, head probabilities, span scores or vectors of each sentence."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.command import command, option
from cli.options import (
    OUTPUT,
    default_model,
    model_option,
    note,
    output_option,
    parsing_options,
    reading_options,
)
from cli.text_call import TextCall
from induce.registry import DECODERS
from treebank.base.atomic_write import replacing, write_whole
from treebank.base.errors import NotANumberError
from treebank.base.json_text import has_nan, json_text

if TYPE_CHECKING:
    from induce.analysis.vectors import SentenceVector
    from treebank.io.read import InputOptions

STRUCTURES = dict.fromkeys(entry.reads.name for entry in DECODERS.values())
VECTORS, STATES = "vectors", "states"
MEMORY = ("gates", "attention")
VECTOR_DIGITS = 6  # decimals in JSON lines

EXAMPLES = [
    ("synparse extract -m mine input.txt > numbers.jsonl", "Write the syntactic distances of each sentence."),
    ("synparse extract -m mine input.txt --what vectors -o vectors.npz", "Write sentence vectors as numpy arrays."),
]


@command(examples=EXAMPLES)
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@model_option
@parsing_options
@reading_options
@output_option
@option(
    "--what",
    "content",
    type=click.Choice([*STRUCTURES, VECTORS, STATES, *MEMORY]),
    help="Values to write (default: those that the model's decoder reads).",
    group=OUTPUT,
)
def extract(
    input: Sequence[str],
    model: str | None,
    output: str | None,
    content: str | None,
    input_options: InputOptions,
    **parsing: Any,
) -> None:
    """Write the syntactic distances or head probabilities of each sentence as one JSON line.

    A line has the keys "words", "indices" (of the words that the model reads, if it does not read all) and the
    structure: "distances", the gap before each; "heads", a row of head probabilities per word; "heights",
    pairs of distance and height; "stack", slot numbers; "span_scores", a row per start of a span; "brackets" or "arcs",
    decoded by the model. "with_priors" has the numbers after the model's priors, if these change them. `synparse
    decode` reads these lines, and "with_priors" if a line has it.

    With --what vectors, a line has "words" and "vector", the mean of the final hidden states; a file that ends in .npz
    has the arrays "vectors" (sentences, units) and "words" (number of words per sentence). With --what states, the file
    has the hidden states and the attention of each layer, for `synparse decode --from`. With --what gates or attention,
    a line of a PRPN has "words", "read" (by layer, for attention) and "predict": a row per word, with a weight for the
    empty state, for that of the boundary token, and for that of each earlier word.
    """
    run = default_model(model)
    call = TextCall("extracting", input, output, models=[run])
    if content == VECTORS:
        _extract_vectors(run, call, input_options, **parsing)
        return
    if content == STATES:
        _extract_states(run, call, input_options, **parsing)
        return
    if content in MEMORY:
        _extract_memory(run, call, input_options, content, **parsing)
        return
    from induce.parsing.load import load_parser

    parser = load_parser(run, tell=note, **parsing)
    if content:
        parser.offer(content)
    structures = parser.read(call.sentences(parser.input_options(input_options)))
    call.write(_line_of_numbers(structure.to_json(parser.decoder)) for structure in structures)


def _line_of_numbers(content: dict[str, Any]) -> str:
    """``content`` as one line of JSON. Raises NotANumberError if it contains NaN."""
    line = json_text(content)
    if "null" in line and has_nan(content):  # JSON has no NaN
        raise NotANumberError
    return line


def _extract_vectors(
    run: str, call: TextCall, input_options: InputOptions, decoder: str | None, priors: str | None, device: str
) -> None:
    """Write the vector of each sentence. Raises UsageError for options of trees."""
    _refuse_tree_options(VECTORS, decoder, priors)
    from induce.analysis.vectors import Embedder

    embedder = Embedder(run, device=device)
    vectors = embedder.embed(call.sentences(embedder.input_options(input_options)))
    if call.output and call.output.lower().endswith(".npz"):
        write_whole(call.output, _arrays(vectors))
        call.counter.close()
        return
    call.write(_vector_line(sentence) for sentence in vectors)


def _extract_states(
    run: str, call: TextCall, input_options: InputOptions, decoder: str | None, priors: str | None, device: str
) -> None:
    """Write the states of each sentence. Raises UsageError for options of trees, and without a file."""
    _refuse_tree_options(STATES, decoder, priors)
    if not call.output or not call.output.lower().endswith(".npz"):
        raise click.UsageError("--what states writes numpy arrays; name a file with -o FILE.npz")
    from induce.analysis.states import StateReader
    from induce.parsing.states_file import write_states

    reader = StateReader(run, device=device)
    sentences = call.sentences(reader.input_options(input_options))
    with replacing(call.output) as stream:
        write_states(stream, reader.read(sentences))
    call.counter.close()


def _extract_memory(
    run: str,
    call: TextCall,
    input_options: InputOptions,
    content: str,
    decoder: str | None,
    priors: str | None,
    device: str,
) -> None:
    """Write gates or attention of each sentence. Raises UsageError for options of trees."""
    _refuse_tree_options(content, decoder, priors)
    from induce.analysis.memory import MemoryReader

    reader = MemoryReader(run, device=device)
    sentences = call.sentences(reader.input_options(input_options))
    call.write(_line_of_numbers(sentence.to_json(content)) for sentence in reader.read(sentences))


def _refuse_tree_options(content: str, decoder: str | None, priors: str | None) -> None:
    """Raise UsageError if options of trees are given."""
    if decoder or priors:
        raise click.UsageError(f"--decoder and --priors have no effect on --what {content}; leave them out")


def _vector_line(sentence: SentenceVector) -> str:
    vector = [round(value, VECTOR_DIGITS) for value in sentence.vector.tolist()]
    return _line_of_numbers({"words": list(sentence.words), "vector": vector})


def _arrays(vectors: Iterable[SentenceVector]) -> bytes:
    """Content of the .npz file."""
    import numpy as np

    rows = list(vectors)
    matrix = np.stack([sentence.vector for sentence in rows]) if rows else np.zeros((0, 0), np.float32)
    if np.isnan(matrix).any():
        raise NotANumberError
    stream = io.BytesIO()
    np.savez(stream, vectors=matrix, words=np.array([len(sentence.words) for sentence in rows], np.int64))
    return stream.getvalue()
