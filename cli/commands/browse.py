"""``synparse browse``: one page in which a corpus can be searched, without a network."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from cli.command import command, number_option, option
from cli.commands.search import MATCHES
from cli.corpus_options import CorpusOptions, corpus_options
from cli.options import OUTPUT, check_page_output, dependent_seed, dependent_seed_option, note_page, page_options

EXAMPLES = [
    ("synparse browse trees.txt", "Write corpus.html, in which parsed text can be searched."),
    ("synparse browse gold.conllu --sample 1000 -o heads.html", "Write a page of 1,000 sentences with heads."),
    ("synparse browse input.txt -m english -o corpus.html", "Parse a text, and write its page."),
]


@command(examples=EXAMPLES)
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@corpus_options
@number_option("--sample", help="Only a random sample of N sentences.", group=MATCHES)
@dependent_seed_option("--sample", MATCHES)
@page_options("corpus.html")
@option("--title", default="", metavar="TEXT", help="Title of the page.", group=OUTPUT)
def browse(
    input: Sequence[str],
    options: CorpusOptions,
    sample: int | None,
    seed: int | None,
    output: str,
    overwrite: bool,
    title: str,
) -> None:
    """Write an HTML page of a corpus: search, pictures, phrases and downloads.

    The page has up to 50,000 sentences with trees or heads, needs no network and no other file, and can be used with
    the keyboard and a screen reader. INPUT is as for search.
    """
    from induce.reporting.corpus_page import corpus_page

    seed = dependent_seed(seed, "--sample", sample)
    check_page_output(output, overwrite)
    call = options.call("reading", input, output)
    try:
        corpus = options.open(call, keep_annotation=True)
        names = [os.path.basename(os.path.normpath(path)) if path != "-" else "Corpus" for path in call.paths]
        first_names = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        page = corpus_page(corpus, title=title or first_names, sample=sample, seed=seed)
    finally:
        call.counter.close()
    call.write([page])
    note_page(output)
