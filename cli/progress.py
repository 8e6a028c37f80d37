"""What ``synparse train`` shows on stderr: a line for each check, and between them how far it has come."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Iterable, Iterator

import click

from cli.status import LOG_SECONDS, StatusLine, clock, left, on_terminal
from induce.data.tokens import TOKENS
from induce.training.events import Check, Event, Finished, Halved, Progress, Scoring, Started

REASONS = {
    "epochs": "all epochs done",
    "no more progress": "the development loss no longer falls",
    "time": "time is up",
    "interrupted": "interrupted",
}
PERPLEXITY = "perplexity"
SHORT = {"character": "chars"}


def shown(events: Iterable[Event]) -> Iterator[Event]:
    """``events``, each shown as it passes."""
    return _on_terminal(events) if on_terminal() else _plainly(events)


def _plainly(events: Iterable[Event]) -> Iterator[Event]:
    due = time.monotonic() + LOG_SECONDS
    for event in events:
        found = lines(event)
        if not found and (parts := status(event)) and time.monotonic() >= due:
            found = [", ".join(filter(None, parts))]
        if found:
            due = time.monotonic() + LOG_SECONDS
        for line in found:
            click.echo(line, err=True)
        yield event


def _on_terminal(events: Iterable[Event]) -> Iterator[Event]:
    last = StatusLine()
    try:
        for event in events:
            for line in lines(event):
                last.say(line)
            if parts := status(event):
                last.show(parts, getattr(event, "share", None))
            yield event
    finally:
        last.clear()


def status(event: Event) -> list[str]:
    """What a line that is overwritten says, the most important first; nothing of an event that has lines of its own."""
    if isinstance(event, Scoring):
        return ["scoring the development text", f"{event.share:.0%}", left(event.seconds_left)]
    if not isinstance(event, Progress):
        return []
    return [
        f"epoch {event.epoch}/{event.epochs}",
        left(event.seconds_left),
        _short(event),
        f"{event.words_per_second:,.0f} {SHORT.get(event.token, TOKENS[event.token])}/s",
        f"step {event.step}",
        f"loss {event.loss:.2f}",
    ]


def _short(event: Progress) -> str:
    """What the model is measured by, in few digits; "" of a task, whose accuracy is not known yet."""
    if event.measure != PERPLEXITY:
        return f"{event.measure} {event.loss:.4f}"
    if event.task:
        return ""
    return f"perplexity {event.perplexity:.1f}" if event.perplexity < 100 else f"perplexity {event.perplexity:.0f}"


def lines(event: Event) -> list[str]:
    """The lines of text that stay on the screen; none for an event that only moves the bar."""
    if isinstance(event, Started):
        start = f"going on at step {event.resumed_at}" if event.resumed_at else "training"
        items, text = ("examples", "examples") if event.task else ("sentences", "text")
        found = [
            f"{start} on {event.sentences:,} {items}, {event.words:,} {TOKENS[event.token]} "
            f"({event.unknown_share:.1%} unknown)",
            f"development {text}: {event.development_sentences:,} {items}; vocabulary: {event.vocabulary:,}; "
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
        elif event.measure != PERPLEXITY:
            scores = f"{event.measure} {event.loss:.4f}, development {event.development_loss:.4f}"
        else:
            scores = f"perplexity {event.perplexity:.2f}, development {event.development_perplexity:.2f}{bits}"
        return [f"epoch {event.epoch}, step {event.step}: {scores}{notes} [{clock(event.seconds)}]"]
    if isinstance(event, Finished):
        bits = "" if event.best_bits is None else f", {event.best_bits:.3f} bits per character"
        best = f"{event.best_perplexity:.2f}"
        if event.measure != PERPLEXITY:
            best = f"{math.log(event.best_perplexity):.4f}"
        found = [
            f"{REASONS[event.reason]} after {clock(event.seconds)}; best development {event.measure} "
            f"{best}{bits} (epoch {event.best_epoch})"
        ]
        if event.best_accuracy is not None:
            accuracy = f"best development accuracy {event.best_accuracy:.2%} (epoch {event.best_epoch})"
            found = [f"{REASONS[event.reason]} after {clock(event.seconds)}; {accuracy}"]
        if not event.best_epoch:
            found = [f"{REASONS[event.reason]} after {clock(event.seconds)}"]
        if not event.scored:
            found[0] += "; there was no time to score the model of the last step on the development text"
        unfinished = event.reason in ("interrupted", "time")
        hint = f"; go on with: synparse train --resume -o {shlex.quote(event.run)}" if unfinished else ""
        how = event.branching or (f"decoder {event.decoder}" if event.decoder else "")
        return [*found, *filter(None, [how]), f"the model is in {event.run}{hint}"]
    return []


def next_steps(event: Finished, run: str = "") -> list[str]:
    """What to type next with the model of a training that ended, or with all those that the pattern ``run`` names."""
    run, model = run or event.run, f"-m {shlex.quote(run or event.run)}"
    if event.task:
        steps = {f"synparse eval --task {event.task} {model}": "its accuracy, by size and kind"}
    elif not event.gives:
        text = "sample" if event.on_sample else "TEXT"
        steps = {
            f"synparse eval --text {text} {model}": "its perplexity",
            f"synparse score {model} TEXT": "how probable each sentence is",
        }
    else:
        gold = "sample" if event.on_sample else "TREEBANK"
        one = "tree" if event.gives == "trees" else "word with its head"
        steps = {
            f"synparse parse {model} TEXT": f"one {one} a line",
            f"synparse eval {model} --gold {gold}": f"how good the {event.gives} are",
            f"synparse draw {model} TEXT": "pictures of them",
        }
        if "*" in run:  # several models are scored and compared; one of them parses
            steps = {step: told for step, told in steps.items() if " eval " in step}
    wide = max(map(len, steps))
    return [f"{'next:' if not i else '':5} {step:{wide}}  {told}" for i, (step, told) in enumerate(steps.items())]
