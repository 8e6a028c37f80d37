"""``synparse analyze sharpness``: certainty of models about their trees, without gold trees."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.command import command, option
from cli.options import SCORING, default_models, format_option, models_option, parsing_options, reading_options
from cli.views import FORMATS, show
from treebank.base.errors import SynparseError
from treebank.base.metadata import parse_json

if TYPE_CHECKING:
    from treebank.io.read import InputOptions

EXAMPLES = [
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


@command("sharpness", examples=EXAMPLES)
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
