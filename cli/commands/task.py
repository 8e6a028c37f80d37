"""``synparse task``: models for tasks other than parsing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.command import command, group, option
from cli.commands.train import dev_option, folder_options, preset_option, train_model, training_seed_option
from cli.options import (
    LEARNING,
    OUTPUT,
    default_model,
    default_models,
    device_option,
    format_option,
    max_length_option,
    model_option,
    models_option,
    not_empty,
    settings_option,
)
from cli.plot_options import check_plot, plot_option
from cli.process import ending_after_the_step
from cli.progress import Display, clock, remaining
from cli.views import FORMATS, show
from induce.registry import PROGRAM, PURPOSES, load
from induce.storage.locate import default_output

if TYPE_CHECKING:
    from induce.tasks.craft.step_analysis import LearningCurves, StepAnalyses

SUBCOMMANDS = {
    "train": ("cli.commands.task:train", "Train a model on a task."),
    "eval": ("cli.commands.task:evaluate", "Score models on a task."),
    "transfer": ("cli.commands.task:transfer", "Learn a new Craft task by reusing trained options."),
    "options": ("cli.commands.task:options", "Show the options that a Craft model uses at each step."),
    "curves": ("cli.commands.task:curves", "Show how fast Craft models learned."),
}


@group(SUBCOMMANDS)
def task() -> None:
    """Train and evaluate models on tasks other than parsing: ListOps, logic, inference, Craft and similarity."""


@command(
    "train",
    examples=[
        ("synparse task train listops -o listops", "Train on generated ListOps expressions."),
        ("synparse task train logic train.tsv -o logic --model tree-lstm", "Train on your own file."),
        ("synparse task train listops --seeds 1-5 -o runs/listops", "Train five models with different seeds."),
    ],
)
@click.argument("name")
@click.argument("text", nargs=-1, metavar="[FILE]...")
@option("--model", metavar="NAME", help="Encoder or policy of the task.", group=LEARNING)
@preset_option
@settings_option
@training_seed_option
@option("--seeds", metavar="SEEDS", callback=not_empty, help="Train one model per seed, such as 1-5.", group=LEARNING)
@dev_option("Development file (default: a share of FILE, or generated examples).")
@folder_options
@device_option
@click.pass_context
def train(context: click.Context, name: str, text: tuple[str, ...], run: str | None, **options: Any) -> None:
    """Train a model on the task NAME: listops, logic, nli, craft or similarity.

    FILE is any number of files in the published format of the task. Without FILE, examples are generated.
    """
    PURPOSES.get(name)
    if text and (changed := [change for change in options["settings"] if change.startswith("task.expressions")]):
        remedy = "leave it out, or train on a part of the file"
        raise click.UsageError(f"setting {changed[0]!r} has no effect on examples from a FILE; {remedy}")
    train_model(context, text, run, purpose=name, trees=None, teachers=(), **options)


@command(
    "eval",
    examples=[
        ("synparse task eval listops -m listops", "Score a model on generated expressions."),
        (
            "synparse task eval listops test.tsv -m 'runs/seed-*' --plot sizes.svg",
            "Score several seeds on a file, with their mean, and draw the accuracy by size.",
        ),
        ("synparse task eval logic -m logic test.tsv --format csv", "Score a model, as a table for other programs."),
    ],
)
@click.argument("name")
@click.argument("paths", nargs=-1, metavar="[FILE]...")
@models_option
@device_option
@max_length_option
@format_option(*FORMATS, default="table")
@plot_option("For listops and logic, also draw the accuracy by size")
def evaluate(
    name: str,
    paths: Sequence[str],
    models: Sequence[str],
    device: str,
    max_length: int | None,
    form: str,
    plot: str | None,
) -> None:
    """Score models on the task NAME: listops, logic, nli, craft or similarity.

    FILE is any number of test files in the published format of the task. Without FILE, test examples are generated.
    """
    from induce.storage.locate import expand_models

    groups = expand_models(default_models(models))
    check_plot(plot, inputs=paths, models=[folder for group in groups.values() for folder in group])
    evaluation = load(PURPOSES.get(name).score)(name, paths, groups, device=device, largest=max_length)
    show(evaluation, form)
    if plot:
        from induce.tasks.accuracy import draw_accuracy
        from treebank.draw.picture_files import write_scenes

        write_scenes([draw_accuracy(evaluation)], plot)


@command(
    "transfer",
    examples=[
        (
            "synparse task transfer -m runs/craft --sketch ADC -o runs/adc",
            "Learn a new task with the options of a trained model.",
        ),
        ("synparse task transfer --from-scratch --sketch ADC -o runs/scratch", "Learn it with primitive actions."),
        (
            "synparse task transfer -m runs/craft --unfrozen --seed 2 -o runs/adc-2",
            "Train the options, too, with another seed.",
        ),
    ],
)
@option("-m", "--model", "models", multiple=True, metavar="PATH", help="Model whose options are used (repeatable).")
@option("--sketch", metavar="TASK", help="Task, by letters or name (default: ADC).", group=LEARNING)
@option(
    "--reward",
    type=click.Choice(["sparse", "dense"]),
    help="Reward for the complete task (sparse, the default) or for each subtask in order (dense).",
    group=LEARNING,
)
@option("--from-scratch", is_flag=True, help="Use primitive actions instead of options.", group=LEARNING)
@option("--unfrozen", is_flag=True, help="Also train the options.", group=LEARNING)
@settings_option
@training_seed_option
@folder_options
@click.pass_context
def transfer(
    context: click.Context,
    models: tuple[str, ...],
    run: str | None,
    from_scratch: bool,
    max_minutes: float | None,
    **options: Any,
) -> None:
    """Learn a new Craft task by reinforcement learning with the options of trained models.

    A controller is trained by proximal policy optimization; with --unfrozen, the options are trained, too. The options
    of several models are merged. A model without options, ompn, is trained as a whole.
    """
    if options["resume"] and (options["overwrite"] or models or from_scratch or options["unfrozen"]):
        raise click.UsageError("--resume excludes --model, --from-scratch, --unfrozen and --overwrite")
    if from_scratch and options["unfrozen"]:
        raise click.UsageError("--unfrozen and --from-scratch exclude each other")
    if not options["resume"] and bool(models) == from_scratch:
        raise click.UsageError("give models whose options are used, or --from-scratch")
    from cli.training_progress import REASONS
    from induce.storage.outputs import resume_command
    from induce.tasks.craft.transfer import TransferRequest, prepare_transfer

    folder = run or default_output()
    learning = prepare_transfer(TransferRequest(run=folder, runs=models, **options))
    display, summary = Display(), ""
    with ending_after_the_step() as ending:
        for event in learning.learn(max_minutes=max_minutes, stop=ending.requested):
            left = event.seconds / event.epoch * (event.epochs - event.epoch)
            progress = f"iteration {event.epoch}/{event.epochs}"
            parts = [f"{event.calls:,} calls", f"success {event.success:.1%}", remaining(left)]
            display.show(progress, parts, event.epoch / event.epochs)
            summary = f"{progress}: {', '.join(parts[:2])} [{clock(event.seconds)}]\n"
        display.close()
        position, name = learning.position, shlex.quote(folder)
        unfinished = position.epoch < learning.config.train.epochs
        reason = "epochs" if not unfinished else "interrupted" if ending.number else "time"
        hint = f"; to continue: {resume_command(folder, program=PROGRAM)}" if unfinished else ""
        click.echo(f"{summary}{REASONS[reason]} after {clock(position.seconds)}", err=True)
        click.echo(f"model folder: {folder}{hint}", err=True)
        if ending.number:
            context.exit(ending.code)
    click.echo(f"next: synparse task eval craft -m {name}", err=True)


@command(
    "options",
    examples=[
        ("synparse task options -m runs/craft", "Show the options at each step of one demonstration per task."),
        ("synparse task options -m runs/craft demos.txt --plot steps.svg", "Also draw those of a file."),
        ("synparse task options -m runs/craft demos.txt --format csv", "Write a table for other programs."),
    ],
)
@click.argument("demonstrations", nargs=-1, metavar="[FILE]...")
@model_option
@format_option(*FORMATS, default="table")
@plot_option("Also draw switches and options below the steps")
def options(demonstrations: Sequence[str], model: str | None, form: str, plot: str | None) -> None:
    """Show which option a Craft model uses at each step of demonstrations, and where control returns.

    FILE is any number of files with one demonstration per line. Without FILE, one of each task of the model is
    generated.
    """
    from induce.tasks.craft.step_analysis import follow_options

    _show(follow_options(default_model(model), demonstrations), form, plot)


@command(
    "curves",
    examples=[
        ("synparse task curves -m runs/adc -m runs/scratch", "Compare learning with and without options."),
        ("synparse task curves -m 'runs/adc*' --what return --plot curves.svg", "Draw the returns of episodes."),
        ("synparse task curves -m runs/craft --format csv", "Write the success rates for other programs."),
    ],
)
@models_option
@option(
    "--what",
    "quantity",
    type=click.Choice(["success", "return"]),
    default="success",
    show_default=True,
    help="Success rate in percent, or mean return of the episodes of task transfer.",
    group=OUTPUT,
)
@format_option(*FORMATS, default="table")
@plot_option("Also draw the curves")
def curves(models: Sequence[str], quantity: str, form: str, plot: str | None) -> None:
    """Show the success rate or the return of Craft models over the steps of their training.

    Steps are updates; for `synparse task transfer` they are calls of options, and success is the share of solved
    episodes. The return of an episode is the sum of its rewards: at most 1, or with dense rewards the number of
    subtasks.
    """
    from induce.storage.locate import expand_models
    from induce.tasks.craft.step_analysis import learning_curves

    folders = [folder for group in expand_models(default_models(models)).values() for folder in group]
    _show(learning_curves(folders, quantity), form, plot)


def _show(result: LearningCurves | StepAnalyses, form: str, plot: str | None) -> None:
    """Print a result, and draw it if a file is given."""
    show(result, form)
    if plot:
        from treebank.draw.picture_files import write_scenes

        write_scenes(result.scenes(), plot)
