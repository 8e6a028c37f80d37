"""The tables of ``synparse eval``: a line for each system and convention, the best marked, what columns mean below."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from cli.output import BEST, plain_table, print_table

if TYPE_CHECKING:
    from treebank.evaluate.evaluate import Evaluation, Spread
    from treebank.evaluate.score import ScoreReport

TREES = ["System", "Convention", "UF1", "95 % int.", "P", "R", "Sent.", "Depth", "R/L"]
HEADS = ["System", "Convention", "UAS", "95 % int.", "UUAS", "95 % int.", "Tokens", "Sent."]
TREES_LEGEND = (
    "UF1, precision (P) and recall (R) of brackets in percent; interval: over sentences\n"
    "Depth: brackets around a word; R/L: above 1 leans to the right"
)
HEADS_LEGEND = "UAS: arcs found, in percent; UUAS: in either direction; interval: over sentences"
MARKED = f"\n{BEST}: the best under its convention, baselines aside"
Spreads = Sequence["Spread"]


@dataclass(frozen=True)
class ScoreTable:
    """Header, rows and legend; ``dim`` are the numbers of the rows that are no competitors."""

    header: list[str]
    rows: list[list[str]]
    legend: str
    dim: frozenset[int]

    def show(self) -> None:
        """On a terminal or as plain text, with the legend."""
        print_table(self.header, self.rows, text_columns=2, dim=self.dim)
        click.echo(f"\n{self.legend}\n")

    def latex(self) -> str:
        """For a paper: the best in bold, the legend as a comment."""
        table = plain_table(self.header, self.rows, 2, form="latex_booktabs")
        bold = re.sub(rf"{re.escape(BEST)}([\d.]+)", r"\\textbf{\1}", table)
        return bold + "".join(f"\n% {line}" for line in self.legend.replace(BEST, "bold").split("\n"))


def score_tables(evaluation: Evaluation, digits: int) -> list[ScoreTable]:
    """The tables of trees and of heads, whichever there are, percentages with ``digits`` decimals."""
    reports, spreads = evaluation.reports, evaluation.spreads
    trees = [report for report in reports if report.metric == "UF1"]
    heads = [report for report in reports if report.metric == "UAS"]
    undirected = [report for report in reports if report.metric == "UUAS"]
    tables = []
    if trees:
        best = _best(trees)
        rows = [_tree_row(report, digits, id(report) in best) for report in trees]
        for spread in _of("UF1", spreads):
            most = f"max {spread.runs.maximum:.{digits}f}"
            rows.append([*_mean_names(spread), *_mean(spread, digits), most, "", "", "", ""])
        tables.append(_table(TREES, rows, TREES_LEGEND, trees, best))
    if heads:
        best = _best(heads) | _best(undirected)
        rows = [_head_row(pair, digits, best) for pair in zip(heads, undirected, strict=True)]
        for pair in zip(_of("UAS", spreads), _of("UUAS", spreads), strict=True):
            rows.append([*_mean_names(pair[0]), *_mean(pair[0], digits), *_mean(pair[1], digits), "", ""])
        tables.append(_table(HEADS, rows, HEADS_LEGEND, heads, best))
    return tables


def interval(low: float, high: float, digits: int, sign: str = "") -> str:
    """``[57.1, 60.2]``; with the ``sign`` "+" ``[-0.3, +1.2]``."""
    return f"[{low:{sign}.{digits}f}, {high:{sign}.{digits}f}]"


def _table(
    header: list[str], rows: list[list[str]], legend: str, reports: Sequence[ScoreReport], best: set[int]
) -> ScoreTable:
    dim = frozenset(number for number, report in enumerate(reports) if _is_baseline(report))
    return ScoreTable(header, rows, legend + MARKED if best else legend, dim)


def _is_baseline(report: ScoreReport) -> bool:
    from treebank.core.baselines import BASELINES
    from treebank.evaluate.systems import HEAD_BASELINES

    return not report.model and not report.decoded and (report.system in BASELINES or report.system in HEAD_BASELINES)


def _best(reports: Sequence[ScoreReport]) -> set[int]:
    """Which reports (by ``id``) have the highest value of their convention, where several systems compete."""
    found: set[int] = set()
    for convention in dict.fromkeys(report.convention for report in reports):
        same = [one for one in reports if one.convention == convention and not _is_baseline(one)]
        if len(same) > 1:
            highest = max(one.value for one in same)
            found |= {id(one) for one in same if one.value == highest}
    return found


def _of(metric: str, spreads: Spreads) -> Spreads:
    return [spread for spread in spreads if spread.metric == metric]


def _mean_names(spread: Spread) -> list[str]:
    return [f"{spread.pattern} (mean of {len(spread.runs.values)})", spread.convention]


def _mean(spread: Spread, digits: int) -> list[str]:
    return [f"{spread.runs.mean:.{digits}f}", f"± {spread.runs.deviation:.{digits}f}"]


def _value(report: ScoreReport, digits: int, best: bool) -> str:
    return f"{BEST if best else ''}{report.value:.{digits}f}"


def _tree_row(report: ScoreReport, digits: int, best: bool) -> list[str]:
    return [
        report.system,
        report.convention.name,
        _value(report, digits, best),
        interval(*report.interval, digits),
        f"{report.precision:.{digits}f}",
        f"{report.recall:.{digits}f}",
        str(len(report.counts)),
        f"{report.depth:.2f}",
        f"{report.right_left:.2f}",
    ]


def _head_row(pair: tuple[ScoreReport, ScoreReport], digits: int, best: set[int]) -> list[str]:
    values = [text for one in pair for text in (_value(one, digits, id(one) in best), interval(*one.interval, digits))]
    directed = pair[0]
    return [
        *(directed.system, directed.convention.name),
        *values,
        *(f"{directed.totals.gold}", str(len(directed.counts))),
    ]
