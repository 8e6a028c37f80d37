"""``synparse parse``: one sentence a line in, one tree a line out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cli.options import (
    decoder_option,
    default_run,
    device_option,
    distances_option,
    inputs,
    layer_option,
    note,
    reading_options,
)
from cli.output import drawing, opened
from treebank.formats.conllu_writer import ConlluWriter
from treebank.formats.writers import json_line
from treebank.tree import Tree

if TYPE_CHECKING:
    from treebank.formats import InputOptions
    from treebank.sentence import Sentence

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
@reading_options
@decoder_option
@layer_option
@distances_option
@device_option
def parse(
    input: Sequence[str],
    run: str | None,
    output: str | None,
    form: str | None,
    input_options: InputOptions,
    **parsing: Any,
) -> None:
    """Parse text: one sentence a line in, one tree a line out, in order.

    INPUT are files, folders, patterns or - for standard input, which is also read when none is named. An empty line
    gives an empty line. With --tokenize, every sentence found gives a line. A model of heads gives CoNLL-U.
    """
    from induce.parsing.load import load_parser
    from treebank.formats import check_output, expand, read_sentences

    paths = inputs(input)
    expand(paths)  # a misspelt path is told before a model is loaded
    check_output(output, paths)
    parser = load_parser(run or default_run(), tell=note, **parsing)
    input_options = replace(parser.input_options(input_options), whole=True)
    source = Alongside(read_sentences(paths, input_options=input_options))
    form = form or ("conllu" if parser.output == "heads" else "brackets")
    if form == "conllu":
        parser.must_give("heads", "another --format")
    else:
        parser.must_give("trees", "--format conllu")
    with opened(output) as write:
        if form == "conllu":
            write_sentence = ConlluWriter()
            for words, heads in parser.parse_heads(source):
                write(write_sentence(source.next(), heads, words=words))
            return
        for tree in parser.parse(source):
            write(FORMATS[form](tree, source.next()))


class Alongside:
    """Passes sentences on and remembers them until they are asked for again, in the same order."""

    def __init__(self, sentences: Iterator[Sentence]) -> None:
        self._sentences = sentences
        self._passed: deque[Sentence] = deque()

    def __iter__(self) -> Iterator[Sentence]:
        for sentence in self._sentences:
            self._passed.append(sentence)
            yield sentence

    def next(self) -> Sentence:
        """The first sentence that was passed on and not asked for yet."""
        return self._passed.popleft()


def _brackets(tree: Tree, sentence: Sentence) -> str:
    """``(X (W The) (X (W old) (W man)))``."""
    return str(tree)


def _json_line(tree: Tree, sentence: Sentence) -> str:
    """``{"words": […], "spans": [[start, end], …]}``, spans in pre-order, and what is known of the sentence's place.

    ``line`` is that in its file; of raw text, ``offsets`` are the characters of each word in the file; of CoNLL-U,
    ``id`` and ``document`` are what its comments say.
    """
    value: dict[str, Any] = {"words": tree.words, "spans": tree.spans, "line": sentence.place.line}
    if sentence.surface and len(tree.words) == len(sentence.words):
        value["offsets"] = sentence.surface.offsets()
    if sentence.annotation:
        known = {"id": sentence.annotation.comment("sent_id"), "document": sentence.annotation.comment("newdoc id")}
        value |= {name: text for name, text in known.items() if text is not None}
    return json_line(value)


def _drawing(tree: Tree, sentence: Sentence) -> str:
    """The tree as a picture made of characters, an empty line behind it; in brackets if it is too large for one."""
    if len(tree) > LARGEST_DRAWING:
        note = f"{sentence.place}: {len(tree):,} words are too many to draw; the tree stands in brackets"
        click.echo(f"note: {note}", err=True)
        return f"{tree}\n"
    return drawing(Tree(tree.words, tree.tags, tree.spans, ("\u00b7",) * len(tree.spans)))


FORMATS: dict[str, Callable[[Tree, Sentence], str]] = {
    "brackets": _brackets,
    "jsonl": _json_line,
    "drawing": _drawing,
}
