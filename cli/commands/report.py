"""``synparse report``: an HTML page about trained models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from cli.command import command, number_option, option
from cli.options import (
    OUTPUT,
    baseline_option,
    check_page_output,
    convention_option,
    default_models,
    gold_option,
    max_length_option,
    models_option,
    note,
    note_page,
    page_options,
    parsing_options,
    ptb_option,
    reading_options,
)
from cli.output import open_output
from treebank.io.read import InputOptions

EXAMPLES = [
    ("synparse report -m mine --gold sample -o report.html", "Write a page with scores, curves and trees."),
    ("synparse report -m mine input.txt -o report.html", "Write a page without gold trees."),
    (
        "synparse report -m 'runs/seed-*' --gold sample --baseline right",
        "Compare several models and a baseline on one page.",
    ),
]


@command(examples=EXAMPLES)
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@models_option
@parsing_options
@gold_option()
@ptb_option
@reading_options
@max_length_option
@baseline_option
@convention_option
@page_options("report.html")
@number_option(
    "--pictures",
    low=0,
    default=4,
    help="Number of drawn sentences per group: best, worst, most and least agreement.",
    group=OUTPUT,
)
@option("--title", default="", metavar="TEXT", help="Title of the page.", group=OUTPUT)
def report(
    text: Sequence[str],
    models: Sequence[str],
    output: str,
    overwrite: bool,
    decoder: str | None,
    priors: str | None,
    device: str,
    input_options: InputOptions,
    **plan: Any,
) -> None:
    """Write an HTML page about trained models: training, scores and trees.

    The page has settings, learning curves, scores with intervals and baselines, by length, label and height, the most
    frequent constituents, agreement between models, and drawings next to gold trees. Without --gold, the models parse
    TEXT. The page needs no network and no other file.
    """
    _check_options(text, **plan)
    from induce.reporting.report import Report, ReportPlan
    from induce.storage.outputs import check_output

    models = default_models(models)
    report_plan = ReportPlan(runs=models, text=text, input_options=input_options, **plan)
    check_page_output(output, overwrite)
    check_output(output, inputs=text, gold=plan.get("gold"), models=models)
    page = Report(report_plan, report=note, decoder=decoder, priors=priors, device=device).html()
    with open_output(output) as write:
        write(page)
    note_page(output)


def _check_options(
    text: Sequence[str],
    *,
    gold: str | None,
    ptb: str | None,
    max_length: int | None,
    baselines: Sequence[str],
    conventions: Sequence[str],
    **others: Any,
) -> None:
    """Raises UsageError for options that have no effect."""
    for name, value in (("--ptb", ptb), ("--baseline", baselines), ("--convention", conventions)):
        if value and gold is None:
            raise click.UsageError(f"{name} requires --gold")
    if max_length and gold is None and not text:
        raise click.UsageError("--max-length requires --gold or a TEXT")
