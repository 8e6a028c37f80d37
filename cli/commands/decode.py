"""``synparse decode``: trees from distances and heads from head distributions, without a model."""

from __future__ import annotations

import click

from cli.command import command, option
from cli.options import OUTPUT, output_option
from cli.output import open_output
from treebank.base.errors import SynparseError, TreebankError

EXAMPLES = [
    ("synparse decode numbers.jsonl > trees.txt", "Write the trees that synparse parse would write."),
    ("synparse decode numbers.jsonl --decoder biased", "Use the biased algorithm of the PRPN and ON-LSTM papers."),
]


@command(examples=EXAMPLES)
@click.argument("file", default="-")
@option(
    "--decoder",
    metavar="NAME",
    help="Decoding algorithm: unbiased, biased or nary for distances; chu-liu-edmonds, eisner, argmax or heads-to-tree "
    "for heads; heights for heights; shift-reduce for stacks; mbr for span scores (default: the one named in the line, "
    "else the first for its structure).",
    group=OUTPUT,
)
@output_option
def decode(file: str, decoder: str | None, output: str | None) -> None:
    """Decode JSON lines of `synparse extract`: one tree per line, or CoNLL-U if the lines hold heads.

    A line needs one of these keys: "distances", the gap before each word; "heads", a row of head probabilities per
    word; "heights", a pair of distance and height per word; "stack", a slot number per word. Without "words", the words
    are named w0, w1, …
    """
    from induce.decoding.specification import decoder_entry
    from induce.parsing.reading import decoded, expected, from_json
    from induce.storage.outputs import check_output
    from treebank.core.sentence import Sentence
    from treebank.core.tree import Tree
    from treebank.io.conllu_writer import ConlluWriter
    from treebank.io.jsonl import read_objects

    if decoder:
        decoder_entry(decoder)  # a wrong name is reported before any line is read
    check_output(output, inputs=[file])
    with open_output(output) as write:
        for number, line in read_objects(file, expected=expected()):
            if line is None:
                write("")
                continue
            try:
                reading, name = from_json(line, decoder)
                result = decoded(reading, name)
            except (ValueError, SynparseError) as error:
                raise TreebankError(file, number, str(error)) from None
            if isinstance(result, Tree):
                write(str(result))
            else:
                write(ConlluWriter(number)(Sentence(tuple(reading.leaves)), result))
