"""``synparse eval``: a model, files of trees or heads, and baselines against a treebank; or a model on a text."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from os.path import lexists
from typing import TYPE_CHECKING, Any

import click

from cli.commands.eval_pairs import pairs_options
from cli.commands.eval_text import check_usage, show_text, text_options
from cli.help import command
from cli.options import (
    decoder_option,
    default_model,
    device_option,
    distances_option,
    layer_option,
    note,
    priors_option,
)
from cli.status import Meter
from induce.storage.locate import DEFAULT_FOLDER, default_output

if TYPE_CHECKING:
    from treebank.evaluate.evaluate import EvaluationPlan


@command()
@click.argument("predicted", nargs=-1, metavar="[PREDICTED]...")
@click.option(
    "--gold",
    metavar="GOLD",
    help="A file, folder or glob of trees or heads, or sample, wsj, wsj10, wsj23, … (see synparse info --data).",
)
@click.option(
    "--task", metavar="NAME", help="In place of --gold: score models of a task, listops, logic, craft or similarity."
)
@click.option(
    "-m",
    "--run",
    "runs",
    multiple=True,
    metavar="RUN",
    help="A model folder, or a pattern such as 'runs/seed-*', which also gives mean and deviation; may be repeated.",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="NAME",
    help="left, right, balanced, balanced-williams, random, random-uniform, oracle or gold; of heads previous or next; "
    "may be repeated.",
)
@click.option(
    "--convention",
    "conventions",
    multiple=True,
    metavar="NAME",
    help="on-lstm (the default), km, km-wsj10, km-prose, kim-sentence, kim-corpus or evalb, or one spelt like "
    "avg:corpus,root:keep; of heads udgn (their default), no-punct or all-tokens; may be repeated.",
)
@click.option(
    "--characters",
    is_flag=True,
    help="Score trees over characters, and words by themselves, as is done for models of characters.",
)
@click.option("--max-length", type=click.IntRange(min=1), metavar="N", help="Only sentences of up to N words.")
@click.option("--compare", is_flag=True, help="Test the difference of every system from the first one.")
@click.option(
    "--by",
    type=click.Choice(["length", "height", "relation", "distance"]),
    multiple=True,
    help="Scores by sentence length; precision of constituents by height; recall of arcs by relation or by distance "
    "of the head. May be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of a table.")
@click.option("--csv", "as_csv", is_flag=True, help="Write comma-separated values.")
@click.option("--latex", "as_latex", is_flag=True, help="Write a LaTeX table.")
@click.option(
    "--digits", type=click.IntRange(0, 10), default=1, show_default=True, metavar="N", help="Decimals in tables."
)
@click.option("--save", metavar="DIR", help="Also write DIR/scores.json and DIR/sentences.tsv, one line a sentence.")
@click.option(
    "--worst", type=click.IntRange(min=1), metavar="N", help="Draw the N worst trees of the first system beside gold."
)
@click.option("--ptb", metavar="DIR", help="A full Penn Treebank, for the names that begin with wsj.")
@click.option("--skip-bad", is_flag=True, help="Leave out broken gold sentences, each with a message.")
@click.option("--head-rules", metavar="NAME", help="Gold heads from trees: collins, yamada-matsumoto or stanford.")
@click.option("--seed", type=int, metavar="N", help="Draw random baselines once, instead of their exact expectation.")
@decoder_option
@layer_option
@distances_option
@priors_option
@device_option
@text_options
@pairs_options
@click.pass_context
def evaluate(
    context: click.Context,
    runs: Sequence[str],
    save: str | None,
    worst: int | None,
    by: Sequence[str],
    skip_bad: bool,
    task: str | None,
    text: str | None,
    pairs: str | None,
    **others: Any,
) -> None:
    """Score models, files of trees or heads, and baselines against a treebank.

    PREDICTED are files with one tree a line, one for each gold sentence, or CoNLL-U files with heads, or folders of
    such files. Without any, and without -m, the default model is scored: that in $SYNPARSE_MODEL or ./synparse-model,
    else the built-in one. With --text in the place of --gold, the perplexity of a text is printed, with --pairs how
    often a model prefers the grammatical one of two sentences; with --task, PREDICTED are test files of that task in
    the published format, and without any, test examples are generated.
    """
    form = _form(others)
    if worst and form:
        raise click.UsageError(f"--worst draws trees below a table, so it does not go with --{form}")
    digits = others.pop("digits")
    check_usage(context, {**others, "form": form})
    from induce.parsing.systems import load_systems
    from induce.storage.model_spec import expand_models, is_model

    runs = [*runs, *filter(is_model, others["predicted"])]  # what a shell makes of -m runs/seed-*
    others["predicted"] = [path for path in others["predicted"] if not is_model(path)]
    if text is not None:
        return show_text(text, expand_models(runs or [default_model()]), form, others)
    if pairs is not None:
        from cli.commands.eval_pairs import show_pairs

        return show_pairs(pairs, expand_models(runs or [default_model()]), form, others)
    if task:
        from cli.commands.eval_task import show_task

        return show_task(task, others["predicted"], expand_models(runs or [default_model()]), others, form)
    from cli.commands.eval_report import show
    from treebank.evaluate.evaluate import EvaluationPlan
    from treebank.evaluate.evaluate import evaluate as run_plan

    gc.set_threshold(200_000, 20, 100)  # trees hold no cycles; looking for them would take a third of the time
    parsing = {name: others.pop(name) for name in ("decoder", "layer", "distances", "priors", "device")}
    plan = EvaluationPlan(
        **{name: others[name] for name in PLAN}, details=form == "json" or bool(by), on_bad=_tell if skip_bad else None
    )
    groups = expand_models(runs or _default_models(plan))
    evaluation = run_plan(plan, load_systems(groups, tell=note, watched=_watched, **parsing), groups)
    show(evaluation, form=form, by=by, worst=worst, save=save, digits=digits)


PLAN = (
    *("gold", "predicted", "baselines", "conventions", "characters", "max_length", "seed", "head_rules", "compare"),
    "ptb",
)


def _form(options: dict[str, Any]) -> str | None:
    """What to write in the place of a table, taken out of ``options``. Raises UsageError for two things at once."""
    chosen = [name for name in ("json", "csv", "latex") if options.pop(f"as_{name}")]
    if len(chosen) > 1:
        raise click.UsageError(" and ".join(f"--{name}" for name in chosen) + " exclude each other")
    return chosen[0] if chosen else None


def _watched(name: str, parsed: Iterable[Any], count: int) -> Iterable[Any]:
    return Meter(f"{name} parses").over(parsed, count)


def _tell(error: Exception) -> None:
    click.echo(f"synparse: {error}", err=True)


def _default_models(plan: EvaluationPlan) -> list[str]:
    """The default model if there is nothing else to score; next to baselines, only if it was trained or named."""
    if not plan.needs_models or (plan.baselines and default_output() == DEFAULT_FOLDER and not lexists(DEFAULT_FOLDER)):
        return []
    return [default_model()]
