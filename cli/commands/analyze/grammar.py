"""``synparse analyze grammar`` and ``classes``: classes and rules of a grammar, and word classes of a text."""

from __future__ import annotations

import click

from cli.command import command, number_option, option
from cli.options import (
    OUTPUT,
    default_model,
    format_of_suffix,
    format_option,
    model_option,
    note,
    output_option,
    reading_options,
    seed_option,
)
from cli.progress import reading
from cli.text_call import TextCall
from cli.views import FORMATS, show
from induce.storage import builtin
from treebank.io.read import InputOptions

GRAMMAR_EXAMPLES = [
    ("synparse analyze grammar -m english-grammar", "List preterminals with their words, and rules with examples."),
    ("synparse analyze grammar -m grammar corpus.txt --arcs 50", "Count arcs in the trees of a text."),
    ("synparse analyze grammar -m grammar --words 20 --format csv", "List more words, as a table for other programs."),
]


@command("grammar", examples=GRAMMAR_EXAMPLES)
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


INDUCTION = "Induction"
CLASSES_EXAMPLES = [
    ("synparse analyze classes corpus.txt --classes 20 > classes.tsv", "Write class, word and count."),
    ("synparse analyze classes corpus.txt --endings 0", "Use contexts only, not the last letters of words."),
    (
        "synparse analyze classes book.txt --tokenizer unicode --min-count 5",
        "Use raw text, and words that occur five times.",
    ),
]


@command("classes", examples=CLASSES_EXAMPLES)
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

    format_of_suffix(output, ["tsv"], ["txt"])
    call = TextCall("reading", text, output)
    sentences = call.sentences(input_options)
    table = classify_words(sentences, classes=classes, minimum_count=min_count, endings=endings, seed=seed)
    if len(table.words) < classes:
        note(f"this text has {len(table.words):,} different words, so there are no more classes than that")
    call.write(table.lines())
