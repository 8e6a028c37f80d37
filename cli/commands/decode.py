"""``synparse decode``: trees from distances and heads from head distributions, without a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from cli.command import command, number_option, option
from cli.options import OUTPUT, format_of_suffix, note, output_option
from cli.output import open_output
from treebank.base.errors import SynparseError, TreebankError

if TYPE_CHECKING:
    from induce.parsing.reading import Reading

    NumberedReading = tuple[int, Reading | None, str]

STATES = "States of another program"

EXAMPLES = [
    ("synparse decode numbers.jsonl > trees.txt", "Write the trees that synparse parse would write."),
    ("synparse decode --from states.npz > trees.txt", "Choose layer and head of a language model without gold trees."),
    ("synparse decode numbers.jsonl --decoder biased", "Prefer right branching where distances are equal."),
]


@command(examples=EXAMPLES)
@click.argument("file", required=False)
@option(
    "--decoder",
    metavar="NAME",
    help="Decoding algorithm: unbiased, biased, biased-inner or nary for distances; chu-liu-edmonds, eisner, argmax or "
    "heads-to-tree for heads; heights for heights; shift-reduce for stacks; mbr for span scores; impact-cuts or "
    "impact-heads for impacts (default: the one named in the line, else the first for its structure).",
    group=OUTPUT,
)
@option("--from", "states", metavar="FILE.npz", help="Hidden states or attention of sentences.", group=STATES)
@option(
    "--distances",
    metavar="NAME[:HEAD]",
    help="Distance of neighboring words: cosine, l1 or l2 of hidden states; hellinger or jsd of one attention head; "
    "avg-hellinger or avg-jsd of all heads; cos, the published similarity; or impact (default: the one that agrees "
    "most with others).",
    group=STATES,
)
@number_option("--layer", help="Layer, from 1 (default: the one that agrees most with others).", group=STATES)
@option(
    "--priors",
    metavar="LIST",
    help="Preferences about trees, such as branching-gaps:1.5 for right branching (default: none).",
    group=STATES,
)
@output_option
def decode(
    file: str | None,
    decoder: str | None,
    states: str | None,
    distances: str | None,
    layer: int | None,
    priors: str | None,
    output: str | None,
) -> None:
    """Decode JSON lines of `synparse extract`: one tree per line, or CoNLL-U if the lines hold heads.

    A line needs one of these keys: "distances", the gap before each word; "heads", a row of head probabilities per
    word; "heights", a pair of distance and height per word; "stack", a slot number per word; "impact", a row per word.
    Without "words", the words are named w0, w1, …

    With --from, decode the arrays of a file that any program can write: s0/words, s0/hidden (layers, pieces, units),
    s0/attention (layers, heads, pieces, pieces) and s0/word_of_piece for the first sentence, s1/… for the second.
    """
    from induce.decoding.specification import decoder_entry
    from induce.parsing.reading import decoded
    from induce.storage.outputs import check_output
    from treebank.core.sentence import Sentence
    from treebank.core.tree import Tree
    from treebank.io.write import ConlluWriter

    if states and file:
        raise click.UsageError("--from and FILE exclude each other")
    if not states and (distances or layer or priors):
        raise click.UsageError("--distances, --layer and --priors require --from")
    if decoder:
        decoder_entry(decoder)  # a wrong name is reported before any line is read
    path = states or file or "-"
    check_output(output, inputs=[path])
    readings = _of_states(states, distances, layer, decoder, priors) if states else _of_lines(path, decoder)
    with open_output(output) as write:
        for number, reading, name in readings:
            if reading is None or not reading.words:
                write("")
                continue
            try:
                result = decoded(reading, name)
            except (ValueError, SynparseError) as error:
                raise TreebankError(path, number, str(error)) from None
            format_of_suffix(output, ["brackets" if isinstance(result, Tree) else "conllu"], ["txt"])
            if isinstance(result, Tree):
                write(str(result))
            else:
                write(ConlluWriter(number)(Sentence(tuple(reading.leaves)), result))


def _of_states(
    file: str, distances: str | None, layer: int | None, decoder: str | None, priors: str | None
) -> Iterator[NumberedReading]:
    """Number, reading and decoder of each sentence in a file of states. Raises SynparseError."""
    from induce.states.state_trees import read_states

    readings, chosen = read_states(
        file, distances=distances, layer=layer or 0, decoder=decoder, priors=priors, report=note
    )
    return ((number, reading, chosen) for number, reading in enumerate(readings, 1))


def _of_lines(file: str, decoder: str | None) -> Iterator[NumberedReading]:
    """Number, reading and decoder of each line, or None for an empty line. Raises TreebankError."""
    from induce.parsing.reading import expected, from_json
    from treebank.io.jsonl import read_objects

    for number, line in read_objects(file, expected=expected()):
        if line is None:
            yield number, None, ""
            continue
        try:
            reading, name = from_json(line, decoder)
        except (ValueError, SynparseError) as error:
            raise TreebankError(file, number, str(error)) from None
        yield number, reading, name
