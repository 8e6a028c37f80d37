"""``synparse transfer``: a new task by the options of models that have learned others."""

from __future__ import annotations

import shlex
import time
from typing import Any

import click

from cli.help import command
from cli.signals import ending_after_the_step
from cli.status import LOG_SECONDS, StatusLine, clock, left, on_terminal
from induce.storage.locate import default_output


@command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--sketch", default="ADC", show_default=True, metavar="TASK", help="The task, by letters or by name.")
@click.option(
    "--reward",
    type=click.Choice(["sparse", "dense"]),
    default="sparse",
    show_default=True,
    help="1 for the whole task, or 1 for each subtask in its order.",
)
@click.option("--from-scratch", is_flag=True, help="Without options: what is chosen are single actions.")
@click.option("--unfrozen", is_flag=True, help="The options learn, too.")
@click.option(
    "--set", "settings", multiple=True, metavar="train.KEY=VALUE", help="Change one setting; may be repeated."
)
@click.option("-o", "--output", "run", metavar="RUN", help="The folder to write, ./synparse-model by default.")
@click.option("--resume", is_flag=True, help="Go on with the run in the folder of -o.")
@click.option("--overwrite", is_flag=True, help="Replace the run in the folder of -o.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Short for --set train.seed=N.")
@click.option("--max-minutes", type=click.FloatRange(min=0, min_open=True), metavar="M", help="End after M minutes.")
@click.pass_context
def transfer(
    context: click.Context,
    runs: tuple[str, ...],
    run: str | None,
    from_scratch: bool,
    max_minutes: float | None,
    **options: Any,
) -> None:
    """Learn a new task of Craft by reinforcement, with the options of the models in RUNs.

    Only a controller is learned, by proximal policy optimisation; with --unfrozen the options learn, too. The options
    of several models are put together.
    """
    if options["resume"] and (options["overwrite"] or runs or from_scratch or options["unfrozen"]):
        raise click.UsageError(
            "--resume goes on with the folder of -o; it takes no RUN, --from-scratch, --unfrozen or --overwrite"
        )
    if from_scratch and options["unfrozen"]:
        raise click.UsageError("--unfrozen is for options that were learned; there are none --from-scratch")
    if not options["resume"] and bool(runs) == from_scratch:
        raise click.UsageError("name models whose options are used, or say --from-scratch")
    from induce.tasks.craft.transfer import TransferRequest, prepare_transfer

    folder = run or default_output()
    learning = prepare_transfer(TransferRequest(run=folder, runs=runs, **options))
    line, due = StatusLine() if on_terminal() else None, 0.0
    with ending_after_the_step() as ending:
        for event in learning.learn(max_minutes=max_minutes, stop=ending.asked):
            text = f"iteration {event.epoch}/{event.epochs}: {event.calls:,} calls, success {event.success:.1%}"
            if line:
                rest = event.seconds / event.epoch * (event.epochs - event.epoch)
                line.show([text, left(rest)], event.epoch / event.epochs)
            elif time.monotonic() >= due or event.epoch == event.epochs:
                click.echo(f"{text} [{clock(event.seconds)}]", err=True)
                due = time.monotonic() + LOG_SECONDS
        if line:
            line.clear()
        if ending.number:
            click.echo(f"go on with: synparse transfer --resume -o {shlex.quote(folder)}", err=True)
            context.exit(ending.code)
    click.echo(f"next: synparse eval --task craft -m {shlex.quote(folder)}", err=True)
