"""``synparse analyze agreement`` and ``sharpness``: agreement and certainty of models, without gold trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from cli.command import command, option
from cli.options import (
    OUTPUT,
    SCORING,
    default_models,
    device_option,
    format_option,
    models_option,
    parsing_options,
    reading_options,
)
from cli.output import open_output
from cli.progress import Counter
from cli.views import FORMATS, show
from treebank.base.errors import SynparseError
from treebank.base.metadata import json_text, parse_json
from treebank.io.read import InputOptions

AGREEMENT_EXAMPLES = [
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


@command("agreement", examples=AGREEMENT_EXAMPLES)
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
        lambda rules: read_input(text, input_options=with_rule(input_options, rules)),
        load=partial(load_parser, device=device),
        baselines=baselines,
        watched=lambda systems: Counter("parsing", "systems").track(systems, len(systems)),
    )
    if select:
        with open_output(select) as write:
            write(json_text(report.choice(), indent=1))
    show(report, form)


SHARPNESS_EXAMPLES = [
    ("synparse analyze sharpness -m mine input.txt", "Measure the certainty of a model, without gold trees."),
    (
        "synparse analyze sharpness -m 'runs/seed-*' input.txt --scores s.json",
        "Correlate certainty with the scores that synparse eval --format json wrote.",
    ),
    (
        "synparse analyze sharpness -m mine -m english input.txt --format csv",
        "Compare models, as a table for other programs.",
    ),
]


@command("sharpness", examples=SHARPNESS_EXAMPLES)
@click.argument("text", nargs=-1, required=True, metavar="TEXT...")
@models_option
@parsing_options
@reading_options
@option(
    "--scores",
    metavar="FILE",
    help="JSON output of eval for these models: correlate certainty with scores.",
    group=SCORING,
)
@option("--metric", default="", metavar="NAME", help="Metric of --scores: UF1, UAS or UUAS.", group=SCORING)
@format_option(*FORMATS, default="table")
def sharpness(
    text: Sequence[str],
    models: Sequence[str],
    scores: str | None,
    metric: str,
    form: str,
    input_options: InputOptions,
    **parsing: Any,
) -> None:
    """Measure how certain models are about their trees, without gold trees.

    For heads: the entropy of a word's head. For distances: the margin between the largest and the second largest gap of
    a bracket, and the entropy of its split point. For span scores: the entropy of whether a span is a constituent.
    """
    if metric and scores is None:
        raise click.UsageError("--metric requires --scores")
    from induce.analysis.sharpness import SharpnessReport, measure, scores_of, with_scores
    from induce.parsing.load import load_model_parser
    from induce.storage.locate import expand_models
    from treebank.corpora.catalog import read_input

    folders = [folder for group in expand_models(default_models(models)).values() for folder in group]
    results = []
    for folder in folders:
        parser = load_model_parser(folder, **parsing)
        sentences = read_input(text, input_options=parser.input_options(input_options))
        results.append(measure(parser, folder, sentences))
    name, correlations = metric, {}
    if scores is not None:
        try:
            name, by_run = scores_of(parse_json(Path(scores).read_text(encoding="utf-8")), metric)
        except ValueError as error:
            raise SynparseError(f"{scores}: {error}") from None
        correlations = with_scores(results, by_run)
    show(SharpnessReport(results, name, correlations), form)
