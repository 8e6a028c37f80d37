"""Sections of a report about training: settings, facts, and loss over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from induce.reporting.markup import Section, hidden, listing, note, plot, short_names, table
from induce.reporting.plots import Line, draw_lines
from induce.reporting.runs import RunStory
from treebank.base.tables import Column, Table

EMPTY = "–"  # fact or setting without a value


def learned(stories: Sequence[RunStory]) -> Section:
    """Training data, facts and settings of each model."""
    names = [story.run for story in stories]
    facts = list(dict.fromkeys(name for story in stories for name in story.facts))
    rows = [[fact, *(story.facts.get(fact, EMPTY) for story in stories)] for fact in facts]
    columns = [Column(""), *map(Column, names)]
    parts = [table(Table("Training of the models", columns, rows))]
    for findings in dict.fromkeys(tuple(story.findings) for story in stories if story.findings):
        runs = ", ".join(story.run for story in stories if tuple(story.findings) == findings)
        parts.append(note(f"Findings about the text of {runs}:") + listing(findings))
    settings = list(dict.fromkeys(name for story in stories for name in story.settings))
    if settings:
        rows = [[name, *(story.settings.get(name) or EMPTY for story in stories)] for name in settings]
        parts.append(hidden("All settings", table(Table("Settings", columns, rows))))
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
    columns = [Column("Run"), Column("Epoch"), Column("Step"), Column("Minutes", ".1f")]
    columns += [Column("Training", ".4f"), Column("Development", ".4f")]
    rows = [
        [name, check.get("epoch"), check.get("step"), _number(check.get("seconds")) / 60]
        + [_number(check.get(key)) for key in ("loss", "development_loss")]
        for name, story in zip(names, with_checks, strict=True)
        for check in story.checks
    ]
    parts.append(hidden("Losses as a table", table(Table("Losses in nats per token", columns, rows))))
    return "curves", "Training", "\n".join(parts)


def _points(story: RunStory, key: str) -> list[tuple[float, float]]:
    return [(_number(check.get("seconds")) / 60, _number(check.get(key))) for check in story.checks]


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
