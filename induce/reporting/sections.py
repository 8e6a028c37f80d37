"""Sections of a report: training, scores, frequent constituents, agreement, sharpness, and pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from induce.analysis.sharpness import SharpnessReport
from induce.reporting.markup import Section, command, hidden, listing, note, plot, short_names, table
from induce.reporting.parsed import Compared, FrequentPart, Parsed, frequent_constituents, frequent_heads
from induce.reporting.plots import Interval, Line, draw_intervals, draw_lines
from induce.reporting.runs import RunStory
from induce.sharpness import MEANINGS
from treebank.base.tables import Column, Table
from treebank.draw.page import figure
from treebank.draw.picture import GOLD, Analysis, Picture
from treebank.draw.reading import fitted
from treebank.evaluate.evaluate import DETAILS, Evaluation
from treebank.evaluate.score import Score, sentence_scores
from treebank.evaluate.score_tables import detail_tables

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


def scores(evaluation: Evaluation, eval_command: str) -> Iterator[Section]:
    """Scores, and where they come from."""
    drawn = []
    for number, (metric, convention) in enumerate(
        dict.fromkeys((score.metric, score.convention.name) for score in evaluation.scores)
    ):
        values = [
            Interval(score.system, score.value, *score.interval, is_model=bool(score.info.model))
            for score in evaluation.scores
            if (score.metric, score.convention.name) == (metric, convention)
        ]
        title = f"{metric} under {convention}, with 95 % intervals"
        drawn.append(plot(draw_intervals(values, title=title, across=f"{metric} in percent"), f"scores-{number}"))
    main, *others = evaluation.tables()
    tables = [table(each) for each in (main._replace(title="Scores"), *others)]
    parts = [*drawn, *tables, note("The command that prints these tables:"), command(eval_command)]
    yield "scores", "Scores", "\n".join(parts)
    parts = [_length_plot(metric, evaluation.scores) for metric in {score.metric: None for score in evaluation.scores}]
    for detail in DETAILS:
        parts += map(table, detail_tables(detail, evaluation.trees, evaluation.heads))
    yield "details", "Where the scores come from", "\n".join(parts)


def _length_plot(metric: str, reports: Sequence[Score]) -> str:
    """A plot of the first convention of a metric by the length of a sentence, for all models."""
    of_metric = [score for score in reports if score.metric == metric]
    having = [score for score in of_metric if score.by_length and score.convention == of_metric[0].convention]
    if not having:
        return ""
    lengths = list(dict.fromkeys(key for score in having for key in score.by_length or ()))
    models = [score for score in having if score.info.model] or having
    named = short_names([score.info.model or score.system for score in models])
    lines = [
        Line(name, [(float(lengths.index(key)), value) for key, (_, value) in (score.by_length or {}).items()])
        for name, score in zip(named, models, strict=True)
    ]
    title = f"{metric} by the number of words of a sentence"
    scene = draw_lines(lines, title=title, across="words", up=f"{metric} in percent", names=lengths)
    return plot(scene, f"by-length-{metric}")


def mean_sentence_scores(evaluation: Evaluation) -> dict[int, float]:
    """For each sentence, the mean score of the models, each with its first metric and convention."""
    values: dict[int, list[float]] = {}
    seen = set()
    for report in evaluation.scores:
        if report.info.model and report.info.model not in seen:
            seen.add(report.info.model)
            for index, score in zip(report.indices, sentence_scores(report, evaluation.gold), strict=True):
                if score.counts.gold:
                    values.setdefault(index, []).append(score.value)
    return {index: sum(scores) / len(scores) for index, scores in values.items()}


PICTURE_WORDS = range(5, 31)  # counted words of a sentence in a picture


def frequent(compared: Compared) -> Section:
    """The most frequent constituents or heads of each model."""
    tables = [
        _frequent_table("constituents of two to four words", "Words", model, frequent_constituents(compared, model))
        if model.gives_trees
        else _frequent_table("words with their heads", "Word ← head", model, frequent_heads(compared, model))
        for model in compared.models
    ]
    return "frequent", "Frequent constituents and heads", "\n".join(tables)


def _frequent_table(title: str, first: str, model: Parsed, parts: Iterable[FrequentPart]) -> str:
    """A table of ``parts``, without the columns that they do not have."""
    rows = list(parts)
    names = (first, "Example", "Times", "In the text", "In gold")
    cells = [(part.text, part.example, part.frequency, part.occurrences, part.gold) for part in rows]
    used = [index for index in range(len(names)) if not cells or cells[0][index] is not None]
    columns = [Column(names[index]) for index in used]
    values = [[row[index] for index in used] for row in cells]
    return table(Table(f"The most frequent {title}: {model.name}", columns, values))


def agreement(compared: Compared) -> Section:
    """Agreement of the models, and the sharpness of each."""
    parts = []
    for output in dict.fromkeys(model.parser.output for model in compared.models):
        models = [model for model in compared.models if model.parser.output == output]
        if len(models) > 1:
            names = short_names([model.run for model in models])
            rows = [
                [name, *("" if other is model else compared.agreement(model, other) for other in models)]
                for name, model in zip(names, models, strict=True)
            ]
            counted = "mean F1 of the brackets" if output == "trees" else "share of words with the same head"
            title = f"Agreement of two models: {counted}, in percent"
            parts.append(table(Table(title, [Column(""), *(Column(name, ".1f") for name in names)], rows)))
    sharpness = [model.sharpness for model in compared.models if model.sharpness and model.sharpness.values]
    if sharpness:
        parts += map(table, SharpnessReport(sharpness).tables())
        measures = dict.fromkeys(name for system in sharpness for name in system.values)
        parts.append(listing(f"{name}: {MEANINGS.get(name, name)}" for name in measures))
    return "agreement", "Agreement and sharpness", "\n".join(parts)


def pictures(compared: Compared, evaluation: Evaluation | None, count: int) -> Iterator[Section]:
    """Pictures of the sentences with the highest and lowest scores and agreement, or of the first sentences."""
    lengths = [len(compared.words(index)) for index in range(len(compared.sentences))]
    drawable = [index for index, length in enumerate(lengths) if length in PICTURE_WORDS]
    groups: list[tuple[str, str, str, Mapping[int, float], bool]] = []
    has_gold = evaluation is not None
    if evaluation is not None:
        scored = mean_sentence_scores(evaluation)
        groups.append(("best", "The best sentences", "mean score", scored, True))
        groups.append(("worst", "The worst sentences", "mean score", scored, False))
    if compared.pairs():
        agreed = {index: value for index, value in enumerate(compared.agreement_by_sentence()) if value is not None}
        groups.append(("agreed", "The most agreed sentences", "mean agreement", agreed, True))
        groups.append(("disputed", "The least agreed sentences", "mean agreement", agreed, False))
    if not groups:
        groups.append(("sentences", "The first sentences", "", dict.fromkeys(drawable, 0.0), True))
    for name, title, measure, values, highest in groups:
        indices = [index for index in drawable if index in values]
        sign = -1 if highest else 1
        if measure:
            indices.sort(key=lambda index: (sign * values[index], -lengths[index], index))
        yield name, title, _drawn(compared, distinct(compared, indices)[:count], name, measure, values, has_gold)


def distinct(compared: Compared, indices: Sequence[int]) -> list[int]:
    """``indices`` without repeated sentences, such as captions and headings."""
    first: dict[tuple[str, ...], int] = {}
    for index in indices:
        first.setdefault(tuple(word.lower() for word in compared.sentences[index].words), index)
    return list(first.values())


def _drawn(
    compared: Compared, indices: Sequence[int], name: str, measure: str, values: Mapping[int, float], has_gold: bool
) -> str:
    """Pictures of the sentences ``indices`` by all models, next to gold if it is available."""
    parts = [note(f"Sentences of {PICTURE_WORDS.start} to {PICTURE_WORDS.stop - 1} words without punctuation.")]
    for number, index in enumerate(indices):
        sentence = compared.sentences[index]
        analyses = [fitted(model.analyses[index], sentence.location, sentence.words) for model in compared.models]
        title = f"sentence {index + 1}" + (f", {measure} {values[index]:.1f}" if measure else "")
        gold = Analysis.of_sentence(sentence, GOLD) if has_gold else None
        parts += figure(Picture(title, tuple(analyses), gold), f"{name}-{number + 1}")
    return "\n".join(parts) if indices else ""
