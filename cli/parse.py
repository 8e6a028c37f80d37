"""``synparse parse``: one sentence a line in, one tree a line out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from cli.options import (
    decoder_option,
    default_run,
    device_option,
    distances_option,
    inputs,
    layer_option,
    tokenize_options,
)
from cli.output import drawing, opened
from treebank.tree import Tree

LARGEST_DRAWING = 200  # words; a picture of more is wider than anything it could be looked at on


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@click.option("-m", "--run", metavar="RUN", help="The model folder, ./synparse-model by default.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["brackets", "jsonl", "drawing", "conllu"]),
    help="Of the trees: brackets (the default), jsonl or drawing; of heads: conllu (the default).",
)
@tokenize_options
@decoder_option
@layer_option
@distances_option
@device_option
def parse(
    input: Sequence[str],
    run: str | None,
    output: str | None,
    form: str | None,
    tokenize: str | None,
    paragraphs: bool,
    **parsing: Any,
) -> None:
    """Parse text: one sentence a line in, one tree a line out, in order.

    INPUT are files, folders, patterns or - for standard input, which is also read when none is named. An empty line
    gives an empty line. With --tokenize, every sentence found gives a line. A model of heads gives CoNLL-U.
    """
    from induce.parsing.load import load_parser
    from treebank.formats import read_sentences
    from treebank.formats.writers import conllu_lines

    sentences = read_sentences(inputs(input), tokenize=tokenize or False, paragraphs=paragraphs)
    parser = load_parser(run or default_run(), **parsing)
    form = form or ("conllu" if parser.output == "heads" else "brackets")
    if form == "conllu":
        parser.must_give("heads", "another --format")
    else:
        parser.must_give("trees", "--format conllu")
    with opened(output) as write:
        if form == "conllu":
            for words, heads in parser.parse_heads(sentences):
                write(conllu_lines(words, heads))
            return
        trees = parser.parse(sentences)
        for line in FORMATS[form](trees):
            write(line)


def _brackets(trees: Iterator[Tree]) -> Iterator[str]:
    """``(X (W The) (X (W old) (W man)))`` for each tree."""
    return map(str, trees)


def _json_lines(trees: Iterator[Tree]) -> Iterator[str]:
    """``{"words": […], "spans": [[start, end], …]}`` for each tree, spans in pre-order."""
    from treebank.formats.writers import span_line

    return map(span_line, trees)


def _drawings(trees: Iterator[Tree]) -> Iterator[str]:
    """Each tree as a picture made of characters, an empty line behind it; in brackets if it is too large for one."""
    for number, tree in enumerate(trees, start=1):
        if len(tree) > LARGEST_DRAWING:
            note = f"sentence {number}: {len(tree):,} words are too many to draw; its tree stands in brackets"
            click.echo(f"note: {note}", err=True)
            yield f"{tree}\n"
            continue
        yield drawing(Tree(tree.words, tree.tags, tree.spans, ("\u00b7",) * len(tree.spans)))


FORMATS = {"brackets": _brackets, "jsonl": _json_lines, "drawing": _drawings}
