"""``synparse analyze classes``: word classes induced from a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.command import command, number_option, option
from cli.options import note, output_option, reading_options, seed_option
from cli.text_call import TextCall

if TYPE_CHECKING:
    from treebank.io.read import InputOptions

INDUCTION = "Induction"
EXAMPLES = [
    ("synparse analyze classes corpus.txt --classes 20 > classes.tsv", "Write class, word and count."),
    ("synparse analyze classes corpus.txt --endings 0", "Use contexts only, not the last letters of words."),
    (
        "synparse analyze classes book.txt --tokenizer unicode --min-count 5",
        "Use raw text, and words that occur five times.",
    ),
]


@command("classes", examples=EXAMPLES)
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@reading_options
@number_option("--classes", high=10_000, default=40, help="Number of classes.", group=INDUCTION)
@number_option("--min-count", default=3, help="Replace rarer words by their shape and last letters.", group=INDUCTION)
@option(
    "--endings",
    type=click.FloatRange(min=0),
    metavar="WEIGHT",
    default=1.0,
    show_default=True,
    help="Weight of the last letters of words, next to their contexts.",
    group=INDUCTION,
)
@seed_option
@output_option
def classes(
    text: tuple[str, ...],
    input_options: InputOptions,
    classes: int,
    min_count: int,
    endings: float,
    seed: int,
    output: str | None,
) -> None:
    """Group words with similar contexts and endings into classes, such as nouns and verbs, from plain text.

    A line has class, word and number of occurrences, separated by tabs.
    """
    from induce.data.word_classes import classify_words

    call = TextCall("reading", text, output)
    sentences = call.sentences(input_options)
    table = classify_words(sentences, classes=classes, minimum_count=min_count, endings=endings, seed=seed)
    if len(table.words) < classes:
        note(f"this text has {len(table.words):,} different words, so there are no more classes than that")
    call.write(table.lines())
