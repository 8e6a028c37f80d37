"""``synparse analyze classes``: word classes induced from a text."""

from __future__ import annotations

import click

from cli.command import command, option
from cli.options import input_paths, output_option, seed_option
from cli.output import open_output

INDUCTION = "Induction"
EXAMPLES = [
    ("synparse analyze classes corpus.txt --classes 20 > classes.tsv", "Write class, word and count."),
    ("synparse analyze classes corpus.txt --endings 0", "Use contexts only, not the last letters of words."),
]


@command("classes", examples=EXAMPLES)
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@option(
    "--classes",
    type=click.IntRange(1, 10_000),
    default=40,
    show_default=True,
    help="Number of classes.",
    group=INDUCTION,
)
@option(
    "--min-count",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Replace rarer words by their shape and last letters.",
    group=INDUCTION,
)
@option(
    "--endings",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Weight of the last letters.",
    group=INDUCTION,
)
@seed_option
@output_option
def classes(text: tuple[str, ...], classes: int, min_count: int, endings: float, seed: int, output: str | None) -> None:
    """Group words with similar contexts and endings into classes, such as nouns and verbs, from plain text.

    A line has class, word and number of occurrences, separated by tabs.
    """
    from induce.data.class_table import classify_words
    from induce.storage.outputs import check_output
    from treebank.io.read import read_sentences

    paths = input_paths(text)
    check_output(output, inputs=paths)
    table = classify_words(read_sentences(paths), classes=classes, minimum_count=min_count, endings=endings, seed=seed)
    with open_output(output) as write:
        for line in table.lines():
            write(line)
