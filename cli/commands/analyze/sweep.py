"""``synparse analyze sweep``: scores of models by the value of a setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.command import command, option
from cli.commands.analyze.channels import mean_cells
from cli.options import format_option, note, plot_option
from cli.output import print_json, print_table
from cli.picture import draw_sweep
from treebank.base.errors import SynparseError
from treebank.base.json_text import parse_json

if TYPE_CHECKING:
    from induce.analysis.sweep import Sweep

EXAMPLES = [
    ("synparse analyze sweep scores.json --setting train.seed", "Print one row per seed."),
    (
        "synparse analyze sweep scores.json --setting model.layers --plot layers.svg",
        "Also draw scores by the number of layers.",
    ),
]


@command("sweep", examples=EXAMPLES)
@click.argument("scores", default="-", metavar="[SCORES]")
@option("--setting", required=True, metavar="NAME", help="Setting that differs, such as model.mask_rate.")
@format_option("table", "json", default="table")
@plot_option("Also draw the scores by the value of the setting.")
def sweep_scores(scores: str, setting: str, form: str, plot: str | None) -> None:
    """Print the scores of models by the value of a setting.

    SCORES is the output of `synparse eval --format json` for several models (default: standard input). Models with the
    same value, such as several seeds, are averaged. Their folders must still exist.
    """
    from induce.analysis.sweep import sweep
    from treebank.io.lines import open_lines

    try:
        value = parse_json("\n".join(line for _, line in open_lines(scores)))
    except ValueError as error:
        raise SynparseError(f"{scores}: not JSON ({error}); write it with synparse eval --format json") from None
    try:
        report = sweep(value, setting)
    except ValueError as error:
        raise SynparseError(f"{scores}: {error}") from None
    if plot:
        draw_sweep(report, plot)
    if form == "json":
        print_json(report.to_json())
    else:
        _print_report(report)
    if report.also:
        note(f"these models also differ in {', '.join(report.also)}")


def _print_report(report: Sweep) -> None:
    """Print one row per value with mean and standard deviation of each score."""
    rows = []
    for value in report.values:
        columns = [runs.get(value) for runs in report.scores.values()]
        models = max(len(runs.values) for runs in columns if runs)
        cells = [mean_cells(runs) if runs else ("-", "-") for runs in columns]
        rows.append([str(value), str(models), *(part for pair in cells for part in pair)])
    header = [report.setting, "Models", *(part for name in report.names for part in (name, "SD"))]
    print_table(header, rows)
