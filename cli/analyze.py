"""``synparse analyze``: what a trained model has learned, beside its trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.options import default_run, device_option
from cli.output import print_json, print_table
from treebank.errors import SynparseError

if TYPE_CHECKING:
    from induce.analysis import ChannelReport

HELP = {"help_option_names": ["-h", "--help"]}
HEADER = ["Relation", "Arcs", "PCC", "Layer", "Channel"]


@click.group(context_settings=HELP)
def analyze() -> None:
    """Look into a trained model."""


@analyze.command("channels", context_settings=HELP)
@click.option("-m", "--run", metavar="RUN", help="The model folder, ./synparse-model by default.")
@click.option("--gold", required=True, metavar="GOLD", help="CoNLL-U with heads and relations: a file, folder or glob.")
@click.option(
    "--minimum",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="Leave out relations with fewer arcs.",
)
@click.option("--subtypes", is_flag=True, help="Tell nmod:poss from nmod.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON, with all channels, instead of a table.")
@click.option("--save", metavar="FILE.png", help="Also draw relations and channels as a heat map (needs matplotlib).")
@device_option
def channels(
    run: str | None, gold: str, minimum: int, subtypes: bool, as_json: bool, save: str | None, device: str
) -> None:
    """Which channel of a UDGN goes with which dependency relation.

    Over all gold arcs, Pearson's correlation between the weight of a channel from child to head and whether the arc is
    of a relation; for each relation the channel where it is largest. Layers and channels count from 1.
    """
    from cli.picture import check_picture, draw_channels
    from induce.analysis import correlate_channels
    from treebank.formats import read_sentences
    from treebank.names import NAMES

    if save:
        check_picture(save)
    if gold in NAMES:
        raise SynparseError(f"{gold} has trees and no dependency relations; give a CoNLL-U file")
    report = correlate_channels(
        run or default_run(),
        read_sentences([gold], trees=True),
        data=gold,
        minimum=minimum,
        subtypes=subtypes,
        device=device,
    )
    if save:
        draw_channels(report, save)
    if as_json:
        print_json(report.to_json())
    else:
        _print(report)


def _print(report: ChannelReport) -> None:
    """A table, the signature below it."""
    rows = []
    for one in report.relations:
        found = one.to_json()
        place = [str(found[key] or "-") for key in ("layer", "channel")]
        value = found["correlation"]
        rows.append([one.relation, str(one.arcs), "-" if value is None else f"{value:.2f}", *place])
    print_table(HEADER, rows)
    click.echo()
    click.echo(report.signature)
