"""What ``synparse train`` shows on stderr: a progress bar on a terminal, one plain line per check elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import timedelta

import click

from induce.training.loop import Check, Event, Finished, Progress, Started

REASONS = {
    "epochs": "all epochs done",
    "no more progress": "the development loss no longer falls",
    "time": "time is up",
    "interrupted": "interrupted",
}


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
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[rest]}"))
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1.0, rest="")
        for event in events:
            if isinstance(event, Progress):
                bar.update(
                    task,
                    completed=event.share,
                    description=f"epoch {event.epoch}/{event.epochs}",
                    rest=f"step {event.step}  loss {event.loss:.3f}  perplexity {event.perplexity:.1f}  "
                    f"{event.words_per_second:,.0f} words/s  {clock(event.seconds_left)} left",
                )
            for line in lines(event):
                console.print(line, markup=False)
            yield event


def lines(event: Event) -> list[str]:
    """The lines of text that stay on the screen; none for an event that only moves the bar."""
    if isinstance(event, Started):
        start = f"going on at step {event.resumed_at}" if event.resumed_at else "training"
        found = [
            f"{start} on {event.sentences:,} sentences, {event.words:,} words ({event.unknown_share:.1%} unknown); "
            f"development: {event.development_sentences:,} sentences",
            f"vocabulary {event.vocabulary:,}, {event.parameters:,} parameters, on {event.device}",
        ]
        return [*found, f"note: {event.note}"] if event.note else found
    if isinstance(event, Check):
        notes = (", best so far" if event.best else "") + (f", {event.note}" if event.note else "")
        return [
            f"epoch {event.epoch}, step {event.step}: perplexity {event.perplexity:.2f}, "
            f"development {event.development_perplexity:.2f}{notes} [{clock(event.seconds)}]"
        ]
    if isinstance(event, Finished):
        found = [
            f"{REASONS[event.reason]} after {clock(event.seconds)}; best development perplexity "
            f"{event.best_perplexity:.2f} (epoch {event.best_epoch}), kept in {event.run}/best"
        ]
        if event.reason in ("interrupted", "time"):
            found.append(f"go on with: synparse train --resume -o {event.run}")
        return found
    return []


def clock(seconds: float) -> str:
    """``0:01:05``."""
    return str(timedelta(seconds=round(seconds)))
