"""The section of a report about confidence: how often phrases and arcs are in gold, by the confidence in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from induce.reporting.markup import Section, note, plot, table
from induce.reporting.parsed import Compared, Parsed
from induce.reporting.plots import Line, draw_lines
from treebank.base.tables import Column, Table
from treebank.draw.picture import projected
from treebank.draw.scene import Scene

NAME, TITLE = "calibration", "Confidence and accuracy"
BINS = 10


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
    plots, tables = [], []
    for number, model in enumerate(compared.models):
        if parts := judged(compared, model):
            bins = calibration_bins(parts)
            plots.append(plot(_curve(model, bins), f"calibration-{number}"))
            tables.append(table(_numbers(model, bins)))
    if not plots:
        return NAME, TITLE, ""
    about = (
        "Phrases or arcs are sorted by the confidence of the model and divided into groups of similar size. The unit "
        "of confidence is a probability or a share of votes, in percent; for distances it is the unit of the model."
    )
    return NAME, TITLE, "\n".join([note(about), f'<div class="plots">{"".join(plots)}</div>', *tables])


def judged(compared: Compared, model: Parsed) -> list[Judged]:
    """The confidence of each phrase or arc over counted words, and whether gold has it.

    The result is empty if there is no gold annotation of this type or the model has no confidence.
    """
    has_gold = any(parts.spans if model.gives_trees else parts.arcs for parts in compared.gold)
    return (
        [part for index in range(len(compared.sentences)) for part in _of(compared, model, index)] if has_gold else []
    )


def _of(compared: Compared, model: Parsed, index: int) -> Iterator[Judged]:
    """The phrases or arcs of one sentence."""
    analysis, mask, gold = model.analyses[index], compared.masks[index], compared.gold[index]
    if analysis.tree is None:
        for word, (head, value) in enumerate(zip(analysis.heads, model.confidences[index], strict=True)):
            if value is not None and mask[word]:
                yield Judged(value, (word, head) in gold.arcs)
        return
    seen = set()
    for span, value in zip(projected(analysis.tree, mask), model.confidences[index], strict=True):
        if span and value is not None and span not in seen:
            seen.add(span)
            yield Judged(value, span in gold.spans)


def _is_probability(model: Parsed) -> bool:
    return model.parser.structure.votes_for == model.parser.output


def _curve(model: Parsed, bins: list[CalibrationBin]) -> Scene:
    """Share in gold by mean confidence, next to the diagonal if the confidence is a probability."""
    percent = 100 if _is_probability(model) else 1
    lines = [Line(model.name, [(percent * each.mean, 100 * each.correct) for each in bins])]
    if _is_probability(model):
        lines.append(Line("calibrated", [(100 * each.mean, 100 * each.mean) for each in bins]))
    part = "phrases" if model.gives_trees else "arcs"
    across = "confidence" + (" in percent" if _is_probability(model) else "")
    return draw_lines(lines, title=f"{part} of {model.name} in gold", across=across, up="% in gold")


def _numbers(model: Parsed, bins: list[CalibrationBin]) -> Table:
    part = "phrases" if model.gives_trees else "arcs"
    digits = ".3f" if _is_probability(model) else ".3g"
    columns = [Column("Confidence from", digits), Column("Mean", digits), Column("% in gold", ".1f"), Column("Number")]
    rows = [[each.lowest, each.mean, 100 * each.correct, each.count] for each in bins]
    result = Table(f"{part} by confidence: {model.name}", columns, rows)
    if _is_probability(model):
        error = f"Expected calibration error: {100 * calibration_error(bins):.1f} points."
        result = result._replace(footnotes=[error])
    return result
