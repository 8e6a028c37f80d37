"""``synparse search``: sentences whose trees or heads match a pattern."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.command import command, number_option, option
from cli.corpus_options import CorpusOptions, corpus_options
from cli.options import OUTPUT, dependent_seed, dependent_seed_option, format_option, note, output_option
from cli.text_call import TextCall
from cli.views import print_tables

if TYPE_CHECKING:
    from induce.search.parsed_corpus import Corpus
    from treebank.search.output import Highlight
    from treebank.search.search import Query

MATCHES = "Matches"

EXAMPLES = [
    ("synparse search 'NP < (VP << saw)' gold.ptb", "Find noun phrases with a child VP that contains the word saw."),
    (
        "synparse search '{relation=nsubj; distance>3}' gold.conllu --format csv",
        "List subjects that are more than three words away from their heads.",
    ),
    (
        "synparse search 'X < saw' input.txt -m english --format concordance",
        "Parse a text, and show matches in context.",
    ),
]


class PatternType(click.ParamType):
    """A pattern for trees or heads."""

    name = "pattern"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Query:
        from treebank.search.pattern import PatternError
        from treebank.search.search import Query

        try:
            return value if isinstance(value, Query) else Query(value)
        except PatternError as error:
            self.fail(error.picture(), param, ctx)


@command(examples=EXAMPLES)
@click.argument("query", type=PatternType(), metavar="PATTERN")
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@corpus_options
@option("--invert", is_flag=True, help="Find the sentences that do not match.", group=MATCHES)
@number_option("--limit", help="Stop after N sentences.", group=MATCHES)
@number_option("--sample", help="Write a random sample of N sentences.", group=MATCHES)
@dependent_seed_option("--sample", MATCHES)
@output_option
@format_option(
    "brackets",
    "text",
    "concordance",
    "count",
    "jsonl",
    "csv",
    suffixes=("html", "htm"),
    help="Output format: brackets (default for trees), text (default for heads), concordance, count, jsonl or csv.",
)
@number_option(
    "--context",
    low=0,
    help="Number of sentences before and after each matching sentence, or of columns on each side of a match for "
    "concordance and csv (default 40).",
    group=OUTPUT,
)
@option(
    "--highlight",
    type=click.Choice(["auto", "terminal", "html", "none"]),
    default="auto",
    show_default=True,
    help="Mark matches: by colors on a terminal (auto), by colors always, in an HTML page, or not.",
    group=OUTPUT,
)
@option(
    "--sort",
    type=click.Choice(["match", "left", "right"]),
    help="Order of a concordance or of csv, by the words of the match or of its left or right context (default: that "
    "of the corpus).",
    group=OUTPUT,
)
@option("--no-location", is_flag=True, help="Leave out file and line.", group=OUTPUT)
def search(
    query: Query,
    input: Sequence[str],
    options: CorpusOptions,
    output: str | None,
    form: str | None,
    highlight: str,
    context: int | None,
    sort: str | None,
    no_location: bool,
    **selection: Any,
) -> None:
    """Search trees or heads for a pattern: one line for each matching sentence, with file and line.

    PATTERN has the syntax of TGrep2 for trees, such as 'NP < DT', and words in braces for heads, such as '{upos=VERB}
    >obj {}'. INPUT is any number of treebanks (brackets, CoNLL-U, JSON lines, names such as wsj10), folders of parse
    --output-dir, or - for standard input (the default). With -m, text is parsed while it is read.
    """
    from treebank.search.output import DEFAULT_CONTEXT, TERMINAL_HIGHLIGHT, Writer, check
    from treebank.search.search import Search

    form = form or ("text" if query.for_heads else "brackets")
    marks = _highlight(highlight, form, output)
    check(form, invert=selection["invert"], highlight=marks, context=context, sort=sort)
    in_columns = form in ("concordance", "csv")
    if context and form in ("jsonl", "count"):
        raise click.UsageError(f"--format {form} has no context; choose brackets, text, concordance or csv")
    selection["seed"] = dependent_seed(selection["seed"], "--sample", selection["sample"])
    call = options.call("searching", input, output)
    corpus = options.open(call, keep_annotation=form == "jsonl")
    if form == "count":
        _count(call, query, corpus, **selection)
        return
    columns = context if in_columns and context is not None else DEFAULT_CONTEXT
    matches = Search(query, corpus, context=0 if in_columns else context or 0, **selection)
    width = None if output or context or not sys.stdout.isatty() else shutil.get_terminal_size().columns
    lines = Writer(form, marks, columns, width, not no_location, sort=sort).lines(matches, query.pattern.text)
    call.write(lines, may_be_empty=True, colored=marks is TERMINAL_HIGHLIGHT)
    if not matches.count:
        labels = "phrases of these trees have the label X, and their words the tag W, as in 'X < (W < saw)'"
        hint = f"; {labels}" if matches.labels == {"X"} else ""
        note(f"no sentence matches{hint}")


def _count(
    call: TextCall, query: Query, corpus: Corpus, *, invert: bool, limit: int | None, sample: int | None, seed: int
) -> None:
    """Print the number of matches in each file."""
    from treebank.search.output import PatternCounts

    if limit or sample or call.output not in (None, "-"):
        raise click.UsageError("--format count counts all matches on standard output; leave out --limit, --sample, -o")
    counts = PatternCounts(query.pattern.text)
    try:
        for sentence in corpus:
            counts.add(query.find(sentence), invert=invert)
    finally:
        call.counter.close()
    print_tables(counts.tables())


def _highlight(name: str, form: str, output: str | None) -> Highlight:
    """The marks of the matches. ``auto`` marks lines of text on a terminal, and those of a page."""
    from treebank.search.output import HTML_HIGHLIGHT, NO_HIGHLIGHT, TERMINAL_HIGHLIGHT

    if name == "auto" and (output or "").lower().endswith((".html", ".htm")):
        return HTML_HIGHLIGHT
    if name == "auto":
        is_text = form in ("brackets", "text", "concordance") and not os.environ.get("NO_COLOR")
        return TERMINAL_HIGHLIGHT if is_text and not output and sys.stdout.isatty() else NO_HIGHLIGHT
    return {"terminal": TERMINAL_HIGHLIGHT, "html": HTML_HIGHLIGHT, "none": NO_HIGHLIGHT}[name]
