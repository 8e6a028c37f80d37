"""``synparse train``: a model of plain text."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cli.help import command
from cli.options import device_option, reading_options
from cli.signals import ending_after_the_step
from cli.status import Meter
from induce.registry import MODELS
from induce.storage.locate import default_output

if TYPE_CHECKING:
    from induce.training.events import Event
    from induce.training.request import RunRequest


@command()
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@click.option("--model", metavar="NAME", help=f"The model: {', '.join(MODELS)}; onlstm by default.")
@click.option(
    "--task", metavar="NAME", default="", help="Learn a task instead of text: listops, logic, craft or similarity."
)
@click.option(
    "--preset",
    metavar="NAME",
    help="A named set of settings, such as onlstm-ptb, or a .toml file of your own.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="TABLE.KEY=VALUE", help="Change one setting; may be repeated."
)
@click.option(
    "--trees",
    metavar="TREEBANK",
    help="Gold trees for onlstm-syd and prpn-syd, besides TEXT: a file, folder, pattern or name such as wsj-train.",
)
@click.option(
    "--teacher",
    "teachers",
    multiple=True,
    metavar="MODEL-or-FILE",
    help="A model that parses TEXT, or a file with trees or heads of TEXT, to learn from; may be repeated.",
)
@click.option("--dev", multiple=True, metavar="FILE", help="Development text; otherwise a share of TEXT is set aside.")
@reading_options
@click.option("-o", "--output", "run", metavar="RUN", help="The folder to write, ./synparse-model by default.")
@click.option("--resume", is_flag=True, help="Go on with the run in RUN.")
@click.option("--overwrite", is_flag=True, help="Replace the run in RUN.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Short for --set train.seed=N.")
@click.option(
    "--seeds",
    metavar="SEEDS",
    help="Train a family, RUN/seed-1 and so on: 1-5 or 1,3,7, on as many cores as there are.",
)
@click.option(
    "--best",
    is_flag=True,
    help="The best trees of TEXT: train several models in 180 minutes (or --max-minutes) and let them vote.",
)
@click.option("--max-minutes", type=click.FloatRange(min=0, min_open=True), metavar="M", help="End after M minutes.")
@device_option
@click.pass_context
def train(context: click.Context, text: tuple[str, ...], run: str | None, **options: Any) -> None:
    """Train a model on plain text: one sentence a line, words separated by spaces.

    TEXT are files, folders, patterns or - for standard input; treebanks are read for their words only, unless they are
    named by --trees. Without TEXT the model learns from the built-in sample. With --task, TEXT are files in the
    published format of that task, and without TEXT expressions are generated. Ctrl-C stops and keeps the model;
    --resume goes on.
    """
    began = time.monotonic()
    if options["resume"] and options["overwrite"]:
        raise click.UsageError("--resume and --overwrite exclude each other")
    max_minutes, seeds, best = options.pop("max_minutes"), options.pop("seeds"), options.pop("best")
    if max_minutes is not None and not max_minutes > 0:  # NaN is neither
        raise click.UsageError("--max-minutes: give a number of minutes above 0")
    from induce.training.request import RunRequest, UnchangeableError
    from induce.training.run import prepare_run

    request = RunRequest(run=run or default_output(), text=text, **options)
    from cli.progress import next_steps, shown
    from induce.training.distributed import join
    from induce.training.events import Finished

    group = join(request.device)
    if group.size > 1 and (seeds or best):
        raise click.UsageError("--seeds and --best start processes of their own; several processes train one model")
    if _trained_together(context, request, seeds, best, max_minutes):
        return
    meter = Meter("reading", results_shown=not group.first)
    reading = replace(request.input_options, on_sentence=lambda place: meter.step(lambda: None))
    try:
        trainer = prepare_run(replace(request, input_options=reading), meter.say, group=group)
    except UnchangeableError as error:
        raise click.UsageError(str(error)) from None
    finally:
        meter.end()
    left = None if max_minutes is None else max(0.0, max_minutes - (time.monotonic() - began) / 60)
    steps: list[str] = []
    with ending_after_the_step() as ending:
        events = trainer.train(max_minutes=left, stop=ending.asked, hurry=ending.hurried)
        for event in shown(events) if group.first else events:
            if isinstance(event, Finished):
                if event.reason == "interrupted":
                    context.exit(ending.code)
                steps = next_steps(event)
    for line in steps if group.first else ():
        _tell(line)


def _trained_together(
    context: click.Context, request: RunRequest, seeds: str | None, best: bool, max_minutes: float | None
) -> bool:
    """Train a family of seeds, or several models that vote, if that is what is asked for. Returns whether it was."""
    from cli.progress import next_steps
    from induce.recipes.best import train_best
    from induce.recipes.best_plan import is_best
    from induce.training.events import Finished
    from induce.training.family import is_family, parse_seeds, train_family

    best = best or (request.resume and is_best(request.run))
    if not best and not seeds and not (request.resume and is_family(request.run)):
        return False
    chosen = ("model", "preset", "settings", "trees", "teachers", "task")
    if (request.seed is not None and seeds) or (best and (seeds or any(getattr(request, key) for key in chosen))):
        raise click.UsageError("--seeds takes no --seed, and --best chooses models and settings itself")
    if best and request.seed == 0:
        raise click.BadParameter("0: with --best series are numbered from 1", param_hint="--seed")
    last: Event | None = None
    with ending_after_the_step() as ending:
        if best:
            for name, event in train_best(request, max_minutes=max_minutes, stop=ending.asked, tell=_tell):
                _told(name, event, whole=False)
                last = event
        else:
            wanted = parse_seeds(seeds) if seeds else []
            for one in train_family(request, wanted, max_minutes=max_minutes, stop=ending.asked, tell=_tell):
                _told(f"seed {one.seed}", one.event)
                last = one.event
        if ending.number:
            _tell(f"go on with: synparse train --resume -o {shlex.quote(request.run)}")
            context.exit(ending.code)
    if isinstance(last, Finished):
        for line in next_steps(last, request.run if best else f"{request.run}/seed-*"):
            _tell(line)
    return True


def _told(name: str, event: Event, *, whole: bool = True) -> None:
    """Print what happened to one of several trainings; unless it is a ``whole`` run, not how to go on with it."""
    from cli.progress import lines
    from induce.training.events import Finished

    told = lines(event)
    for line in told[:1] if isinstance(event, Finished) and not whole else told:
        _tell(f"{name}: {line}")


def _tell(line: str) -> None:
    click.echo(line, err=True)
