"""``synparse analyze agreement``: how much models agree with each other, without gold trees."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from cli.help import command
from cli.options import device_option, reading_options
from cli.output import opened, print_json, print_table
from cli.status import Meter

if TYPE_CHECKING:
    from induce.analysis.agreement import Agreement
    from treebank.io.read import InputOptions


@command("agreement")
@click.argument("more", nargs=-1, metavar="[RUN-or-FILE]...")
@click.option(
    "-m", "--run", "runs", multiple=True, metavar="RUN", help="A model folder, a pattern, or RUN@layer=2; repeat it."
)
@click.option("--text", required=True, metavar="TEXT", help="Sentences to parse; annotation in it is not looked at.")
@click.option(
    "--baseline", "baselines", multiple=True, metavar="NAME", help="right, left, …; next, previous of heads; repeat it."
)
@click.option("--select", metavar="FILE", help="Write to FILE which one agrees most with other kinds, as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of tables.")
@reading_options
@device_option
def agreement(
    more: Sequence[str],
    runs: Sequence[str],
    text: str,
    baselines: Sequence[str],
    select: str | None,
    as_json: bool,
    input_options: InputOptions,
    device: str,
) -> None:
    """How much models, files of trees and baselines agree: F1 of their brackets, or UAS and UUAS of heads.

    Others is the mean agreement with other kinds of model, baselines aside: it tells good kinds from bad ones, and not
    good seeds of one kind. Own is that with models of the same kind. Each file counts as a kind of its own.
    """
    from induce.analysis.agreement import agreement as agree
    from induce.parsing.load import load_parser
    from induce.storage.model_spec import expand_models
    from treebank.io.read import read_sentences

    named = [folder for found in expand_models(runs).values() for folder in found]
    load = partial(load_parser, device=device)
    report = agree(
        [*named, *more],
        read_sentences([text], input_options=input_options),
        load=load,
        baselines=baselines,
        watched=_watched,
    )
    if select:
        with opened(select) as write:
            write(json.dumps(report.choice(), indent=1, ensure_ascii=False))
    if as_json:
        print_json(report.to_json())
    else:
        _print(report)


def _watched(systems: Sequence[Any]) -> Iterable[Any]:
    return Meter("parsing", "systems").over(systems, len(systems))


def _print(report: Agreement) -> None:
    """A row for each system, then one for each pair, and the signature."""
    rows = [
        [one.name, one.type, *("-" if value is None else f"{value:.2f}" for value in (one.others, one.same))]
        for one in report.systems
    ]
    print_table(["System", "Kind", "Others", "Own"], rows, text_columns=2)
    click.echo()
    heads = report.metric == "UAS"
    pairs = sorted(report.pairs, key=lambda pair: -pair.value)
    print_table(
        ["System", "And", report.metric, "95 % int.", *(["UUAS"] if heads else [])],
        [
            [
                *(pair.first, pair.second, f"{pair.value:.2f}", "{:.1f}-{:.1f}".format(*pair.interval)),
                *([f"{pair.undirected or 0:.2f}"] if heads else []),
            ]
            for pair in pairs
        ],
        text_columns=2,
    )
    click.echo()
    click.echo(report.signature)
