"""``synparse analyze grammar``: word classes and arcs, or preterminals and rules, of a grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.command import command, number_option
from cli.options import OUTPUT, default_model, format_option, model_option, reading_options
from cli.progress import reading
from cli.views import FORMATS, show
from induce.storage import builtin

if TYPE_CHECKING:
    from treebank.io.read import InputOptions

EXAMPLES = [
    ("synparse analyze grammar -m english-grammar", "List preterminals with their words, and rules with examples."),
    ("synparse analyze grammar -m grammar corpus.txt --arcs 50", "Count arcs in the trees of a text."),
    ("synparse analyze grammar -m grammar --words 20 --format csv", "List more words, as a table for other programs."),
]


@command("grammar", examples=EXAMPLES)
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@model_option
@reading_options
@number_option("--member", default=1, help="Grammar to list, from 1, if the model has several.")
@number_option("--words", default=8, help="Words listed per class or preterminal.", group=OUTPUT)
@number_option("--arcs", default=30, help="Arcs or rules listed.", group=OUTPUT)
@format_option(*FORMATS, default="table")
def grammar(
    text: tuple[str, ...],
    model: str | None,
    input_options: InputOptions,
    member: int,
    words: int,
    arcs: int,
    form: str,
) -> None:
    """List the word classes of dmv or ndmv and which class heads which, or the symbols and rules of a neural PCFG.

    For dmv and ndmv with TEXT, arcs are counted in its trees and examples are taken from it. Without TEXT, arcs of dmv
    are expectations of the grammar. Arcs of ndmv, and rules of a neural PCFG, are counted in 1,000 sentences drawn from
    it.
    """
    from induce.analysis.induced_grammar import describe_grammar, describe_rules, is_pcfg
    from treebank.corpora.catalog import files_of, read_input

    if is_pcfg(run := default_model(model, built_in=builtin.GRAMMAR)):
        if text or member > 1:
            raise click.UsageError("TEXT and --member are for dmv models; rules are counted in drawn sentences")
        show(describe_rules(run, words=words, rules=arcs), form)
        return
    with reading("parsing", files_of(text), input_options) as counted:
        sentences = read_input(text, input_options=counted) if text else None
        report = describe_grammar(run, member=member, words=words, arcs=arcs, text=sentences)
    show(report, form)
