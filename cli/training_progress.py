"""Messages of training on standard error: a line per check, a progress display, and the next commands."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator

from cli.progress import Display, clock, remaining
from induce.data.vocabulary import TOKENS
from induce.registry import find_purpose
from induce.storage.checkpoint import Check
from induce.storage.outputs import resume_command
from induce.training.events import Event, Finished, Halved, PartProgress, Progress, Scoring, Started

REASONS = {
    "epochs": "all epochs done",
    "no more progress": "the development loss no longer falls",
    "time": "time limit reached",
    "interrupted": "interrupted",
}
PERPLEXITY = "perplexity"
SHORT_UNITS = {"character": "chars"}


def with_progress(events: Iterable[Event]) -> Iterator[Event]:
    """Yield ``events`` and show each on standard error."""
    display = Display()
    try:
        for event in events:
            for line in event_lines(event):
                display.print(line)
            if isinstance(event, PartProgress):
                display.show(*part_status(event))
            elif parts := status_parts(event):
                display.show(parts[0], parts[1:], getattr(event, "share", None))
            yield event
    finally:
        display.close()


def status_parts(event: Event) -> list[str]:
    """Parts of the updating line for an event, the most important first. Empty if the event does not change it."""
    if isinstance(event, Scoring):
        return ["scoring the development text", f"{event.share:.0%}", remaining(event.seconds_left)]
    if not isinstance(event, Progress):
        return []
    return [
        f"epoch {event.epoch}/{event.epochs}",
        remaining(event.seconds_left),
        _short_measure(event),
        f"{event.words_per_second:,.0f} {SHORT_UNITS.get(event.token, TOKENS[event.token])}/s",
        f"step {event.step}",
        f"loss {event.loss:.2f}",
    ]


def _short_measure(event: Progress) -> str:
    """Training measure with few digits, or "" for a task, whose accuracy is unknown during an epoch."""
    if event.measure != PERPLEXITY:
        return f"{event.measure} {event.loss:.4f}"
    if event.purpose:
        return ""
    return f"perplexity {event.perplexity:.1f}" if event.perplexity < 100 else f"perplexity {event.perplexity:.0f}"


def part_status(event: PartProgress) -> tuple[str, list[str], float]:
    """Description, parts and share of the updating line for several models that are trained together."""
    left = f"about {max(1, round(event.minutes_left))} min left" if event.share < 1 else ""
    return f"minute {int(event.minutes) + 1}", [f"part {event.part} of {event.parts}: {event.does}", left], event.share


def event_lines(event: Event) -> list[str]:
    """Lines that an event prints. Empty for an event that only changes the updating line."""
    match event:
        case Started():
            start = f"resuming at step {event.resumed_at}" if event.resumed_at else "training"
            items, corpus = ("examples", "examples") if event.purpose else ("sentences", "text")
            size = f"{event.sentences:,} {items}, {event.words:,} {TOKENS[event.token]}"
            development = f"development {corpus}: {event.development_sentences:,} {items}"
            weights = f"vocabulary: {event.vocabulary:,}; {event.parameters:,} weights, on {event.device}"
            lines = [f"{start} on {size} ({event.unknown_share:.1%} unknown)", f"{development}; {weights}"]
            return [*lines, f"note: {event.note}"] if event.note else lines
        case Halved():
            problem = f"out of memory at step {event.step}; the batch was split into {event.parts} parts"
            return [f"note: {problem}; a smaller loader.batch_words avoids this"]
        case Check():
            return [_check(event)]
        case Finished():
            return _finished(event)
    return []


def _check(event: Check) -> str:
    bits = "" if event.development_bits is None else f" ({event.development_bits:.3f} bits per character)"
    notes = (", best so far" if event.best else "") + (f", {event.note}" if event.note else "")
    if event.development_accuracy is not None:
        scores = f"loss {event.loss:.4f}, development {event.development_loss:.4f}"
        scores += f", accuracy {event.development_accuracy:.2%}"
    elif event.measure != PERPLEXITY:
        scores = f"{event.measure} {event.loss:.4f}, development {event.development_loss:.4f}"
    else:
        scores = f"perplexity {event.perplexity:.2f}, development {event.development_perplexity:.2f}{bits}"
    return f"epoch {event.epoch}, step {event.step}: {scores}{notes} [{clock(event.seconds)}]"


def _finished(event: Finished) -> list[str]:
    summary = f"{REASONS[event.reason]} after {clock(event.seconds)}"
    if not event.best_epoch:
        summary += "; no epoch was finished"
    elif event.best_accuracy is not None:
        summary += f"; best development accuracy {event.best_accuracy:.2%} (epoch {event.best_epoch})"
    else:
        bits = "" if event.best_bits is None else f", {event.best_bits:.3f} bits per character"
        perplexity = event.measure == PERPLEXITY
        best = f"{event.best_perplexity:.2f}" if perplexity else f"{math.log(event.best_perplexity):.4f}"
        summary += f"; best development {event.measure} {best}{bits} (epoch {event.best_epoch})"
    if not event.scored:
        summary += "; there was no time to score the last model on the development text"
    unfinished = event.reason in ("interrupted", "time")
    hint = f"; to continue: {resume_command(event.run)}" if unfinished else ""
    decoding = [f"decoder {event.decoder}"] if event.decoder else []
    direction = event.direction.lines() if event.direction else []
    return [summary, *decoding, *direction, f"model folder: {event.run}{hint}"]


def next_steps(event: Finished, run: str = "") -> list[str]:
    """Commands to continue with after a training, or for all models that the pattern ``run`` matches."""
    run, model = run or event.run, f"-m {shlex.quote(run or event.run)}"
    if event.purpose:
        files = "" if hasattr(find_purpose(event.purpose), "generate") else "FILE "
        steps = {f"synparse task eval {event.purpose} {files}{model}": "its scores on the task"}
    elif not event.gives:
        text = "sample" if event.on_sample else "TEXT"
        steps = {
            f"synparse perplexity {text} {model}": "its perplexity",
            f"synparse perplexity TEXT {model} --per sentence": "the probability of each sentence",
        }
    else:
        gold = "sample" if event.on_sample else "TREEBANK"
        unit = "tree" if event.gives == "trees" else "word with its head"
        steps = {
            f"synparse parse {model} TEXT": f"one {unit} per line",
            f"synparse eval {model} --gold {gold}": f"scores of the {event.gives}",
            f"synparse draw {model} TEXT": "pictures of them",
        }
        if "*" in run:  # several models are scored together; only one can parse
            steps = {step: effect for step, effect in steps.items() if " eval " in step}
    width = max(map(len, steps))
    return [f"{'next:' if not i else '':5} {step:{width}}  {effect}" for i, (step, effect) in enumerate(steps.items())]
