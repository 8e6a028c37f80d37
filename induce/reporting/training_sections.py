"""Sections of a report about training: settings, facts, and loss over time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from induce.reporting.markup import Section, hidden, listing, note, plot, short_names, table
from induce.reporting.plots import Line, draw_lines
from induce.reporting.runs import RunStory

EMPTY = "–"  # fact or setting without a value


def learned(stories: Sequence[RunStory]) -> Section:
    """Training data, facts and settings of each model."""
    names = [story.run for story in stories]
    facts = list(dict.fromkeys(name for story in stories for name in story.facts))
    rows = [[fact, *(story.facts.get(fact, EMPTY) for story in stories)] for fact in facts]
    parts = [table("Training of the models", ["", *names], rows, text_columns=len(names) + 1)]
    for findings in dict.fromkeys(tuple(story.findings) for story in stories if story.findings):
        runs = ", ".join(story.run for story in stories if tuple(story.findings) == findings)
        parts.append(note(f"Findings about the text of {runs}:") + listing(findings))
    settings = list(dict.fromkeys(name for story in stories for name in story.settings))
    if settings:
        rows = [[name, *(story.settings.get(name) or EMPTY for story in stories)] for name in settings]
        inner = table("Settings", ["", *names], rows, text_columns=len(names) + 1)
        parts.append(hidden("All settings", inner))
    return "learned", "Training data", "\n".join(parts)


def curves(stories: Sequence[RunStory]) -> Section:
    """Losses during training, as plots and as a table."""
    with_checks = [story for story in stories if story.checks]
    if not with_checks:
        return "curves", "Training", ""
    names = short_names([story.run for story in with_checks])
    parts = [
        note(
            "Mean loss in nats per token at each check. Losses of different types of models do not compare: models of "
            "next words, models of masked words, grammars and distilled parsers count different tokens."
        )
    ]
    drawn = []
    for key, title in (("development_loss", "Loss on the development text"), ("loss", "Loss on the training text")):
        lines = [Line(name, _points(story, key)) for name, story in zip(names, with_checks, strict=True)]
        drawn.append(plot(draw_lines(lines, title=title, across="minutes of training", up="nats"), f"plot-{key}"))
    parts.append(f'<div class="plots">{"".join(drawn)}</div>')
    header = ["Run", "Epoch", "Step", "Minutes", "Training", "Development"]
    rows = [row for name, story in zip(names, with_checks, strict=True) for row in _check_rows(name, story)]
    parts.append(hidden("Losses as a table", table("Losses in nats per token", header, rows)))
    return "curves", "Training", "\n".join(parts)


def _points(story: RunStory, key: str) -> list[tuple[float, float]]:
    return [(_number(check.get("seconds")) / 60, _number(check.get(key))) for check in story.checks]


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _check_rows(name: str, story: RunStory) -> Iterator[list[str]]:
    for check in story.checks:
        minutes, loss, development = (_number(check.get(key)) for key in ("seconds", "loss", "development_loss"))
        numbers = [f"{minutes / 60:.1f}", f"{loss:.4f}", f"{development:.4f}"]
        yield [name, str(check.get("epoch", "")), str(check.get("step", "")), *numbers]
