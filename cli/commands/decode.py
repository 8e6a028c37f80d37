"""``synparse decode``: from distances to trees, from head distributions to heads, without a model."""

from __future__ import annotations

import click

from cli.help import command
from cli.output import opened
from treebank.base.errors import SynparseError, TreebankError


@command()
@click.argument("file", default="-")
@click.option(
    "--decoder",
    metavar="NAME",
    help="Of distances unbiased, biased or nary, of heads chu-liu-edmonds, eisner, argmax or heads-to-tree, of "
    "heights heights, of a stack shift-reduce, of span scores mbr; by default the one that a line names, else the "
    "first of these.",
)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
def decode(file: str, decoder: str | None, output: str | None) -> None:
    """Turn the JSON lines of `synparse extract` into trees, one a line, or into CoNLL-U where they hold heads.

    A line needs only "distances": one number per word, the gap before it; or "heads": a row per word, how probable
    each word is as its head; or "heights": a pair per word, the gap before it and its height; or "stack": the
    number of a slot per word. Without "words", words are called w0 w1 …
    """
    from induce.parsing.reading import decoded, expected, from_json
    from induce.registry import decoder_entry
    from treebank.core.sentence import Sentence
    from treebank.core.tree import Tree
    from treebank.io.conllu_writer import ConlluWriter
    from treebank.io.jsonl import read_objects
    from treebank.io.output_path import check_output

    if decoder:
        decoder_entry(decoder)  # a misspelt name is told before any line is read
    check_output(output, [file])
    with opened(output) as write:
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
