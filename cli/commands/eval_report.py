"""Output of ``synparse eval``: tables, CSV, LaTeX, drawings and files."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli.commands.eval_tables import interval, score_tables
from cli.output import drawing, open_output, print_json, print_table

if TYPE_CHECKING:
    from treebank.evaluate.characters import WordScore
    from treebank.evaluate.compare import Comparison
    from treebank.evaluate.evaluate import Evaluation
    from treebank.evaluate.score import ScoreReport

MANY = 8  # labels in the table at most; JSON has all
DIGITS = 1  # decimals of percentages
MANY_ARCS = 20  # relations, likewise


def show(evaluation: Evaluation, *, form: str, by: Sequence[str], worst: int | None, details: str | None) -> None:
    """Print the scores as ``form``, draw the ``worst`` trees, and write files into the folder ``details``."""
    if form == "json":
        print_json(evaluation.to_json())
    elif form == "csv":
        print_csv(evaluation.reports)
    elif form == "latex":
        print_latex(evaluation, DIGITS)
    else:
        print_report(evaluation, by, DIGITS)
    if worst:
        print_worst(evaluation, worst)
    if details:
        save_sentences(details, evaluation)


def print_report(evaluation: Evaluation, by: Sequence[str], digits: int) -> None:
    """Tables for a person, the signatures below them."""
    reports, comparisons = evaluation.reports, evaluation.comparisons
    for table in score_tables(evaluation, digits):
        table.show()
    _print_words(evaluation.words, digits)
    trees = [report for report in reports if report.metric == "UF1"]
    labels = list(trees[0].by_label or ())[:MANY] if trees else []
    if labels:
        click.echo("Recall of constituents by label, in percent")
        first = {report.system: report for report in reversed(trees)}  # the same under every convention
        rows = [_label_row(first[name], labels) for name in dict.fromkeys(report.system for report in trees)]
        print_table(["System", *labels], rows)
        click.echo()
        _print_labels([report for report in first.values() if report.labels], labels)
    for what in by:
        _print_by(what, reports)
    if comparisons:
        click.echo("Difference from the first system, in points: paired bootstrap, paired permutation of 10,000")
        print_table(
            ["System", "Convention", "Metric", "Diff.", "95 % int.", "p (boot.)", "p (perm.)"],
            [_comparison_row(comparison, digits) for comparison in comparisons],
            text_columns=3,
        )
        click.echo()
    for signature in dict.fromkeys(report.signature for report in reports):
        same = [report for report in reports if report.signature == signature]
        click.echo(str(same[0]) if len(same) == 1 else signature)
    if any(report.convention.tokens in ("letters", "upos") for report in reports):
        found = " or ".join(sorted({report.convention.tokens for report in reports} & {"letters", "upos"}))
        click.echo(
            f"note: the tags of {evaluation.gold.name} are not those of the Penn Treebank, so words are told from "
            "punctuation by "
            f"{'letters and digits' if found == 'letters' else 'universal tags'} (tokens:{found}); "
            "published figures go by tags",
            err=True,
        )


def _print_words(scores: Sequence[WordScore], digits: int) -> None:
    """How many words were found, where trees are over characters."""
    if not scores:
        return
    click.echo("Words that are leaves, and words of several characters that have a bracket, in percent")
    rows = [
        [one.system, *(f"{value:.{digits}f}" for value in (one.value, one.precision, one.recall, one.in_brackets))]
        for one in scores
    ]
    print_table(["System", "Word F1", "Precision", "Recall", "In brackets"], rows)
    click.echo()


def _label_row(report: ScoreReport, labels: Sequence[str]) -> list[str]:
    by_label = report.by_label or {}
    counts = [by_label[label] for label in labels]
    return [report.system, *map(_percent, counts)]


def _print_labels(reports: Sequence[ScoreReport], gold: Sequence[str]) -> None:
    """How labels of predicted trees go with gold ones: a line for each system whose trees have labels."""
    if not reports:
        return
    click.echo("Labels of the constituents found, in percent: V-measure (homogeneity, completeness), many-to-one,")
    click.echo("and recall by gold label, where each label stands for the gold one that it goes with most often")
    rows = []
    for report in reports:
        if scores := report.labels:
            values = (scores.v_measure, scores.homogeneity, scores.completeness, scores.many_to_one)
            recall = [_percent(scores.recall[label]) if label in scores.recall else "" for label in gold]
            rows.append([report.system, *(f"{value:.1f}" for value in values), *recall])
    print_table(["System", "V", "Hom.", "Compl.", "M-1", *gold], rows)
    click.echo()


def _comparison_row(comparison: Comparison, digits: int) -> list[str]:
    second = comparison.second
    return [
        f"{second.system} - {comparison.first.system}",
        second.convention.name,
        second.metric,
        f"{comparison.difference:+.{digits}f}",
        interval(*comparison.interval, digits, "+"),
        f"{comparison.bootstrap:.4f}",
        f"{comparison.permutation:.4f}",
    ]


def _print_by(what: str, reports: Sequence[ScoreReport]) -> None:
    """The tables of one ``--by``, or a line on standard error that there is none."""
    having = [report for report in reports if getattr(report, f"by_{what}")]
    if not having:
        lack = {"height": "trees", "relation": "gold heads with relations", "distance": "heads"}
        click.echo(f"note: nothing to show by {what}, which needs {lack[what]}", err=True)
    elif what == "length":
        for metric in dict.fromkeys(report.metric for report in having):
            _print_lengths(metric, [report for report in having if report.metric == metric])
    elif what == "height":
        _print_heights(having)
    else:
        for convention in dict.fromkeys(report.convention.name for report in having):
            _print_arcs(what, [report for report in having if report.convention.name == convention])


def _print_lengths(metric: str, reports: Sequence[ScoreReport]) -> None:
    """A line for each system and convention, a column for each length."""
    click.echo(f"{metric} by the number of words of a sentence")
    columns = list(dict.fromkeys(key for report in reports for key in report.by_length or ()))
    rows = []
    for report in reports:
        values = report.by_length or {}
        rows.append([*_names(report), *(f"{values[key][1]:.1f}" if key in values else "" for key in columns)])
    print_table(["System", "Convention", *columns], rows, text_columns=2)
    click.echo()


def _print_heights(reports: Sequence[ScoreReport]) -> None:
    """A line for each system and convention, a column for each height."""
    click.echo("Precision in percent by the height of a predicted constituent, two words having 2; not the whole")
    heights = sorted({height for report in reports for height in report.by_height or ()})
    rows = []
    for report in reports:
        cells = [(report.by_height or {}).get(height) for height in heights]
        rows.append([*_names(report), *("" if cell is None else _percent(cell) for cell in cells)])
    print_table(["System", "Convention", *map(str, heights)], rows, text_columns=2)
    click.echo()


def _print_arcs(what: str, reports: Sequence[ScoreReport]) -> None:
    """A line for each relation or distance, a column for each system and metric of one convention."""
    found = [getattr(report, f"by_{what}") for report in reports]
    keys = list(found[0])[:MANY_ARCS]
    explained = {"relation": "relation", "distance": "distance of the head from the word, in words"}[what]
    click.echo(f"Recall of gold arcs by {explained}, in percent ({reports[0].convention.name})")
    rows = [[key, str(found[0][key][1]), *(_percent(arcs[key]) for arcs in found)] for key in keys]
    print_table([what.capitalize(), "Arcs", *(f"{one.system} {one.metric}" for one in reports)], rows)
    click.echo()


def _percent(found: tuple[float, int]) -> str:
    return f"{100 * found[0] / found[1]:.1f}"


def _names(report: ScoreReport) -> list[str]:
    return [report.system, report.convention.name]


def print_csv(reports: Sequence[ScoreReport]) -> None:
    """One line a score, numbers in full."""
    write = csv.writer(sys.stdout, lineterminator="\n").writerow
    fields = ["value", "precision", "recall"]
    write(["system", "metric", "convention", *fields, "low", "high", "sentences", "depth", "right_left", "signature"])
    for report in reports:
        entry = report.to_json()
        numbers = [*(entry[field] for field in fields), *report.interval, len(report.counts)]
        shape = [entry.get("depth", ""), entry.get("right_left", "")]
        write([report.system, report.metric, report.convention.name, *numbers, *shape, report.signature])


def print_latex(evaluation: Evaluation, digits: int) -> None:
    """Tables for a paper, with the signatures as comments."""
    for table in score_tables(evaluation, digits):
        click.echo(table.latex())
    for signature in dict.fromkeys(report.signature for report in evaluation.reports):
        click.echo(f"% {signature}")


def print_worst(evaluation: Evaluation, count: int) -> None:
    """The worst trees of the first system under the first convention, beside gold."""
    from treebank.base.errors import SynparseError
    from treebank.draw.picture import Analysis
    from treebank.evaluate.per_sentence import both_trees, worst

    report = next((report for report in evaluation.reports if report.predicted), None)
    if report is None:
        raise SynparseError("--worst draws trees; name a file of trees, a model or a baseline other than random")
    click.echo(f"\nThe worst trees of {report.system} under {report.convention.name}")
    for one in worst(report, evaluation.gold, count):
        found = f"{one.counts.matched} of {one.counts.gold} brackets"
        click.echo(f"\n{one.sentence.place}: {one.value:.1f} ({found})")
        gold, predicted = both_trees(report, one)
        click.echo(drawing(Analysis.of_tree(predicted, report.system), Analysis.of_tree(gold, "gold")))


def save_sentences(folder: str, evaluation: Evaluation) -> None:
    """Writes ``scores.json`` and ``sentences.tsv`` into ``folder``, which is made if it is not there."""
    from treebank.base.errors import placed
    from treebank.evaluate.per_sentence import sentence_scores

    with placed(folder):
        os.makedirs(folder, exist_ok=True)
    with open_output(os.path.join(folder, "scores.json")) as write:
        write(json.dumps(evaluation.to_json(), indent=2, ensure_ascii=False))
    with open_output(os.path.join(folder, "sentences.tsv")) as write:
        columns = ["system", "metric", "convention", "place", "value", "matched", "predicted", "gold", "sentence"]
        write("\t".join(columns))
        for report in evaluation.reports:
            for one in sentence_scores(report, evaluation.gold):
                head = [report.system, report.metric, report.convention.name, str(one.sentence.place)]
                counts = [f"{number:g}" for number in one.counts]
                write("\t".join([*head, f"{one.value:.4f}", *counts, " ".join(one.sentence.words)]))
