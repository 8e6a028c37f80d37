"""``synparse analyze grammar``: word classes and arcs of a grammar."""

from __future__ import annotations

import click

from cli.command import command, option
from cli.options import OUTPUT, default_model, format_option, model_option
from cli.progress import reading
from cli.views import FORMATS, show

EXAMPLES = [
    ("synparse analyze grammar -m grammar", "List word classes and the arcs between them."),
    ("synparse analyze grammar -m grammar corpus.txt --arcs 50", "Count arcs in the trees of a text."),
]


@command("grammar", examples=EXAMPLES)
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@model_option
@option(
    "--member", type=click.IntRange(min=1), default=1, show_default=True, help="Number of the grammar in the model."
)
@option(
    "--words", type=click.IntRange(min=1), default=8, show_default=True, help="Words listed per class.", group=OUTPUT
)
@option("--arcs", type=click.IntRange(min=1), default=30, show_default=True, help="Arcs listed.", group=OUTPUT)
@format_option(*FORMATS, default="table")
def grammar(text: tuple[str, ...], model: str | None, member: int, words: int, arcs: int, form: str) -> None:
    """List the word classes of a dmv model, and which class heads which on which side.

    With TEXT, arcs are counted in its trees and examples are taken from it; without, they are expectations of the
    grammar.
    """
    from induce.analysis.grammar import describe_grammar
    from treebank.io.expand import expand
    from treebank.io.read import DEFAULT_INPUT, read_sentences

    with reading("parsing", expand(text), DEFAULT_INPUT) as counted:
        sentences = read_sentences(text, input_options=counted) if text else None
        report = describe_grammar(default_model(model), member=member, words=words, arcs=arcs, text=sentences)
    show(report, form)
