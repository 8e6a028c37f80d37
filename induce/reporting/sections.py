"""Sections of a report about scores, with the tables and plots of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from induce.reporting.markup import Section, command, listing, note, plot, short_names, table
from induce.reporting.plots import Interval, Line, draw_intervals, draw_lines
from treebank.evaluate.compare import Comparison
from treebank.evaluate.evaluate import Evaluation
from treebank.evaluate.per_sentence import sentence_scores
from treebank.evaluate.score import Score, TreeScore

MANY = 12  # columns of labels or relations in a table


def scores(evaluation: Evaluation, eval_command: str) -> Iterator[Section]:
    """Scores, and where they come from."""
    parts = []
    kinds = dict.fromkeys((score.metric, score.convention.name) for score in evaluation.scores)
    for number, (metric, convention) in enumerate(kinds):
        same = [score for score in evaluation.scores if (score.metric, score.convention.name) == (metric, convention)]
        values = [
            Interval(score.system, score.value, *score.interval, is_model=bool(score.info.model)) for score in same
        ]
        title = f"{metric} under {convention}, with 95 % intervals"
        parts.append(plot(draw_intervals(values, title=title, across=f"{metric} in percent"), f"scores-{number}"))
        parts.append(_score_table(f"{metric} under {convention}", same))
    if evaluation.spreads:
        header = ["Models", "Convention", "Metric", "Mean", "Deviation", "Runs"]
        rows = [
            [
                spread.pattern,
                spread.convention,
                spread.metric,
                f"{spread.runs.mean:.1f}",
                f"{spread.runs.deviation:.1f}",
                str(n),
            ]
            for spread in evaluation.spreads
            for n in [len(spread.runs.values)]
        ]
        parts.append(table("Mean and standard deviation over runs", header, rows, text_columns=3))
    parts.append(_comparisons(evaluation.comparisons))
    parts.append(note("Signatures of the scores:"))
    parts.append(listing(dict.fromkeys(f"{score.system}: {score}" for score in evaluation.scores)))
    parts.append(note("The command that prints them:") + command(eval_command))
    yield "scores", "Scores", "\n".join(filter(None, parts))
    yield "details", "Where the scores come from", "\n".join(_details(evaluation.scores))


def _score_table(caption: str, reports: Sequence[Score]) -> str:
    trees = isinstance(reports[0], TreeScore)
    sizes = list(dict.fromkeys(f"{len(score.counts):,}" for score in reports))
    counts = ["Sentences"] * (len(sizes) > 1)  # usually the same for all systems, and stated in the caption
    header = ["System", "Score", "95 % interval", "Precision", "Recall", *counts, *["Depth", "R/L"] * trees]
    rows = []
    for score in reports:
        low, high = score.interval
        row = [
            score.system,
            f"{score.value:.1f}",
            f"{low:.1f}–{high:.1f}",
            f"{score.precision:.1f}",
            f"{score.recall:.1f}",
        ]
        shape = [f"{score.shape.depth:.1f}", f"{score.shape.right_left:.1f}"] if isinstance(score, TreeScore) else []
        rows.append([*row, *[f"{len(score.counts):,}"] * len(counts), *shape])
    caption += "" if counts else f", {sizes[0]} sentences"
    explained = (
        "Depth: mean number of brackets around a word. R/L: first children among the words by last children, so that "
        "trees that branch to the right have more than 1."
    )
    return table(caption, header, rows) + (note(explained) if trees else "")


def _comparisons(comparisons: Sequence[Comparison]) -> str:
    if not comparisons:
        return ""
    parts = []
    for metric, convention in dict.fromkeys(
        (comparison.second.metric, comparison.second.convention.name) for comparison in comparisons
    ):
        same = [
            comparison
            for comparison in comparisons
            if (comparison.second.metric, comparison.second.convention.name) == (metric, convention)
        ]
        rows = []
        for comparison in same:
            low, high = comparison.interval
            values = [f"{comparison.difference:+.1f}", f"{low:+.1f} to {high:+.1f}", f"{comparison.permutation:.4f}"]
            rows.append([comparison.second.system, *values])
        caption = f"{metric} under {convention}: difference from {same[0].first.system}, in points (p: permutations)"
        parts.append(table(caption, ["System", "Difference", "95 % interval", "p"], rows))
    return "\n".join(parts)


def _details(reports: Sequence[Score]) -> Iterator[str]:
    """Scores by length, label, height, relation and distance, of the first convention of each metric."""
    for metric in dict.fromkeys(report.metric for report in reports):
        of_metric = [score for score in reports if score.metric == metric]
        first = [score for score in of_metric if score.convention.name == of_metric[0].convention.name]
        yield _by_length(metric, first)
        for field, caption, key in _TABLES:
            having = [score for score in first if getattr(score, field, None)]
            if having:
                yield _shares(f"{caption}, in percent ({metric})", having, field, key)


_TABLES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("by_label", "Recall of constituents by their label", str),
    ("by_height", "Precision of constituents by their height, two words having 2", str),
    ("by_relation", "Recall of arcs by their relation", str),
    ("by_distance", "Recall of arcs by the distance from the word to its head", str),
)


def _by_length(metric: str, reports: Sequence[Score]) -> str:
    having = [score for score in reports if score.by_length]
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
    drawn = plot(
        draw_lines(lines, title=title, across="words", up=f"{metric} in percent", names=lengths), f"by-length-{metric}"
    )
    rows = []
    for score in having:
        values: Mapping[str, tuple[int, float]] = score.by_length or {}
        rows.append([score.system, *(f"{values[key][1]:.1f}" if key in values else "–" for key in lengths)])
    sizes = having[0].by_length or {}
    rows.append(["(sentences)", *(f"{sizes[key][0]:,}" if key in sizes else "0" for key in lengths)])
    return drawn + table(title, ["System", *lengths], rows)


def _shares(caption: str, reports: Sequence[Score], field: str, key: Callable[[Any], str]) -> str:
    """A row a system, a column a label: details, of all."""
    keys = list(getattr(reports[0], field))[:MANY]
    rows = []
    for score in reports:
        details = getattr(score, field)
        cells = [details.get(name) for name in keys]
        rows.append(
            [score.system, *("–" if not cell or not cell[1] else f"{100 * cell[0] / cell[1]:.1f}" for cell in cells)]
        )
    if field != "by_height":  # of heights the number differs from system to system
        rows.append(["(in gold)", *(f"{getattr(reports[0], field)[name][1]:,}" for name in keys)])
    return table(caption, ["System", *map(key, keys)], rows)


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
