"""``synparse eval``: score models, files of trees or heads, and baselines against a treebank."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from os.path import lexists
from typing import TYPE_CHECKING, Any

import click

from cli.command import command, number_option, option
from cli.options import (
    OUTPUT,
    SCORING,
    SEED,
    SkippedSentences,
    baseline_option,
    check_parsing_options,
    convention_option,
    default_model,
    encoding_option,
    format_option,
    gold_option,
    head_rules_option,
    max_length_option,
    models_option,
    note,
    on_error_option,
    overwrite_option,
    parsing_options,
    ptb_option,
)
from cli.progress import Counter
from induce.storage.locate import DEFAULT_FOLDER, default_output

if TYPE_CHECKING:
    from treebank.evaluate.evaluate import EvaluationPlan

EXAMPLES = [
    (
        "synparse eval -m mine --gold sample --baseline right --baseline oracle",
        "Score a model on the built-in treebank, next to right branching and the upper bound of binary trees.",
    ),
    (
        "synparse eval --gold gold.mrg trees.txt --convention km --format json",
        "Score the trees of any parser, one per line, under the convention of Klein and Manning.",
    ),
    (
        "synparse eval --gold gold.mrg 'a=runs/seed-1' 'b=runs/seed-2' --compare",
        "Compare two models under names of your own.",
    ),
]
DETAILS = ("length", "height", "relation", "distance")


@command(examples=EXAMPLES)
@click.argument("predicted", nargs=-1, metavar="[PREDICTED]...")
@gold_option(required=True)
@ptb_option
@encoding_option
@on_error_option("stop", "skip")
@max_length_option
@head_rules_option
@models_option
@parsing_options
@baseline_option
@convention_option
@option("--characters", is_flag=True, help="Score trees over characters, and word segmentation.", group=SCORING)
@option(
    "--compare",
    is_flag=True,
    help="Test the difference of each system from the first one; models come before files.",
    group=SCORING,
)
@option(
    "--published",
    multiple=True,
    metavar="NAME=MEAN+-SD:SEEDS",
    help="Compare with the published mean of several seeds, such as C-PCFG=55.2+-2.1:4 (repeatable).",
    group=SCORING,
)
@option(
    "--by",
    type=click.Choice(DETAILS),
    multiple=True,
    help="Scores by sentence length, precision by constituent height, recall of arcs by relation or distance "
    "(repeatable).",
    group=SCORING,
)
@option(
    "--seed",
    type=SEED,
    metavar="N",
    help="Draw random baselines once with this seed, instead of computing their expectation.",
    group=SCORING,
)
@format_option("table", "json", "csv", "latex", default="table")
@option(
    "--details",
    metavar="DIR",
    help="Write DIR/scores.json, sentences.tsv (one row per sentence) and a CSV file for each table.",
    group=OUTPUT,
)
@overwrite_option
@number_option("--worst", help="Draw the N worst trees of the first system next to gold.", group=OUTPUT)
def evaluate(
    predicted: Sequence[str],
    models: Sequence[str],
    form: str,
    details: str | None,
    overwrite: bool,
    worst: int | None,
    by: Sequence[str],
    on_error: str,
    encoding: str | None,
    decoder: str | None,
    priors: str | None,
    device: str,
    **plan_options: Any,
) -> None:
    """Score models, files of trees or heads, and baselines against a treebank.

    PREDICTED is any number of files with one tree per gold sentence, CoNLL-U files with heads, folders of such files,
    or models. NAME=PATH names a system in all tables, NAME='PATTERN' a family of seeds. Without PREDICTED and --model,
    the default model is scored: the one in $SYNPARSE_MODEL or ./synparse-model, else the built-in one.
    """
    _check_usage(form, details, worst, overwrite=overwrite, **plan_options)
    from cli.commands.eval_report import check_details, show
    from induce.parsing.systems import are_models, load_systems
    from induce.storage.locate import expand_arguments
    from treebank.evaluate.evaluate import EvaluationPlan
    from treebank.evaluate.evaluate import evaluate as run_plan
    from treebank.evaluate.systems import expand_files

    gc.disable()  # trees form no cycles; searching for cycles takes a third of the time of this command
    following = [path for path in predicted if are_models(path)]  # -m runs/seed-* as expanded by a shell
    plan = EvaluationPlan(
        predicted=[path for path in predicted if path not in following],
        by=by,
        details=form == "json" or bool(details),
        encoding=encoding or "",
        on_bad=SkippedSentences() if on_error == "skip" else None,
        **plan_options,
    )
    models = models or ([] if following else _default_models(plan))
    if not models and not following:
        check_parsing_options({"decoder": decoder, "priors": priors})
    if details:
        files = [path for named in expand_files(plan.predicted).values() for _, path in named]
        read = [*models, *following]
        check_details(details, overwrite=overwrite, inputs=files, gold=plan_options["gold"], models=read)
    groups = expand_arguments(models, following)
    systems = load_systems(groups, report=note, watched=_track, decoder=decoder, priors=priors, device=device)
    show(run_plan(plan, systems, groups), form=form, worst=worst, details=details, overwrite=overwrite)


def _track(name: str, parsed: Iterable[Any], count: int) -> Iterable[Any]:
    """Show the number of sentences that a system has parsed."""
    return Counter(f"{name} parses").track(parsed, count)


def _default_models(plan: EvaluationPlan) -> list[str]:
    """The default model if there is nothing else to score. Next to baselines, it must be trained or named."""
    if not plan.needs_model or (plan.baselines and default_output() == DEFAULT_FOLDER and not lexists(DEFAULT_FOLDER)):
        return []
    return [default_model()]


def _check_usage(
    form: str,
    details: str | None,
    worst: int | None,
    *,
    overwrite: bool,
    seed: int | None,
    baselines: Sequence[str],
    **others: Any,
) -> None:
    """Raises UsageError for options that have no effect."""
    if worst and form != "table":
        raise click.UsageError(f"--worst draws trees below a table, so it cannot be combined with --format {form}")
    if overwrite and not details:
        raise click.UsageError("--overwrite requires --details")
    if seed is not None and not any("random" in name.lower() for name in baselines):
        raise click.UsageError("--seed requires --baseline random or random-uniform")
