"""``synparse eval``: a model, files of trees and baselines against a treebank."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.options import decoder_option, default_run, device_option, layer_option
from cli.output import print_json, print_table
from treebank.errors import SynparseError

if TYPE_CHECKING:
    from treebank.metrics.evaluation import Expectation, System
    from treebank.metrics.report import ScoreReport
    from treebank.sentence import Treebank

HEADER = ["System", "Convention", "UF1", "95 % int.", "P", "R", "Sent.", "Depth", "R/L"]
MANY = 8  # labels in the table at most; JSON has all


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("predicted", nargs=-1, metavar="[PREDICTED]...")
@click.option(
    "--gold", required=True, metavar="GOLD", help="A file, folder or glob of trees, or sample, wsj, wsj40, wsj10."
)
@click.option("-m", "--run", "runs", multiple=True, metavar="RUN", help="A model folder; may be repeated.")
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="NAME",
    help="left, right, balanced, balanced-williams, random, random-uniform or oracle; may be repeated.",
)
@click.option(
    "--convention", "conventions", multiple=True, metavar="NAME", help="on-lstm (the default) or km; may be repeated."
)
@click.option("--max-length", type=click.IntRange(min=1), metavar="N", help="Only sentences of up to N words.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of a table.")
@click.option("--ptb", metavar="DIR", help="A full Penn Treebank, for the names that begin with wsj.")
@click.option("--seed", type=int, metavar="N", help="Draw random baselines once, instead of their exact expectation.")
@decoder_option
@layer_option
@device_option
def evaluate(
    predicted: Sequence[str],
    gold: str,
    runs: Sequence[str],
    baselines: Sequence[str],
    conventions: Sequence[str],
    max_length: int | None,
    as_json: bool,
    ptb: str | None,
    seed: int | None,
    **parsing: Any,
) -> None:
    """Score models, files of trees and baselines against a treebank.

    PREDICTED are files with one tree a line, one for each gold sentence. Without any, and without -m, the model in
    $SYNPARSE_MODEL or ./synparse-model is scored.
    """
    from treebank.baselines import SEEDED, find_baseline
    from treebank.metrics import find_convention
    from treebank.metrics.evaluation import Baseline, Expectation, Predictions, evaluate, shorter
    from treebank.names import bound_of, load_whole

    gc.set_threshold(200_000, 20, 100)  # trees hold no cycles; looking for them would take a third of the time
    chosen = [find_convention(name) for name in conventions or ("on-lstm",)]
    for name in baselines:
        find_baseline(name)
    runs = runs or _default_runs(predicted, baselines)
    treebank = load_whole(gold, ptb=ptb)
    bound = bound_of(gold, max_length)
    scored = treebank if bound is None else shorter(treebank, bound)
    systems: list[System | Expectation] = [_model(run, scored, parsing, named=len(runs) > 1) for run in runs]
    systems += [Predictions.of_file(path) for path in predicted]
    systems += [
        Expectation(name) if seed is None and name in SEEDED else Baseline(name, seed or 1) for name in baselines
    ]
    reports = evaluate(treebank, systems, chosen, max_length=bound, details=as_json)
    if as_json:
        print_json(_json(scored, reports))
    else:
        _print(scored, reports)


def _default_runs(predicted: Sequence[str], baselines: Sequence[str]) -> list[str]:
    """The default model, if nothing else was named and it is there. Raises SynparseError if nothing can be scored."""
    run = default_run()
    if predicted:
        return []
    if os.path.exists(run):
        return [run]
    if baselines and not os.environ.get("SYNPARSE_MODEL"):
        return []
    raise SynparseError(
        f"nothing to score: there is no model in {run}; run `synparse train`, or name a model with -m, "
        "a file of trees, or a --baseline"
    )


def _model(run: str, gold: Treebank, parsing: dict[str, Any], *, named: bool) -> System:
    """The trees of a model, which sees no gold tree (see `Parser.parse`). ``named``: after its folder too."""
    from induce.parser import load_parser
    from treebank.metrics.evaluation import Predictions

    parser = load_parser(run, **parsing)
    name = f"{parser.name} {run}" if named else parser.name
    return Predictions.of_model(name, parser.parse(gold.sentences))


def _json(gold: Treebank, reports: Sequence[ScoreReport]) -> dict[str, Any]:
    """What --json writes (see docs/conventions.md)."""
    from treebank.names import digest

    head = {"name": gold.name, "sentences": len(gold), "sha256": digest(gold), "note": gold.note}
    return {"gold": head, "scores": [report.to_json() for report in reports]}


def _print(gold: Treebank, reports: Sequence[ScoreReport]) -> None:
    """The scores, the recall of each label, and under which signatures."""
    print_table(HEADER, [_row(report) for report in reports], text_columns=2)
    labels = list(reports[0].by_label or ())[:MANY]
    if labels:
        click.echo("\nRecall of constituents by label, in percent")
        first = {report.system: report for report in reversed(reports)}  # the same under every convention
        rows = [_label_row(first[name], labels) for name in dict.fromkeys(report.system for report in reports)]
        print_table(["System", *labels], rows)
    click.echo()
    for signature in dict.fromkeys(report.signature for report in reports):
        same = [report for report in reports if report.signature == signature]
        click.echo(str(same[0]) if len(same) == 1 else signature)
    if any(report.convention.tokens == "letters" for report in reports):
        click.echo(
            f"note: the tags of {gold.name} are not those of the Penn Treebank, so every token with a letter or digit "
            "counts as a word (tokens:letters); published figures go by tags",
            err=True,
        )


def _row(report: ScoreReport) -> list[str]:
    low, high = report.interval
    return [
        report.system,
        report.convention.name,
        f"{report.value:.4f}",
        f"{low:.1f}-{high:.1f}",
        f"{report.precision:.2f}",
        f"{report.recall:.2f}",
        str(len(report.counts)),
        "" if report.depth is None else f"{report.depth:.2f}",
        "" if report.right_left is None else f"{report.right_left:.2f}",
    ]


def _label_row(report: ScoreReport, labels: Sequence[str]) -> list[str]:
    by_label = report.by_label or {}
    counts = [by_label[label] for label in labels]
    return [report.system, *(f"{100 * found / total:.1f}" for found, total in counts)]
