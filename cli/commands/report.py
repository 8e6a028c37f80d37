"""``synparse report``: one page that shows what models have learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from cli.help import command
from cli.options import decoder_option, default_model, device_option, distances_option, layer_option, note
from cli.output import opened


@command()
@click.option(
    "-m", "--run", "runs", multiple=True, metavar="RUN", help="A model folder or a pattern of several; may be repeated."
)
@click.option("--gold", metavar="GOLD", help="Score on this treebank: a file, or a name such as sample or wsj10.")
@click.option("--text", multiple=True, metavar="FILE", help="Without gold: parse this text; may be repeated.")
@click.option("-o", "--output", default="report.html", show_default=True, metavar="FILE", help="The page to write.")
@click.option("--baseline", "baselines", multiple=True, metavar="NAME", help="As in eval; without any, the usual ones.")
@click.option("--convention", "conventions", multiple=True, metavar="NAME", help="As in eval.")
@click.option("--max-length", type=click.IntRange(min=1), metavar="N", help="Only sentences of up to N words.")
@click.option("--ptb", metavar="DIR", help="A full Penn Treebank, for the names that begin with wsj.")
@click.option("--tokenize", is_flag=True, help="The text is not tokenised: split it into sentences and words.")
@click.option(
    "--pictures",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    metavar="N",
    help="Sentences drawn of each kind: best, worst, most and least agreed.",
)
@click.option("--title", default="", metavar="TEXT", help="Of the page.")
@decoder_option
@layer_option
@distances_option
@device_option
def report(
    runs: Sequence[str],
    output: str,
    decoder: str | None,
    layer: int | None,
    distances: str | None,
    device: str,
    **plan: Any,
) -> None:
    """Write one page of HTML about models: what they learned from, how, and what of it is right.

    The page has settings, curves of the losses, scores with intervals and baselines, by length, label and height, the
    most frequent constituents, agreement between models, and trees drawn beside gold. It needs no network and no
    other file.
    """
    from induce.reporting.report import Report, ReportPlan

    asked = ReportPlan(runs=runs or [default_model()], **plan)
    page = Report(asked, tell=note, decoder=decoder, layer=layer, distances=distances, device=device).html()
    with opened(output) as write:
        write(page)
