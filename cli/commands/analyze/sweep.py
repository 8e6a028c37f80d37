"""``synparse analyze sweep``: scores of models by the value of a setting."""

from __future__ import annotations

import click

from cli.command import command, option
from cli.options import format_option, note
from cli.plot_options import check_plot, plot_option
from cli.views import FORMATS, show
from treebank.base.errors import SynparseError
from treebank.base.metadata import parse_json

EXAMPLES = [
    ("synparse analyze sweep scores.json --setting train.seed", "Print one row per seed."),
    (
        "synparse analyze sweep scores.json --setting model.layers --plot layers.svg",
        "Also draw scores by the number of layers.",
    ),
    ("synparse analyze sweep scores.json --setting model.mask_rate --format csv", "Write a table for other programs."),
]


@command("sweep", examples=EXAMPLES)
@click.argument("scores", default="-", metavar="[SCORES]")
@option("--setting", required=True, metavar="NAME", help="Setting that differs, such as model.mask_rate.")
@format_option(*FORMATS, default="table")
@plot_option("Also draw the scores by the value of the setting")
def sweep_scores(scores: str, setting: str, form: str, plot: str | None) -> None:
    """Print the scores of models by the value of a setting.

    SCORES is the output of `synparse eval --format json` for several models (default: standard input). Models with the
    same value, such as several seeds, are averaged. Their folders must still exist.
    """
    from induce.analysis.sweep import sweep
    from treebank.io.lines import open_lines

    check_plot(plot, inputs=[scores])
    try:
        value = parse_json("\n".join(line for _, line in open_lines(scores)))
    except ValueError as error:
        raise SynparseError(f"{scores}: not JSON ({error}); write it with synparse eval --format json") from None
    try:
        report = sweep(value, setting)
    except ValueError as error:
        raise SynparseError(f"{scores}: {error}") from None
    if plot:
        from induce.reporting.plots import plot_sweep
        from treebank.draw.picture_files import write_scenes

        write_scenes([plot_sweep(report)], plot)
    show(report, form)
    if report.also and form == "json":
        note(f"these models also differ in {', '.join(report.also)}")
