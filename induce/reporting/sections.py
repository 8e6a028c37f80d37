"""Sections of a report about scores, with the tables and plots of an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from induce.reporting.markup import Section, command, note, plot, short_names, table
from induce.reporting.plots import Interval, Line, draw_intervals, draw_lines
from treebank.evaluate.evaluate import Evaluation
from treebank.evaluate.per_sentence import sentence_scores
from treebank.evaluate.score import Score
from treebank.evaluate.tables import detail_tables

DETAILS = ("length", "height", "relation", "distance")


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
