"""``synparse sample``: a page to correct the trees of random sentences, as gold for ``synparse eval``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from cli.command import command, number_option, option
from cli.options import (
    INPUT,
    OUTPUT,
    check_page_output,
    default_model,
    model_option,
    note,
    note_page,
    page_options,
    parsing_options,
    reading_options,
    seed_option,
)
from cli.text_call import TextCall
from treebank.io.read import InputOptions

DEFAULT_COUNT = 50  # sentences: about two hours of work, and an interval of about ten points
EXAMPLES = [
    ("synparse sample corpus.txt -m mine -o check.html", "Write a page with the trees of 50 random sentences."),
    ("synparse sample corpus.txt -m english-heads --count 20", "Correct heads instead, of 20 sentences."),
    ("synparse sample book.txt --tokenizer unicode --count 100", "Correct 100 sentences of raw text."),
]


@command(examples=EXAMPLES)
@click.argument("input", nargs=-1, metavar="[INPUT]...")
@model_option
@parsing_options
@number_option("--count", default=DEFAULT_COUNT, help="Number of sentences.", group=INPUT)
@seed_option
@reading_options
@page_options("check.html")
@option("--title", default="Check trees", metavar="TEXT", help="Title of the page.", group=OUTPUT)
def sample(
    input: Sequence[str],
    model: str | None,
    count: int,
    seed: int,
    input_options: InputOptions,
    output: str,
    overwrite: bool,
    title: str,
    **parsing: Any,
) -> None:
    """Write an HTML page on which you correct the trees of random sentences, to score the model on your own text.

    The page needs no network. It saves the sentences that you have checked as a treebank, for synparse eval --gold.
    """
    from induce.parsing.load import load_parser
    from induce.reporting.correction_page import correction_page
    from induce.storage.locate import system_name

    check_page_output(output, overwrite)
    path = default_model(model)
    call = TextCall("reading", input, output, models=[path], trees=True)
    parser = load_parser(path, report=note, **parsing)
    try:
        sentences = call.sentences(parser.input_options(input_options))
        name = system_name(parser.name, path)
        page = correction_page(sentences, parser, name=name, count=count, seed=seed, title=title)
    finally:
        call.counter.close()
    call.write([page])
    note_page(output)
