"""``synparse train``: train a model on plain text."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.command import command, completing, option, stacked
from cli.model_table import show_models
from cli.options import (
    INPUT,
    LEARNING,
    OUTPUT,
    SEED,
    device_option,
    max_minutes_option,
    not_empty,
    reading_options,
    settings_option,
)
from cli.output import wrapped
from cli.process import ending_after_the_step
from cli.progress import Counter, Display
from induce.registry import PROGRAMS, ProgramEntry, load
from induce.storage.locate import PathType, default_output, folder_types

if TYPE_CHECKING:
    from induce.training.learners import SingleProcess
    from induce.training.request import RunRequest

EXAMPLES = [
    ("synparse train corpus.txt -o mine", "Train the best parser for your own text."),
    (
        "synparse train book.txt --tokenizer english --model npcfg --seeds 1-3 -o fam",
        "Train three grammars with different seeds on raw text.",
    ),
    ("synparse train --heads content corpus.txt -o heads", "Learn heads instead of phrases."),
]

SINGLE_MODEL = ("model", "preset", "settings", "trees", "teachers")  # options that describe one model

preset_option = option(
    "--preset",
    metavar="NAME",
    callback=not_empty,
    shell_complete=completing("induce.settings.presets:preset_names"),
    help="Named settings such as onlstm-ptb, or a .toml file.",
    group=LEARNING,
)


def dev_option(help: str) -> Any:
    """Add ``--dev``."""
    return option("--dev", multiple=True, metavar="FILE", help=help, group=INPUT)


folder_options = stacked(
    option("-o", "--output", "run", metavar="FOLDER", callback=not_empty, help="Model folder to write.", group=OUTPUT),
    option("--resume", is_flag=True, help="Resume the training run in the output folder.", group=OUTPUT),
    option("--overwrite", is_flag=True, help="Replace the model in the output folder.", group=OUTPUT),
    max_minutes_option,
)
training_seed_option = option("--seed", type=SEED, metavar="N", help="Random seed: --set train.seed=N.", group=LEARNING)


@command(examples=EXAMPLES)
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@option(
    "--model",
    metavar="NAME",
    is_eager=True,
    callback=show_models,
    shell_complete=completing("induce.registry:MODELS"),
    help="One model instead of a recipe; help lists the types.",
    group=LEARNING,
)
@preset_option
@settings_option
@option(
    "--trees",
    metavar="TREEBANK",
    callback=not_empty,
    help="Gold trees for onlstm-syd and prpn-syd.",
    group=LEARNING,
)
@option(
    "--teacher",
    "teachers",
    multiple=True,
    metavar="SOURCE",
    help="Model, file or seminfo to learn from (repeatable).",
    group=LEARNING,
)
@training_seed_option
@option(
    "--seeds",
    metavar="SEEDS",
    callback=not_empty,
    help="One model per seed, such as 1-5 or 1,3,7.",
    group=LEARNING,
)
@option(
    "--recipe",
    metavar="NAME",
    callback=not_empty,
    help="Recipe: a name or a .toml file (default: best).",
    group=LEARNING,
)
@option(
    "--heads",
    type=click.Choice(["content", "function"]),
    is_flag=False,
    flag_value="content",
    metavar="[STYLE]",
    help="Heads instead of phrases: content or function words.",
    group=LEARNING,
)
@option(
    "--branching",
    type=click.Choice(["right", "left", "mixed"]),
    metavar="SIDE",
    help="Branching: right, left or mixed (default: estimated).",
    group=LEARNING,
)
@dev_option("Development text (default: a share of TEXT).")
@reading_options
@folder_options
@device_option
@click.pass_context
def train(context: click.Context, text: tuple[str, ...], run: str | None, **options: Any) -> None:
    """Train a parser on plain text: one sentence per line, tokens split by spaces.

    TEXT is files, folders or patterns; without it, the built-in sample is used, which a grammar generated. Several
    models learn for up to about 25 minutes and become one fast parser; --model trains one model. Ctrl-C keeps the best.
    """
    train_model(context, text, run, purpose="", **options)


def train_model(
    context: click.Context,
    text: tuple[str, ...],
    run: str | None,
    *,
    max_minutes: float | None,
    seeds: str | None = None,
    recipe: str | None = None,
    heads: str | None = None,
    branching: str | None = None,
    **options: Any,
) -> None:
    """Train what the options of ``synparse train`` or ``synparse task train`` describe and print its progress."""
    start = time.monotonic()
    if options["resume"] and options["overwrite"]:
        raise click.UsageError("--resume and --overwrite exclude each other")
    if max_minutes is not None and not max_minutes > 0:  # also excludes NaN
        raise click.UsageError("--max-minutes: give a number of minutes above 0")
    is_single = any(options.get(name) for name in SINGLE_MODEL) or bool(options["purpose"])
    if heads:
        _check_heads(recipe, text, is_single=is_single or bool(seeds))
        recipe = f"heads:{heads}"
    if seeds and recipe:
        raise click.UsageError("--recipe names models, settings and seeds itself")
    if seeds and not is_single and not options["resume"]:
        remedy = "name it with --model or --preset, or repeat the recipe with --seed 1 -o RUN-1, --seed 2 -o RUN-2"
        raise click.UsageError(f"--seeds trains one model several times; {remedy}")
    if branching:
        options["settings"] = (*options["settings"], f"parse.branching={branching}")
    from induce.training.learners import join_group
    from induce.training.request import RunRequest

    request = RunRequest(run=run or default_output(), text=text, **options)
    group = join_group(request.device)
    if group.size > 1 and (seeds or recipe):
        raise click.UsageError("--seeds and --recipe start their own processes; with torchrun, train one model")
    has_one = is_single or group.size > 1 or (request.resume and PathType.MODEL in folder_types(Path(request.run)))
    for argument, entry in ((recipe, PROGRAMS.get("recipe")), (seeds, PROGRAMS.get("seeds"))):
        if argument or (request.resume and os.path.lexists(os.path.join(request.run, entry.marker))):
            _train_several(context, request, entry, argument, max_minutes)
            return
    if not has_one:
        _train_several(context, request, PROGRAMS.get("recipe"), None, max_minutes)
        return
    _train_one(context, request, group, None if max_minutes is None else start + 60 * max_minutes)


def _check_heads(recipe: str | None, text: tuple[str, ...], *, is_single: bool) -> None:
    """Raise UsageError if ``--heads`` has a word that is neither a style nor a text, or cannot have an effect."""
    from treebank.corpora.catalog import is_name

    if recipe:
        raise click.UsageError("--heads chooses a recipe itself; with --recipe, order the styles in the file")
    if is_single:
        raise click.UsageError("--heads trains several models; for one, use --preset dmv-content or dmv-function")
    for word in text:
        if word.isalpha() and not is_name(word) and not Path(word).exists():
            raise click.UsageError(f"{word}: neither a style of --heads (content or function) nor a text")


def _train_one(context: click.Context, request: RunRequest, group: SingleProcess, deadline: float | None) -> None:
    """Train one model until ``deadline`` (of ``time.monotonic``) at the latest, and print the progress."""
    from cli.training_progress import next_steps, with_progress
    from induce.training.events import Finished
    from induce.training.prepare import prepare_run

    counter = Counter("reading", hidden=not group.first)
    reading = replace(request.input_options, on_sentence=lambda position: counter.step(None))
    try:
        trainer = prepare_run(replace(request, input_options=reading), counter.print, group=group)
    finally:
        counter.close()
    left = None if deadline is None else max(0.0, (deadline - time.monotonic()) / 60)
    steps: list[str] = []
    with _naming_results(request.run), ending_after_the_step() as ending:
        events = trainer.train(max_minutes=left, stop=ending.requested, hurry=ending.hurried)
        for event in with_progress(events) if group.first else events:
            if isinstance(event, Finished):
                if event.reason == "interrupted":
                    context.exit(ending.code)
                steps = next_steps(event)
    for line in steps if group.first else ():
        _print(line)


def _train_several(
    context: click.Context, request: RunRequest, entry: ProgramEntry, argument: str | None, max_minutes: float | None
) -> None:
    """Train several models by a program, called with the value of its option, and print the progress.

    Lines about its models are printed if they are the result.
    """
    from cli.training_progress import event_lines, next_steps, part_status
    from induce.storage.outputs import resume_command
    from induce.training.events import Finished, PartProgress

    finished: Finished | None = None
    display = Display()
    with _naming_results(request.run), ending_after_the_step() as ending:
        options = {"max_minutes": max_minutes, "stop": ending.requested, "report": display.print}
        try:
            for name, event in load(entry.location)(request, argument, **options):
                if isinstance(event, PartProgress):
                    display.show(*part_status(event))
                for line in event_lines(event) if entry.models else ():
                    display.print(f"{name}: {line}")
                finished = event if isinstance(event, Finished) else finished
        finally:
            display.close()
        if ending.number:
            for line in _results(request.run, resume_command(request.run)):
                _print(line)
            context.exit(ending.code)
    if finished:
        _print(f"model folder: {request.run}")
        for line in next_steps(finished, f"{request.run}/{entry.models}".rstrip("/")):
            _print(line)


@contextmanager
def _naming_results(run: str) -> Iterator[None]:
    """Add the content of the folder ``run`` to the message about an interruption."""
    from induce.storage.outputs import resumable, resume_command

    try:
        yield
    except KeyboardInterrupt as error:
        for line in _results(run, resume_command(run) if resumable(Path(run)) else ""):
            error.add_note(line)
        raise


def _results(run: str, resuming: str) -> Iterator[str]:
    """A line if the folder ``run`` has a model, and one for the command ``resuming``, if any."""
    if not {PathType.MODEL, PathType.ENSEMBLE}.isdisjoint(folder_types(Path(run))):
        yield f"the model so far can parse: synparse parse -m {shlex.quote(run)} TEXT"
    if resuming:
        yield f"to continue: {resuming}"


def _print(line: str) -> None:
    click.echo(wrapped(line, sys.stderr), err=True)
