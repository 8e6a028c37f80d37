"""``synparse classes``: word classes from plain text."""

from __future__ import annotations

import click

from cli.help import command
from cli.options import inputs, seed_option
from cli.output import opened


@command()
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@click.option("--classes", type=click.IntRange(1, 10_000), default=40, show_default=True, help="How many.")
@click.option(
    "--minimum-count",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Rarer words go by their shape and last letters.",
)
@click.option("--endings", type=click.FloatRange(min=0), default=1.0, show_default=True, help="Weight of last letters.")
@seed_option
@click.option("-o", "--output", metavar="FILE", help="Write here, not to standard output.")
def classes(
    text: tuple[str, ...], classes: int, minimum_count: int, endings: float, seed: int, output: str | None
) -> None:
    """Put words that stand in the same places into classes, such as nouns and verbs, without any annotation.

    Each line says class, word and how often it occurs, between tabs.
    """
    from induce.data.class_table import classify_words
    from treebank.io.read import read_sentences

    table = classify_words(
        read_sentences(inputs(text)), classes=classes, minimum_count=minimum_count, endings=endings, seed=seed
    )
    with opened(output) as write:
        for line in table.lines():
            write(line)
