"""``synparse phrases``: tables of phrases or arcs, of one corpus or of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.command import command, number_option, option
from cli.commands.search import PatternType
from cli.corpus_options import CorpusOptions, corpus_options
from cli.options import INPUT, format_option, note, output_option
from cli.views import FORMATS, show

if TYPE_CHECKING:
    from treebank.search.search import Query

PHRASES = "Phrases"
DEFAULT_ROWS = {"table": 100, "latex": 100}
DEFAULT_WINDOW = 5  # words on each side of a match
MAX_ROWS = 1_000_000  # of other formats by default; spreadsheets hold 1,048,576

EXAMPLES = [
    ("synparse phrases gold.mrg --max-length 4", "List the frequent phrases of two to four words."),
    ("synparse phrases gold.mrg --against trees.txt --format csv", "List the phrases that differ most."),
    (
        "synparse phrases input.txt -m english --fold-case --min-count 1",
        "List the phrases of a text that is parsed first.",
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
@corpus_options
@number_option("--min-length", default=2, help="Only phrases of N words or more.", group=PHRASES)
@number_option("--max-length", help="Only phrases of at most N words.", group=PHRASES)
@number_option(
    "--min-count", default=2, help="Only phrases that occur N times or more, in both corpora together.", group=PHRASES
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
    "--near",
    type=PatternType(),
    metavar="PATTERN",
    help="List the words near the matches of a pattern instead, the most typical first.",
    group=PHRASES,
)
@number_option("--window", help="With --near: words on each side of a match (default 5).", group=PHRASES)
@option("--fold-case", is_flag=True, help="Count words without regard to capitals.", group=PHRASES)
@number_option(
    "--limit",
    help=f"Maximum number of rows (default: {DEFAULT_ROWS['table']} in a table, otherwise {MAX_ROWS:,}).",
    group=PHRASES,
)
@output_option
@format_option(*FORMATS, "tsv", default="table")
def phrases(
    input: Sequence[str],
    against: Sequence[str],
    options: CorpusOptions,
    near: Query | None,
    window: int | None,
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
    from treebank.search.phrases import CollocateTable, PhraseFilter, PhraseTable, count_collocates, count_phrases

    if window and not near:
        raise click.UsageError("--window requires --near")
    if near and (against or choice["labels"] or choice["pattern"] or choice["max_length"] or choice["min_length"] != 2):
        raise click.UsageError("--near lists words; leave out --against, --label, --pattern and limits of the length")
    filters = PhraseFilter(limit=limit or DEFAULT_ROWS.get(form, MAX_ROWS), **choice)
    call = options.call("counting", input, output, reads=against)
    table: PhraseTable | CollocateTable
    try:
        corpus = options.open(call, keep_annotation=True)
        if near:
            table = count_collocates(corpus, near, filters, window=window or DEFAULT_WINDOW)
        else:
            table = count_phrases([corpus, corpus.like(against)] if against else [corpus], filters)
    finally:
        call.counter.close()
    show(table, form, output)
    if not table.rows:
        note("no row fits; lower --min-count, or change --label, --pattern or the length")
    if table.omitted:
        remedy = " or --format csv" if form in DEFAULT_ROWS else ""
        note(f"{table.omitted:,} more rows are left out; show them with --limit N{remedy}")
