"""What ``synparse train`` shows on stderr: a progress bar on a terminal, one plain line per check elsewhere."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from datetime import timedelta

import click

from induce.training.events import Check, Event, Finished, Halved, Progress, Started

REASONS = {
    "epochs": "all epochs done",
    "no more progress": "the development loss no longer falls",
    "time": "time is up",
    "interrupted": "interrupted",
}
TOKENS = {"word": "words", "character": "chars"}  # short


def shown(events: Iterable[Event]) -> Iterator[Event]:
    """``events``, each shown as it passes."""
    return _on_terminal(events) if sys.stderr.isatty() else _plainly(events)


def _plainly(events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        for line in lines(event):
            click.echo(line, err=True)
        yield event


def _on_terminal(events: Iterable[Event]) -> Iterator[Event]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True, highlight=False)
    console.width -= len("^C") + 1  # what a terminal shows when the user stops must not break the bar's line
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[rest]}"))
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1.0, rest="")
        for event in events:
            if isinstance(event, Progress):
                description = f"epoch {event.epoch}/{event.epochs}"
                bar.update(task, completed=event.share, description=description, rest=_rest(event))
            for line in lines(event):
                console.print(line, markup=False, soft_wrap=True)  # or a path would be cut where it wraps
            yield event


def _rest(event: Progress) -> str:
    """What stands behind the bar; short, since 80 columns must hold it."""
    perplexity = f"{event.perplexity:.1f}" if event.perplexity < 100 else f"{event.perplexity:.0f}"
    left = clock(event.seconds_left).removeprefix("0:")
    return (
        f"step {event.step}  loss {event.loss:.2f}  perplexity {perplexity}  "
        f"{event.words_per_second:,.0f} {TOKENS[event.token]}/s  {left} left"
    )


def lines(event: Event) -> list[str]:
    """The lines of text that stay on the screen; none for an event that only moves the bar."""
    if isinstance(event, Started):
        start = f"going on at step {event.resumed_at}" if event.resumed_at else "training"
        found = [
            f"{start} on {event.sentences:,} sentences, {event.words:,} {event.token}s "
            f"({event.unknown_share:.1%} unknown)",
            f"development text: {event.development_sentences:,} sentences; vocabulary: {event.vocabulary:,}; "
            f"{event.parameters:,} weights, on {event.device}",
        ]
        return [*found, f"note: {event.note}"] if event.note else found
    if isinstance(event, Halved):
        parts = f"memory ran out at step {event.step}, so its sentences were taken in {event.parts} parts"
        return [f"note: {parts}; a smaller train.batch_words saves the attempt"]
    if isinstance(event, Check):
        bits = "" if event.development_bits is None else f" ({event.development_bits:.3f} bits per character)"
        notes = (", best so far" if event.best else "") + (f", {event.note}" if event.note else "")
        if event.development_accuracy is not None:
            scores = f"loss {event.loss:.4f}, development {event.development_loss:.4f}"
            scores += f", accuracy {event.development_accuracy:.2%}"
        else:
            scores = f"perplexity {event.perplexity:.2f}, development {event.development_perplexity:.2f}{bits}"
        return [f"epoch {event.epoch}, step {event.step}: {scores}{notes} [{clock(event.seconds)}]"]
    if isinstance(event, Finished):
        bits = "" if event.best_bits is None else f", {event.best_bits:.3f} bits per character"
        found = [
            f"{REASONS[event.reason]} after {clock(event.seconds)}; best development perplexity "
            f"{event.best_perplexity:.2f}{bits} (epoch {event.best_epoch})"
        ]
        if not event.best_epoch:
            found = [f"{REASONS[event.reason]} after {clock(event.seconds)}"]
        if not event.scored:
            found[0] += "; there was no time to score the model of the last step on the development text"
        unfinished = event.reason in ("interrupted", "time")
        hint = f"; go on with: synparse train --resume -o {shlex.quote(event.run)}" if unfinished else ""
        return [*found, f"the model is in {event.run}{hint}"]
    return []


def clock(seconds: float) -> str:
    """``0:01:05``."""
    return str(timedelta(seconds=round(seconds)))
