"""``synparse generate``: sentences and trees drawn from a grammar."""

from __future__ import annotations

import click

from cli.command import command, option
from cli.options import default_model, format_option, model_option, output_option, seed_option
from cli.output import open_output

EXAMPLES = [
    ("synparse generate -m grammar --limit 5", "Draw five trees."),
    ("synparse generate -m grammar --limit 1000 --format text -o drawn.txt", "Draw a text."),
]


@command(examples=EXAMPLES)
@model_option
@seed_option
@option("--limit", type=click.IntRange(min=1), default=10, show_default=True, metavar="N", help="Number of sentences.")
@option(
    "--max-length",
    type=click.IntRange(min=2),
    default=40,
    show_default=True,
    metavar="N",
    help="Maximum words of a sentence; longer ones are drawn again.",
)
@output_option
@format_option(
    "brackets",
    "text",
    "conllu",
    default="brackets",
    help="Output format: trees, their words alone, or heads of a lexicalized grammar.",
)
def generate(model: str | None, seed: int, limit: int, max_length: int, output: str | None, form: str) -> None:
    """Draw sentences with their trees from a grammar.

    The model is a neural PCFG of any type. The same seed gives the same sentences. Nonterminals are NT0, NT1, …, and
    preterminals are T0, T1, …
    """
    from induce.analysis.samples import generate as draw
    from induce.storage.outputs import check_output
    from treebank.io.write import write_brackets, write_conllu, write_text

    run = default_model(model)
    check_output(output, models=[run])
    writer = {"brackets": write_brackets, "text": write_text, "conllu": write_conllu}[form]
    sentences = draw(run, seed=seed, limit=limit, max_length=max_length, with_heads=form == "conllu")
    with open_output(output) as write:
        for line in writer(sentences, ""):
            write(line)
