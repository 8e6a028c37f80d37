"""Sections of a report: training, scores, frequent constituents, agreement, confidence, and pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal, NamedTuple

from induce.analysis.sharpness import SharpnessReport
from induce.reporting.parsed import Compared, FrequentPart, Parsed, frequent_constituents, frequent_heads
from induce.reporting.plots import Interval, Line, draw_intervals, draw_lines
from induce.reporting.runs import RunStory
from induce.sharpness_measures import MEANINGS
from induce.storage.locate import system_name
from treebank.base.arguments import split_name
from treebank.base.tables import Column, Table
from treebank.core.tree import Span
from treebank.draw.picture import GOLD, Analysis, Picture, fitted, projected
from treebank.draw.scene import Scene
from treebank.evaluate.evaluate import DETAILS, Evaluation
from treebank.evaluate.score import Score, sentence_scores
from treebank.evaluate.score_tables import detail_tables

EMPTY = "–"  # fact or setting without a value
BINS = 10  # groups of phrases of similar confidence


class Block(NamedTuple):
    """A part of a section, by the name of its macro in ``report.html``. ``name`` begins its ids, or is its title."""

    kind: Literal["note", "command", "list", "table", "hidden", "plot", "plots", "picture"]
    content: Any
    name: str = ""


class Section(NamedTuple):
    """A part of the report with a heading. It is left out if it has no blocks."""

    name: str
    title: str
    blocks: Sequence[Block] = ()


def names_of(stories: Sequence[RunStory]) -> list[str]:
    """The names of the models in all tables and pictures of the report."""
    return [system_name(story.model, story.run) for story in stories]


def learned(stories: Sequence[RunStory]) -> Section:
    """Training data, facts and settings of each model."""
    names = names_of(stories)
    facts = list(dict.fromkeys(name for story in stories for name in story.facts))
    rows = [["path", *(split_name(story.run)[1] for story in stories)]]
    rows += [[fact, *(story.facts.get(fact, EMPTY) for story in stories)] for fact in facts]
    columns = [Column(""), *map(Column, names)]
    blocks = [Block("table", Table("Training of the models", columns, rows))]
    for findings in dict.fromkeys(tuple(story.findings) for story in stories if story.findings):
        pairs = zip(names, stories, strict=True)
        learners = ", ".join(name for name, story in pairs if tuple(story.findings) == findings)
        blocks += [Block("note", f"Findings about the text of {learners}:"), Block("list", findings)]
    settings = list(dict.fromkeys(name for story in stories for name in story.settings))
    if settings:
        rows = [[name, *(story.settings.get(name) or EMPTY for story in stories)] for name in settings]
        blocks.append(Block("hidden", Table("Settings", columns, rows), "All settings"))
    return Section("learned", "Training data", blocks)


def curves(stories: Sequence[RunStory]) -> Section:
    """Losses during training, as plots and as a table."""
    with_checks = {name: story for name, story in zip(names_of(stories), stories, strict=True) if story.checks}
    if not with_checks:
        return Section("curves", "Training")
    about = (
        "Mean loss in nats per token at each check. Losses of different types of models do not compare: models of "
        "next words, models of masked words, grammars and distilled parsers count different tokens."
    )
    plots = {}
    for key, title in (("development_loss", "Loss on the development text"), ("loss", "Loss on the training text")):
        lines = [
            Line(name, [(_number(check.get("seconds")) / 60, _number(check.get(key))) for check in story.checks])
            for name, story in with_checks.items()
        ]
        plots[f"plot-{key}"] = draw_lines(lines, title=title, across="minutes of training", up="nats")
    columns = [Column("Run"), Column("Epoch"), Column("Step"), Column("Minutes", ".1f")]
    columns += [Column("Training", ".4f"), Column("Development", ".4f")]
    rows = [
        [name, check.get("epoch"), check.get("step"), _number(check.get("seconds")) / 60]
        + [_number(check.get(key)) for key in ("loss", "development_loss")]
        for name, story in with_checks.items()
        for check in story.checks
    ]
    losses = Block("hidden", Table("Losses in nats per token", columns, rows), "Losses as a table")
    return Section("curves", "Training", [Block("note", about), Block("plots", plots), losses])


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def scores(evaluation: Evaluation, eval_command: str) -> Iterator[Section]:
    """Scores, and where they come from."""
    blocks = []
    for number, (metric, convention) in enumerate(
        dict.fromkeys((score.metric, score.convention.name) for score in evaluation.scores)
    ):
        values = [
            Interval(name, value, *(interval or (value, value)), is_model=bool(model))
            for name, value, interval, model in (
                (score.system, score.value, score.interval, score.info.model)
                for score in evaluation.scores
                if (score.metric, score.convention.name) == (metric, convention)
            )
        ]
        title = f"{metric} under {convention}, with 95 % intervals"
        scene = draw_intervals(values, title=title, across=f"{metric} in percent")
        blocks.append(Block("plot", scene, f"scores-{number}"))
    main, *others = evaluation.tables()
    blocks += [Block("table", each) for each in (main._replace(title="Scores"), *others)]
    blocks += [Block("note", "The command that prints these tables:"), Block("command", eval_command)]
    yield Section("scores", "Scores", blocks)
    metrics = dict.fromkeys(score.metric for score in evaluation.scores)
    blocks = [block for metric in metrics for block in _length_plot(metric, evaluation.scores)]
    for detail in DETAILS:
        blocks += [Block("table", each) for each in detail_tables(detail, evaluation.trees, evaluation.heads)]
    yield Section("details", "Where the scores come from", blocks)


def _length_plot(metric: str, reports: Sequence[Score]) -> list[Block]:
    """A plot of the first convention of a metric by the length of a sentence, for all models."""
    of_metric = [score for score in reports if score.metric == metric]
    having = [score for score in of_metric if score.by_length and score.convention == of_metric[0].convention]
    if not having:
        return []
    lengths = list(dict.fromkeys(key for score in having for key in score.by_length or ()))
    models = [score for score in having if score.info.model] or having
    lines = [
        Line(score.system, [(float(lengths.index(key)), value) for key, (_, value) in (score.by_length or {}).items()])
        for score in models
    ]
    title = f"{metric} by the number of words of a sentence"
    scene = draw_lines(lines, title=title, across="words", up=f"{metric} in percent", names=lengths)
    return [Block("plot", scene, f"by-length-{metric}")]


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


class Judged(NamedTuple):
    """The confidence in a phrase or an arc, and whether gold has it."""

    confidence: float
    is_correct: bool


@dataclass(frozen=True)
class CalibrationBin:
    """Parts of similar confidence: their number, lowest and mean confidence, and the share of them in gold."""

    count: int
    lowest: float
    mean: float
    correct: float


def calibration_bins(parts: Sequence[Judged]) -> list[CalibrationBin]:
    """The parts in at most `BINS` groups of similar size by rising confidence. Equal confidences share a group."""
    ordered = sorted(parts)
    groups: list[list[Judged]] = []
    for index, part in enumerate(ordered):
        is_new = index * BINS // len(ordered) >= len(groups)
        if not groups or (is_new and part.confidence > groups[-1][-1].confidence):
            groups.append([])
        groups[-1].append(part)
    return [
        CalibrationBin(
            len(group),
            group[0].confidence,
            fmean(part.confidence for part in group),
            fmean(part.is_correct for part in group),
        )
        for group in groups
    ]


def calibration_error(bins: Sequence[CalibrationBin]) -> float:
    """Expected calibration error: mean distance of mean confidence and share of correct parts, weighted by counts.

    It is defined for probabilities (Naeini et al. 2015, with groups of equal size).
    """
    return sum(each.count * abs(each.mean - each.correct) for each in bins) / sum(each.count for each in bins)


def calibration(compared: Compared) -> Section:
    """Plots and tables of the share of phrases or arcs in gold by confidence, for models that have confidences."""
    plots, tables = dict[str, Scene](), list[Block]()
    for number, model in enumerate(compared.models):
        if not (parts := judged(compared, model)):
            continue
        bins, noun = calibration_bins(parts), "phrases" if model.gives_trees else "arcs"
        is_probability, percent, digits, notes = model.has_probabilities, 1, ".3g", list[str]()
        lines = [(100 * each.mean, 100 * each.mean) for each in bins]
        if is_probability:
            percent, digits = 100, ".3f"
            notes = [f"Expected calibration error: {100 * calibration_error(bins):.1f} points."]
        curves = [Line(model.name, [(percent * each.mean, 100 * each.correct) for each in bins])]
        plots[f"calibration-{number}"] = draw_lines(
            curves + [Line("calibrated", lines)] * is_probability,
            title=f"{noun} of {model.name} in gold",
            across="confidence" + " in percent" * is_probability,
            up="% in gold",
        )
        columns = [Column("Confidence from", digits), Column("Mean", digits)]
        columns += [Column("% in gold", ".1f"), Column("Number")]
        rows = [[each.lowest, each.mean, 100 * each.correct, each.count] for each in bins]
        tables.append(Block("table", Table(f"{noun} by confidence: {model.name}", columns, rows, notes)))
    about = (
        "Phrases or arcs are sorted by the confidence of the model and divided into groups of similar size. The unit "
        "of confidence is a probability or a share of votes, in percent; for distances it is the unit of the model."
    )
    blocks = [Block("note", about), Block("plots", plots), *tables] if plots else []
    return Section("calibration", "Confidence and accuracy", blocks)


def judged(compared: Compared, model: Parsed) -> list[Judged]:
    """The confidence of each phrase or arc over counted words, and whether gold has it.

    The result is empty if there is no gold annotation of this type or the model has no confidence.
    """
    if not any(parts.spans if model.gives_trees else parts.arcs for parts in compared.gold):
        return []
    parts = []
    for analysis, values, mask, gold in zip(
        model.analyses, model.confidences, compared.masks, compared.gold, strict=True
    ):
        if analysis.tree is None:
            words = enumerate(zip(analysis.heads, values, strict=True))
            arcs = [(value, (word, head) in gold.arcs) for word, (head, value) in words if mask[word]]
            parts += [Judged(value, is_correct) for value, is_correct in arcs if value is not None]
            continue
        confidences = dict[Span, float]()  # of each span once
        for span, value in zip(projected(analysis.tree, mask), values, strict=True):
            if span and value is not None:
                confidences.setdefault(span, value)
        parts += [Judged(value, span in gold.spans) for span, value in confidences.items()]
    return parts


PICTURE_WORDS = range(5, 31)  # counted words of a sentence in a picture


def frequent(compared: Compared) -> Section:
    """The most frequent constituents or heads of each model."""
    tables = [
        _frequent_table("constituents of two to four words", "Words", model, frequent_constituents(compared, model))
        if model.gives_trees
        else _frequent_table("words with their heads", "Word ← head", model, frequent_heads(compared, model))
        for model in compared.models
    ]
    return Section("frequent", "Frequent constituents and heads", tables)


def _frequent_table(title: str, first: str, model: Parsed, parts: Iterable[FrequentPart]) -> Block:
    """A table of ``parts``, without the columns that they do not have."""
    rows = list(parts)
    names = (first, "Example", "Times", "In the text", "In gold")
    cells = [(part.text, part.example, part.frequency, part.occurrences, part.gold) for part in rows]
    used = [index for index in range(len(names)) if not cells or cells[0][index] is not None]
    columns = [Column(names[index]) for index in used]
    values = [[row[index] for index in used] for row in cells]
    return Block("table", Table(f"The most frequent {title}: {model.name}", columns, values))


def agreement(compared: Compared) -> Section:
    """Agreement of the models, and the sharpness of each."""
    blocks = []
    for output in dict.fromkeys(model.parser.output for model in compared.models):
        models = [model for model in compared.models if model.parser.output == output]
        if len(models) > 1:
            names = [model.name for model in models]
            rows = [
                [name, *("" if other is model else compared.agreement(model, other) for other in models)]
                for name, model in zip(names, models, strict=True)
            ]
            counted = "mean F1 of the brackets" if output == "trees" else "share of words with the same head"
            title = f"Agreement of two models: {counted}, in percent"
            columns = [Column(""), *(Column(name, ".1f") for name in names)]
            blocks.append(Block("table", Table(title, columns, rows)))
    sharpness = [model.sharpness for model in compared.models if model.sharpness and model.sharpness.values]
    if sharpness:
        blocks += [Block("table", each) for each in SharpnessReport(sharpness).tables()]
        measures = dict.fromkeys(name for system in sharpness for name in system.values)
        blocks.append(Block("list", [f"{name}: {MEANINGS.get(name, name)}" for name in measures]))
    return Section("agreement", "Agreement and sharpness", blocks)


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
        chosen = distinct(compared, indices)[:count]
        yield Section(name, title, _drawn(compared, chosen, name, measure, values, has_gold) if chosen else ())


def distinct(compared: Compared, indices: Sequence[int]) -> list[int]:
    """``indices`` without repeated sentences, such as captions and headings."""
    first: dict[tuple[str, ...], int] = {}
    for index in indices:
        first.setdefault(tuple(word.lower() for word in compared.sentences[index].words), index)
    return list(first.values())


def _drawn(
    compared: Compared, indices: Sequence[int], name: str, measure: str, values: Mapping[int, float], has_gold: bool
) -> list[Block]:
    """Pictures of the sentences ``indices`` by all models, next to gold if it is available."""
    about = f"Sentences of {PICTURE_WORDS.start} to {PICTURE_WORDS.stop - 1} words without punctuation."
    blocks = [Block("note", about)]
    for number, index in enumerate(indices):
        sentence = compared.sentences[index]
        analyses = [fitted(model.analyses[index], sentence.location, sentence.words) for model in compared.models]
        title = f"sentence {index + 1}" + (f", {measure} {values[index]:.1f}" if measure else "")
        gold = Analysis.of_sentence(sentence, GOLD) if has_gold else None
        blocks.append(Block("picture", Picture(title, tuple(analyses), gold), f"{name}-{number + 1}"))
    return blocks
