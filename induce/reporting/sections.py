"""The sections of a report: each is a name, a title and what it holds, "" where there is nothing to tell."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from induce.decoding.sharpness import MEANINGS
from induce.parsing.pictures import analyses_of
from induce.reporting.markup import command, hidden, listing, note, plot, table
from induce.reporting.parsed import Compared, Parsed, frequent_constituents, frequent_heads
from induce.reporting.runs import RunStory
from treebank.draw.page import figure
from treebank.draw.picture import GOLD, Analysis, Picture
from treebank.draw.plots import Interval, Line, draw_intervals, draw_lines
from treebank.draw.reading import fitted
from treebank.evaluate.compare import Comparison
from treebank.evaluate.evaluate import Evaluation
from treebank.evaluate.per_sentence import sentence_scores
from treebank.evaluate.score import Score, TreeScore

Section = tuple[str, str, str]
DRAWN = range(5, 31)  # words of a sentence that is drawn: trees of fewer say little, wider ones are hard to see
MANY = 12  # columns of labels or relations in a table


def learned(stories: Sequence[RunStory]) -> Section:
    """What each run learned from."""
    names = [story.run for story in stories]
    facts = list(dict.fromkeys(name for story in stories for name in story.facts))
    rows = [[fact, *(story.facts.get(fact, "") for story in stories)] for fact in facts]
    parts = [table("What the models learned from", ["", *names], rows, text_columns=len(names) + 1)]
    for findings in dict.fromkeys(tuple(story.findings) for story in stories if story.findings):
        runs = ", ".join(story.run for story in stories if tuple(story.findings) == findings)
        parts.append(note(f"What is odd about the text of {runs}:") + listing(findings))
    settings = list(dict.fromkeys(name for story in stories for name in story.settings))
    if settings:
        rows = [[name, *(story.settings.get(name, "") for story in stories)] for name in settings]
        inner = table("Settings", ["", *names], rows, text_columns=len(names) + 1)
        parts.append(hidden("All settings", inner))
    return "learned", "What was learned from", "\n".join(parts)


def curves(stories: Sequence[RunStory]) -> Section:
    """How the losses fell, as plots and as a table."""
    told = [story for story in stories if story.checks]
    if not told:
        return "curves", "Training", ""
    names = short_names([story.run for story in told])
    parts = [
        note(
            "Mean loss in nats a token at each check. Compare losses only within one kind of model: a model of next "
            "words, one of masked words, a grammar of whole sentences and a parser that learns from others count "
            "differently."
        )
    ]
    drawn = []
    for key, title in (("development_loss", "Loss on the development text"), ("loss", "Loss on the training text")):
        lines = [Line(name, _points(story, key)) for name, story in zip(names, told, strict=True)]
        drawn.append(plot(draw_lines(lines, title=title, across="minutes of training", up="nats"), f"plot-{key}"))
    parts.append(f'<div class="plots">{"".join(drawn)}</div>')
    header = ["Run", "Epoch", "Step", "Minutes", "Training", "Development"]
    rows = [row for name, story in zip(names, told, strict=True) for row in _check_rows(name, story)]
    parts.append(hidden("These numbers as a table", table("Losses in nats a token", header, rows)))
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


def short_names(runs: Sequence[str]) -> list[str]:
    """The last parts of the paths where these tell them apart, else the whole paths."""
    last = [os.path.basename(os.path.normpath(run)) for run in runs]
    return last if len(set(last)) == len(last) else list(runs)


def scores(evaluation: Evaluation, eval_command: str) -> Iterator[Section]:
    """Scores, and where they come from."""
    parts = []
    kinds = dict.fromkeys((score.metric, score.convention.name) for score in evaluation.scores)
    for number, (metric, convention) in enumerate(kinds):
        same = [one for one in evaluation.scores if (one.metric, one.convention.name) == (metric, convention)]
        values = [Interval(one.system, one.value, *one.interval, ours=bool(one.info.model)) for one in same]
        title = f"{metric} under {convention}, with 95 % intervals"
        parts.append(plot(draw_intervals(values, title=title, across=f"{metric} in percent"), f"scores-{number}"))
        parts.append(_score_table(f"{metric} under {convention}", same))
    if evaluation.spreads:
        header = ["Models", "Convention", "Metric", "Mean", "Deviation", "Runs"]
        rows = [
            [one.pattern, one.convention, one.metric, f"{one.runs.mean:.1f}", f"{one.runs.deviation:.1f}", str(n)]
            for one in evaluation.spreads
            for n in [len(one.runs.values)]
        ]
        parts.append(table("Mean and standard deviation over runs", header, rows, text_columns=3))
    parts.append(_comparisons(evaluation.comparisons))
    parts.append(note("How each number came about:"))
    parts.append(listing(dict.fromkeys(f"{one.system}: {one}" for one in evaluation.scores)))
    parts.append(note("The command that prints them:") + command(eval_command))
    yield "scores", "Scores", "\n".join(filter(None, parts))
    yield "details", "Where the scores come from", "\n".join(_details(evaluation.scores))


def _score_table(caption: str, reports: Sequence[Score]) -> str:
    trees = isinstance(reports[0], TreeScore)
    sizes = list(dict.fromkeys(f"{len(one.counts):,}" for one in reports))
    counts = ["Sentences"] * (len(sizes) > 1)  # one and the same for all, as a rule: then the caption says it
    header = ["System", "Score", "95 % interval", "Precision", "Recall", *counts, *["Depth", "R/L"] * trees]
    rows = []
    for one in reports:
        low, high = one.interval
        row = [one.system, f"{one.value:.1f}", f"{low:.1f}–{high:.1f}", f"{one.precision:.1f}", f"{one.recall:.1f}"]
        shape = [f"{one.shape.depth:.1f}", f"{one.shape.right_left:.1f}"] if isinstance(one, TreeScore) else []
        rows.append([*row, *[f"{len(one.counts):,}"] * len(counts), *shape])
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
    for metric, convention in dict.fromkeys((one.second.metric, one.second.convention.name) for one in comparisons):
        same = [one for one in comparisons if (one.second.metric, one.second.convention.name) == (metric, convention)]
        rows = []
        for one in same:
            low, high = one.interval
            values = [f"{one.difference:+.1f}", f"{low:+.1f} to {high:+.1f}", f"{one.permutation:.4f}"]
            rows.append([one.second.system, *values])
        caption = f"{metric} under {convention}: difference from {same[0].first.system}, in points (p: permutations)"
        parts.append(table(caption, ["System", "Difference", "95 % interval", "p"], rows))
    return "\n".join(parts)


def _details(reports: Sequence[Score]) -> Iterator[str]:
    """Scores by length, label, height, relation and distance, of the first convention of each metric."""
    for metric in dict.fromkeys(report.metric for report in reports):
        of_metric = [one for one in reports if one.metric == metric]
        first = [one for one in of_metric if one.convention.name == of_metric[0].convention.name]
        yield _by_length(metric, first)
        for field, caption, key in _TABLES:
            having = [one for one in first if getattr(one, field, None)]
            if having:
                yield _shares(f"{caption}, in percent ({metric})", having, field, key)


_TABLES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("by_label", "Recall of constituents by their label", str),
    ("by_height", "Precision of constituents by their height, two words having 2", str),
    ("by_relation", "Recall of arcs by their relation", str),
    ("by_distance", "Recall of arcs by the distance from the word to its head", str),
)


def _by_length(metric: str, reports: Sequence[Score]) -> str:
    having = [one for one in reports if one.by_length]
    if not having:
        return ""
    lengths = list(dict.fromkeys(key for one in having for key in one.by_length or ()))
    shown = [one for one in having if one.info.model] or having
    named = short_names([one.info.model or one.system for one in shown])
    lines = [
        Line(name, [(float(lengths.index(key)), value) for key, (_, value) in (one.by_length or {}).items()])
        for name, one in zip(named, shown, strict=True)
    ]
    title = f"{metric} by the number of words of a sentence"
    drawn = plot(
        draw_lines(lines, title=title, across="words", up=f"{metric} in percent", names=lengths), f"by-length-{metric}"
    )
    rows = []
    for one in having:
        values: Mapping[str, tuple[int, float]] = one.by_length or {}
        rows.append([one.system, *(f"{values[key][1]:.1f}" if key in values else "–" for key in lengths)])
    sizes = having[0].by_length or {}
    rows.append(["(sentences)", *(f"{sizes[key][0]:,}" if key in sizes else "0" for key in lengths)])
    return drawn + table(title, ["System", *lengths], rows)


def _shares(caption: str, reports: Sequence[Score], field: str, key: Callable[[Any], str]) -> str:
    """A row a system, a column a label: found, of all."""
    keys = list(getattr(reports[0], field))[:MANY]
    rows = []
    for one in reports:
        found = getattr(one, field)
        cells = [found.get(name) for name in keys]
        rows.append(
            [one.system, *("–" if not cell or not cell[1] else f"{100 * cell[0] / cell[1]:.1f}" for cell in cells)]
        )
    if field != "by_height":  # of heights the number differs from system to system
        rows.append(["(in gold)", *(f"{getattr(reports[0], field)[name][1]:,}" for name in keys)])
    return table(caption, ["System", *map(key, keys)], rows)


def frequent(compared: Compared) -> Section:
    """The most frequent constituents or heads of each model."""
    parts = []
    for model in compared.models:
        if model.parser.output == "trees":
            parts.append(_constituent_table(compared, model))
        else:
            parts.append(_head_table(compared, model))
    return "frequent", "What is found most often", "\n".join(parts)


def _constituent_table(compared: Compared, model: Parsed) -> str:
    rows = []
    for text, count, occurrences, in_gold, example in frequent_constituents(compared, model):
        rows.append([text, example, str(count), str(occurrences), *([] if in_gold is None else [str(in_gold)])])
    header = ["Words", "Example", "Bracketed", "In the text", *["In gold"] * (len(rows) > 0 and len(rows[0]) > 4)]
    return table(f"The most frequent constituents of two to four words: {model.name}", header, rows, text_columns=2)


def _head_table(compared: Compared, model: Parsed) -> str:
    rows = []
    for text, count, _, in_gold, example in frequent_heads(compared, model):
        rows.append([text, example, str(count), *([] if in_gold is None else [str(in_gold)])])
    header = ["Word ← head", "Example", "Times", *["In gold"] * (len(rows) > 0 and len(rows[0]) > 3)]
    return table(f"The most frequent words with their heads: {model.name}", header, rows, text_columns=2)


def agreement(compared: Compared) -> Section:
    """How much the models agree, and how sure each is."""
    parts = []
    for output in dict.fromkeys(model.parser.output for model in compared.models):
        models = [model for model in compared.models if model.parser.output == output]
        if len(models) > 1:
            names = short_names([model.run for model in models])
            rows = [
                [name, *("" if other is model else _percent(compared.agreement(model, other)) for other in models)]
                for name, model in zip(names, models, strict=True)
            ]
            counted = "mean F1 of the brackets" if output == "trees" else "share of words with the same head"
            parts.append(table(f"Agreement of two models: {counted}, in percent", ["", *names], rows))
    rows = [
        [model.name, MEANINGS.get(name, name), f"{value:.2f}"]
        for model in compared.models
        for name, value in model.sharpness.items()
    ]
    if rows:
        caption = "Sharpness of each model, mean over sentences"
        parts.append(table(caption, ["Model", "Measure", "Value"], rows, text_columns=2))
    return "agreement", "Agreement and sharpness", "\n".join(parts)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def pictures(compared: Compared, evaluation: Evaluation | None, count: int) -> Iterator[Section]:
    """Sentences drawn: the best, the worst, the most and the least agreed; without any of these the first ones."""
    lengths = [len(compared.words(place)) for place in range(len(compared.sentences))]
    drawable = [place for place, length in enumerate(lengths) if length in DRAWN]
    groups: list[tuple[str, str, str, Mapping[int, float], bool]] = []
    has_gold = evaluation is not None
    if evaluation is not None:
        scored = _by_place(evaluation)
        groups.append(("best", "The best sentences", "mean score", scored, True))
        groups.append(("worst", "The worst sentences", "mean score", scored, False))
    if compared.pairs():
        agreed = {place: value for place, value in enumerate(compared.agreement_by_sentence()) if value is not None}
        groups.append(("agreed", "The most agreed sentences", "mean agreement", agreed, True))
        groups.append(("disputed", "The least agreed sentences", "mean agreement", agreed, False))
    if not groups:
        groups.append(("sentences", "The first sentences", "", dict.fromkeys(drawable, 0.0), True))
    for name, title, measure, values, highest in groups:
        places = [place for place in drawable if place in values]
        sign = -1 if highest else 1
        if measure:
            places.sort(key=lambda place: (sign * values[place], -lengths[place], place))
        yield name, title, _drawn(compared, distinct(compared, places)[:count], name, measure, values, has_gold)


def distinct(compared: Compared, places: Sequence[int]) -> list[int]:
    """``places`` without sentences whose words came before: captions and headings come again and again."""
    first: dict[tuple[str, ...], int] = {}
    for place in places:
        first.setdefault(tuple(word.lower() for word in compared.sentences[place].words), place)
    return list(first.values())


def _by_place(evaluation: Evaluation) -> dict[int, float]:
    """Sentence -> mean value of the models, each by the first metric and convention that it has."""
    values: dict[int, list[float]] = {}
    seen = set()
    for report in evaluation.scores:
        if report.info.model and report.info.model not in seen:
            seen.add(report.info.model)
            for place, one in zip(report.indices, sentence_scores(report, evaluation.gold), strict=True):
                if one.counts.gold:
                    values.setdefault(place, []).append(one.value)
    return {place: sum(found) / len(found) for place, found in values.items()}


def _drawn(
    compared: Compared, places: Sequence[int], name: str, measure: str, values: Mapping[int, float], has_gold: bool
) -> str:
    """The chosen sentences with all models, beside gold where there is one."""
    sentences = [compared.sentences[place] for place in places]
    systems = [analyses_of(model.parser, sentences, model.name) for model in compared.models]
    parts = [note(f"Of {DRAWN.start} to {DRAWN.stop - 1} words that count.")]
    for number, (place, sentence) in enumerate(zip(places, sentences, strict=True)):
        analyses = [
            replace(fitted(system[number], sentence.place, sentence.words), probabilities=()) for system in systems
        ]
        title = f"sentence {place + 1}" + (f", {measure} {values[place]:.1f}" if measure else "")
        gold = Analysis.of_sentence(sentence, GOLD) if has_gold else None
        parts += figure(Picture(title, tuple(analyses), gold), f"{name}-{number + 1}")
    return "\n".join(parts) if places else ""
