"""``synparse phrases``: tables of phrases or arcs, of one corpus or of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cli.command import command, option
from cli.commands.search import PatternType, open_corpus
from cli.options import (
    INPUT,
    format_option,
    model_option,
    note,
    on_error_option,
    output_option,
    parsing_options,
    ptb_option,
    reading_options,
)
from cli.text_call import TextCall
from cli.views import FORMATS, show

if TYPE_CHECKING:
    from treebank.io.read import InputOptions

PHRASES = "Phrases"
DEFAULT_ROWS = 100

EXAMPLES = [
    ("synparse phrases gold.mrg --max-length 4", "List the frequent phrases of two to four words."),
    (
        "synparse phrases gold.mrg --against trees.txt --format csv",
        "List the phrases that differ most.",
    ),
]


@command(examples=EXAMPLES)
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@option(
    "--against",
    multiple=True,
    metavar="INPUT",
    help="Corpus to compare with, by log-likelihood ratio and log ratio (repeatable).",
    group=INPUT,
)
@model_option
@parsing_options
@reading_options
@on_error_option("stop", "skip")
@ptb_option
@option(
    "--min-length",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    metavar="N",
    help="Only phrases of N words or more.",
    group=PHRASES,
)
@option("--max-length", type=click.IntRange(min=1), metavar="N", help="Only phrases of at most N words.", group=PHRASES)
@option(
    "--min-count",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    metavar="N",
    help="Only phrases that occur N times or more, in both corpora together.",
    group=PHRASES,
)
@option(
    "--label",
    "labels",
    multiple=True,
    metavar="LABEL",
    help="Only phrases with this label (repeatable).",
    group=PHRASES,
)
@option("--pattern", type=PatternType(), help="Only phrases, or dependents of arcs, that match.", group=PHRASES)
@option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Largest number of rows (default: {DEFAULT_ROWS} in a table, otherwise all).",
    group=PHRASES,
)
@output_option
@format_option(*FORMATS, "tsv", default="table")
def phrases(
    input: Sequence[str],
    against: Sequence[str],
    model: str | None,
    decoder: str | None,
    priors: str | None,
    device: str,
    input_options: InputOptions,
    on_error: str,
    ptb: str | None,
    limit: int | None,
    output: str | None,
    form: str,
    **choice: Any,
) -> None:
    """List the phrases of trees or the arcs between heads and dependents, the most frequent first.

    For each phrase, the table has its words, its label, its count, the number of documents, the mean confidence of the
    model in them (with -m, or from JSON lines of parse), and the share of the occurrences of these words that are a
    phrase. INPUT is as for search. With --against, the phrases that differ most between both corpora are first.
    """
    from treebank.search.phrases import PhraseFilter, count_phrases

    input_options = replace(input_options, keep_annotation=True)  # names of documents
    rows = DEFAULT_ROWS if limit is None and form in ("table", "latex") else limit
    filters = PhraseFilter(limit=rows, **choice)
    call = TextCall("counting", input, output, models=[model] if model else [], reads=against, trees=True)
    parsing = {"decoder": decoder, "priors": priors, "device": device}
    try:
        corpus = open_corpus(call, model, input_options, on_error, ptb, parsing)
        table = count_phrases([corpus, corpus.like(against)] if against else [corpus], filters)
    finally:
        call.counter.close()
    show(table, form, output)
    if not table.rows:
        note("no phrase fits; lower --min-count, or change --label, --pattern or the length")
    if table.omitted:
        note(f"{table.omitted:,} more phrases are left out; show them with --limit N or --format csv")
