"""``synparse analyze``: what a trained model has learned, beside its trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from cli.commands.analyze.agreement import agreement
from cli.commands.analyze.numbers import boundaries, sharpness
from cli.commands.analyze.skills import curves, options
from cli.help import HELP, Command, Group
from cli.options import default_model, device_option, seeds_option
from cli.output import print_json, print_table
from cli.picture import check_picture, draw_channels, draw_sweep
from cli.status import reading
from treebank.base.errors import SynparseError
from treebank.base.json_text import parse_json

if TYPE_CHECKING:
    from induce.analysis.channels import ChannelReport
    from induce.analysis.grammar import GrammarReport
    from induce.analysis.sweep import Sweep
    from treebank.evaluate.score import Runs

HEADER = ["Relation", "Arcs", "PCC", "Layer", "Channel", "Partial"]
CONTROLS = ["Untrained", "Permuted"]


@click.group(cls=Group, context_settings=HELP)
def analyze() -> None:
    """Look into a trained model."""


@analyze.command("channels", cls=Command, context_settings=HELP)
@seeds_option
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
@click.option(
    "--controls", is_flag=True, help="Also: a model that has learned nothing, and relations exchanged at random."
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON, with all channels, instead of a table.")
@click.option("--save", metavar="FILE.png", help="Also draw relations and channels as a heat map (needs matplotlib).")
@device_option
def channels(
    runs: Sequence[str],
    gold: str,
    minimum: int,
    subtypes: bool,
    controls: bool,
    as_json: bool,
    save: str | None,
    device: str,
) -> None:
    """Which channel of a UDGN goes with which dependency relation; or attention head of StructFormer and Transformer.

    Over all gold arcs, Pearson's correlation between the weight of a channel from child to head and whether the arc is
    of a relation; for each relation the channel where it is largest, and the partial correlation of that one given
    direction and distance of the arc. Layers and channels count from 1. Of several models there are mean and deviation.
    """
    from functools import partial

    from induce.analysis.channels import ChannelComparison, correlate_channels
    from induce.storage.model_spec import expand_models
    from treebank.corpora.catalog import is_name
    from treebank.io.expand import expand
    from treebank.io.read import DEFAULT_INPUT, read_sentences

    folders = [folder for found in expand_models(runs or [default_model()]).values() for folder in found]
    if save:
        if len(folders) > 1:
            raise click.UsageError("--save draws the channels of one model")
        check_picture(save)
    if is_name(gold):
        raise SynparseError(f"{gold} has trees and no dependency relations; give a CoNLL-U file")
    correlate = partial(
        correlate_channels, data=gold, minimum=minimum, subtypes=subtypes, device=device, controls=controls
    )
    reports, files = [], expand([gold], trees=True)
    for folder in folders:
        with reading("parsing", files, DEFAULT_INPUT) as counted:
            reports.append(correlate(folder, read_sentences([gold], trees=True, input_options=counted)))
    if save:
        draw_channels(reports[0], save)
    if len(reports) > 1:
        _show_runs(reports, ChannelComparison(reports).relations, as_json)
    elif as_json:
        print_json(reports[0].to_json())
    else:
        _print_channels(reports[0], controls)


def _show_runs(reports: Sequence[ChannelReport], found: Mapping[str, Mapping[str, Runs]], as_json: bool) -> None:
    """Means and deviations over several models, as a table or as JSON."""
    if as_json:
        means = {relation: {name: one.to_json() for name, one in own.items()} for relation, own in found.items()}
        print_json({"runs": [report.to_json() for report in reports], "relations": means})
        return
    names = list(dict.fromkeys(name for own in found.values() for name in own))
    rows = []
    for relation, own in found.items():
        cells = [part for name in names for part in (_mean(own[name]) if name in own else ("-", "-"))]
        rows.append([relation, str(max(len(one.values) for one in own.values())), *cells])
    header = ["Relation", "Models", *(part for name in names for part in (name, "SD"))]
    print_table(header, rows)
    click.echo()
    for report in reports:
        click.echo(report.signature)


@analyze.command("grammar", cls=Command, context_settings=HELP)
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@click.option("-m", "--run", metavar="RUN", help="The model folder, ./synparse-model by default.")
@click.option("--member", type=click.IntRange(min=1), default=1, show_default=True, help="Which grammar of several.")
@click.option("--words", type=click.IntRange(min=1), default=8, show_default=True, help="Words shown of a class.")
@click.option("--arcs", type=click.IntRange(min=1), default=30, show_default=True, help="Pairs of classes shown.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of tables.")
def grammar(text: tuple[str, ...], run: str | None, member: int, words: int, arcs: int, as_json: bool) -> None:
    """The grammar of a dmv: its word classes, and which class heads which, on which side.

    With TEXT arcs are counted in its trees and examples come from it; without, they are what the grammar expects.
    """
    from induce.analysis.grammar import describe_grammar
    from treebank.io.expand import expand
    from treebank.io.read import DEFAULT_INPUT, read_sentences

    with reading("parsing", expand(text), DEFAULT_INPUT) as counted:
        sentences = read_sentences(text, input_options=counted) if text else None
        report = describe_grammar(run or default_model(), member=member, words=words, arcs=arcs, text=sentences)
    if as_json:
        print_json(report.to_json())
    else:
        _print_grammar(report)


@analyze.command("sweep", cls=Command, context_settings=HELP)
@click.argument("scores", default="-", metavar="[SCORES]")
@click.option("--setting", required=True, metavar="NAME", help="What the models differ in, such as model.mask_rate.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON, with the value of each model, instead of a table.")
@click.option("--save", metavar="FILE.png", help="Also draw the scores over the values (needs matplotlib).")
def sweep_scores(scores: str, setting: str, as_json: bool, save: str | None) -> None:
    """Scores of models by the value of a setting.

    SCORES is what `synparse eval --json` wrote about several models, standard input by default. Models with the same
    value (other seeds) are averaged. The model folders must still be where they were.
    """
    from induce.analysis.sweep import sweep
    from treebank.io.lines import open_lines

    if save:
        check_picture(save)
    try:
        value = parse_json("\n".join(line for _, line in open_lines(scores)))
    except ValueError as error:
        raise SynparseError(f"{scores}: not JSON ({error}); write it with synparse eval --json") from None
    try:
        report = sweep(value, setting)
    except ValueError as error:
        raise SynparseError(f"{scores}: {error}") from None
    if save:
        draw_sweep(report, save)
    if as_json:
        print_json(report.to_json())
    else:
        _print_sweep(report)
    if report.also:
        click.echo(f"note: these models also differ in {', '.join(report.also)}", err=True)


def _print_grammar(report: GrammarReport) -> None:
    """Two tables: classes, and arcs between them."""
    rows = [[f"{one.number}", " ".join(one.words), f"{one.share:.1%}", f"{one.root:.1%}"] for one in report.classes]
    print_table(["Class", "Words", "Of text", "Root"], rows, text_columns=2)
    click.echo()
    names = {one.number: one.words[0] for one in report.classes}
    arcs = []
    for arc in report.arcs:
        head, child = (f"{number} ({names.get(number, '-')})" for number in (arc.head, arc.child))
        arcs.append([head, arc.side, child, ", ".join(arc.examples), f"{arc.rate:.2%}"])
    print_table(["Head", "Child is", "Child", "Examples", "Of words"], arcs, text_columns=4)
    click.echo(f"member {report.member} of {report.members}", err=True)


def _print_sweep(report: Sweep) -> None:
    """A table: a row for each value, mean and deviation of each score."""
    header = [report.setting, "Models", *(part for name in report.names for part in (name, "SD"))]
    rows = []
    for value in report.values:
        found = [runs.get(value) for runs in report.scores.values()]
        models = max(len(runs.values) for runs in found if runs)
        parts = [_mean(runs) if runs else ("-", "-") for runs in found]
        rows.append([str(value), str(models), *(part for pair in parts for part in pair)])
    print_table(header, rows)


def _mean(runs: Runs) -> tuple[str, str]:
    """Mean and deviation; of one model there is none."""
    return f"{runs.mean:.2f}", f"{runs.deviation:.2f}" if len(runs.values) > 1 else "-"


def _print_channels(report: ChannelReport, controls: bool) -> None:
    """A table, the signature below it."""
    rows = []
    for one in report.relations:
        found = one.to_json()
        place = [str(found[key] or "-") for key in ("layer", "channel")]
        more = ["partial", *(["untrained", "permuted"] if controls else [])]
        rows.append(
            [one.relation, str(one.arcs), _pcc(found["correlation"]), *place, *(_pcc(found[key]) for key in more)]
        )
    print_table([*HEADER, *(CONTROLS if controls else [])], rows)
    click.echo()
    click.echo(report.signature)


def _pcc(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


for _command in (agreement, boundaries, sharpness, options, curves):
    analyze.add_command(_command)
