"""``synparse analyze agreement``: agreement of models, without gold trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from cli.command import command, option
from cli.options import OUTPUT, SCORING, device_option, format_option, models_option, reading_options
from cli.output import open_output
from cli.progress import Counter
from cli.views import FORMATS, show
from treebank.base.metadata import json_text

if TYPE_CHECKING:
    from treebank.io.read import InputOptions

EXAMPLES = [
    (
        "synparse analyze agreement -m mine --baseline right input.txt",
        "Measure how much a model differs from right branching.",
    ),
    (
        "synparse analyze agreement -m 'runs/seed-*' input.txt --select best.json",
        "Find the model that agrees most with models of other types.",
    ),
    ("synparse analyze agreement -m mine -m english input.txt", "Measure how much two models agree."),
]


@command("agreement", examples=EXAMPLES)
@click.argument("text", nargs=-1, required=True, metavar="TEXT...")
@models_option
@device_option
@reading_options
@option(
    "--predicted", multiple=True, metavar="FILE", help="File of trees or heads for TEXT (repeatable).", group=SCORING
)
@option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="NAME",
    help="Baseline (repeatable): right, left, …; for heads next, previous.",
    group=SCORING,
)
@option(
    "--select",
    metavar="FILE",
    help="Write the system with the highest agreement with other types as JSON.",
    group=OUTPUT,
)
@format_option(*FORMATS, default="table")
def agreement(
    text: Sequence[str],
    models: Sequence[str],
    predicted: Sequence[str],
    baselines: Sequence[str],
    select: str | None,
    form: str,
    input_options: InputOptions,
    device: str,
) -> None:
    """Measure how much models, files of trees and baselines agree: F1 of brackets, or UAS and UUAS of heads.

    Column "Others" is the mean agreement with models of other types, baselines excluded. It separates good types from
    bad ones, but not good seeds of one type. Column "Own" is the mean agreement with models of the same type. Each file
    is a type of its own. Annotation in TEXT is ignored.
    """
    from induce.analysis.agreement import agreement as measure_agreement
    from induce.parsing.load import load_parser
    from induce.parsing.parser import with_rule
    from induce.storage.locate import expand_models
    from induce.storage.outputs import check_output
    from treebank.corpora.catalog import read_input

    if select:
        check_output(select, inputs=[*text, *predicted], models=models)
    folders = [folder for group in expand_models(models).values() for folder in group]
    report = measure_agreement(
        [*folders, *predicted],
        lambda rule: read_input(text, input_options=with_rule(input_options, rule)),
        load=partial(load_parser, device=device),
        baselines=baselines,
        watched=lambda systems: Counter("parsing", "systems").track(systems, len(systems)),
    )
    if select:
        with open_output(select) as write:
            write(json_text(report.choice(), indent=1))
    show(report, form)
