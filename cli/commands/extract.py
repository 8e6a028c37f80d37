"""``synparse extract``: distances, head probabilities, span scores or vectors of each sentence."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import click

from cli.command import command, option
from cli.options import (
    OUTPUT,
    default_model,
    format_of_suffix,
    model_option,
    note,
    output_option,
    parsing_options,
    reading_options,
)
from cli.text_call import TextCall
from induce.registry import DECODERS, load
from treebank.base.errors import NotANumberError
from treebank.base.files import replacing, write_whole
from treebank.base.metadata import has_nan, json_text
from treebank.io.read import InputOptions

STRUCTURES = dict.fromkeys(entry.reads.name for entry in DECODERS.values())
VECTORS, STATES = "vectors", "states"
READERS = {  # "module:class" of the values that are not structures of trees
    VECTORS: "induce.analysis.extraction:Embedder",
    STATES: "induce.analysis.extraction:StateReader",
    "gates": "induce.analysis.extraction:gate_reader",
    "attention": "induce.analysis.extraction:MemoryReader",
}

EXAMPLES = [
    ("synparse extract -m mine input.txt > numbers.jsonl", "Write the syntactic distances of each sentence."),
    ("synparse extract -m mine input.txt --what vectors -o vectors.npz", "Write sentence vectors as numpy arrays."),
    (
        "synparse extract -m english-heads input.txt -o heads.jsonl",
        "Write the probabilities of the heads of each word.",
    ),
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
    type=click.Choice([*STRUCTURES, *READERS]),
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

    Other models have the following gates. ON-LSTM: the master gates by word and chunk, "forget_1" and "input_1" for the
    first layer, and their expected split points by word and layer, in chunks. Ordered Memory: "position" of the head of
    the stack, "memory" and "candidate" by word and slot. UDGN: probabilities of the induced "tags", after that of no
    tag.
    """
    if (output or "").lower().endswith(".npz") and content not in (VECTORS, STATES):
        raise click.UsageError("only --what vectors and --what states write .npz files; name a .jsonl file")
    format_of_suffix(output, ["jsonl"], ["npz", "txt"])
    run = default_model(model)
    call = TextCall("extracting", input, output, models=[run])
    if content in READERS:
        _extract_values(run, call, input_options, content, **parsing)
        return
    from induce.parsing.load import load_parser
    from induce.storage.locate import parse_model_spec

    parser = load_parser(run, report=note, **parsing)
    if content and content != parser.structure.name:
        if chosen := parsing["decoder"] or parse_model_spec(run).options.get("decoder"):
            problem = f"the decoder {chosen!r} reads {parser.structure.name}, not {content}"
            raise click.UsageError(f"{problem}; leave out the decoder or --what")
        parser.choose_structure(content)
    structures = parser.predict(call.sentences(parser.input_options(input_options)))
    call.write(_line_of_numbers(structure.to_json(parser.decoder)) for structure in structures)


def _line_of_numbers(content: dict[str, Any]) -> str:
    """``content`` as one line of JSON. Raises NotANumberError if it contains NaN."""
    line = json_text(content)
    if "null" in line and has_nan(content):  # JSON has no NaN
        raise NotANumberError
    return line


def _extract_values(
    run: str,
    call: TextCall,
    input_options: InputOptions,
    content: str,
    decoder: str | None,
    priors: str | None,
    device: str,
) -> None:
    """Write vectors, states, gates or attention of each sentence.

    Raises UsageError for options of trees, and for states if the output is not an .npz file.
    """
    if decoder is not None or priors is not None:
        raise click.UsageError(f"--decoder and --priors have no effect on --what {content}; leave them out")
    arrays = call.output if call.output and call.output.lower().endswith(".npz") else ""
    if content == STATES and not arrays:
        raise click.UsageError("--what states writes numpy arrays; name a file with -o FILE.npz")
    reader = load(READERS[content])(run, device=device)
    results = reader.read(call.sentences(reader.input_options(input_options)))
    if content == STATES:
        from induce.states.states_file import write_states

        with replacing(arrays) as stream:
            write_states(stream, results)
    elif content == VECTORS and arrays:
        import numpy as np

        rows = list(results)
        matrix = np.stack([sentence.vector for sentence in rows]) if rows else np.zeros((0, 0), np.float32)
        if np.isnan(matrix).any():
            raise NotANumberError
        stream = io.BytesIO()
        np.savez(stream, vectors=matrix, words=np.array([len(sentence.words) for sentence in rows], np.int64))
        write_whole(arrays, stream.getvalue())
    else:
        call.write(_line_of_numbers(result.to_json(content)) for result in results)
    call.counter.close()
