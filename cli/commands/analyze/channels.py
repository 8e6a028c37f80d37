"""``synparse analyze channels``: correlation of attention channels with dependency relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from cli.command import command, option
from cli.options import SCORING, default_models, device_option, format_option, models_option, plot_option
from cli.output import print_json, print_table
from cli.picture import draw_channels
from cli.progress import reading
from treebank.base.errors import SynparseError

if TYPE_CHECKING:
    from induce.analysis.channels import ChannelReport
    from treebank.evaluate.score import Runs

COLUMNS = ["Relation", "Arcs", "PCC", "Layer", "Channel", "Partial"]
CONTROL_COLUMNS = ["Untrained", "Permuted"]
EXAMPLES = [
    ("synparse analyze channels -m heads --gold gold.conllu", "Find the best channel for each relation."),
    (
        "synparse analyze channels -m heads --gold gold.conllu --min-count 10",
        "Include rarer relations.",
    ),
]


@command("channels", examples=EXAMPLES)
@models_option
@device_option
@option("--gold", required=True, metavar="GOLD", help="CoNLL-U with heads and relations: a file, folder or pattern.")
@option(
    "--min-count",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="Leave out relations with fewer arcs.",
    group=SCORING,
)
@option("--subtypes", is_flag=True, help="Keep relation subtypes such as nmod:poss.", group=SCORING)
@option("--controls", is_flag=True, help="Add controls: an untrained model and permuted relations.", group=SCORING)
@format_option("table", "json", default="table")
@plot_option("Also draw relations and channels as a heat map.")
def channels(
    models: Sequence[str],
    gold: str,
    min_count: int,
    subtypes: bool,
    controls: bool,
    form: str,
    plot: str | None,
    device: str,
) -> None:
    """Correlate channels of UDGN, or attention heads of StructFormer and Transformer, with dependency relations.

    "PCC" is Pearson's correlation, over all gold arcs, between the weight of a channel from dependent to head and the
    relation of the arc; for each relation, the channel with the highest value is listed. "Partial" is its partial
    correlation given direction and distance of the arc. Layers and channels count from 1. For several models, mean and
    standard deviation are given.
    """
    from induce.analysis.channels import ChannelComparison, correlate_channels
    from induce.storage.model_spec import expand_models
    from treebank.corpora.catalog import is_name
    from treebank.io.expand import expand
    from treebank.io.read import DEFAULT_INPUT, read_sentences

    folders = [folder for group in expand_models(default_models(models)).values() for folder in group]
    if plot and len(folders) > 1:
        raise click.UsageError("--plot draws the channels of one model")
    if is_name(gold):
        raise SynparseError(f"{gold} has trees but no dependency relations; give a CoNLL-U file")
    correlate = partial(
        correlate_channels, data=gold, minimum=min_count, subtypes=subtypes, device=device, controls=controls
    )
    reports, files = [], expand([gold], trees=True)
    for folder in folders:
        with reading("parsing", files, DEFAULT_INPUT) as counted:
            reports.append(correlate(folder, read_sentences([gold], trees=True, input_options=counted)))
    if plot:
        draw_channels(reports[0], plot)
    if len(reports) > 1:
        _print_runs(reports, ChannelComparison(reports).relations, form)
    elif form == "json":
        print_json(reports[0].to_json())
    else:
        _print_channels(reports[0], controls)


def _print_runs(reports: Sequence[ChannelReport], relations: Mapping[str, Mapping[str, Runs]], form: str) -> None:
    """Print means and standard deviations over several models."""
    if form == "json":
        means = {
            relation: {name: runs.to_json() for name, runs in columns.items()}
            for relation, columns in relations.items()
        }
        print_json({"runs": [report.to_json() for report in reports], "relations": means})
        return
    names = list(dict.fromkeys(name for columns in relations.values() for name in columns))
    rows = []
    for relation, columns in relations.items():
        cells = [cell for name in names for cell in (mean_cells(columns[name]) if name in columns else ("-", "-"))]
        rows.append([relation, str(max(len(runs.values) for runs in columns.values())), *cells])
    print_table(["Relation", "Models", *(part for name in names for part in (name, "SD"))], rows)
    click.echo()
    for report in reports:
        click.echo(report.signature)


def mean_cells(runs: Runs) -> tuple[str, str]:
    """Mean and standard deviation; "-" for the deviation of one model."""
    return f"{runs.mean:.2f}", f"{runs.deviation:.2f}" if len(runs.values) > 1 else "-"


def _print_channels(report: ChannelReport, controls: bool) -> None:
    """Print a table and the signature."""
    rows = []
    for relation in report.relations:
        entry = relation.to_json()
        best = [str(entry[key] or "-") for key in ("layer", "channel")]
        more = ["partial", *(["untrained", "permuted"] if controls else [])]
        values = (_correlation(entry[key]) for key in more)
        rows.append([relation.relation, str(relation.arcs), _correlation(entry["correlation"]), *best, *values])
    print_table([*COLUMNS, *(CONTROL_COLUMNS if controls else [])], rows)
    click.echo()
    click.echo(report.signature)


def _correlation(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
