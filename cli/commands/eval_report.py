"""Output of ``synparse eval`` besides the tables: drawings of the worst trees, and files with the details."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.options import note
from cli.output import drawing, open_output
from cli.views import csv_lines, print_csv
from cli.views import show as show_result
from treebank.base import VERSION
from treebank.base.metadata import json_text

if TYPE_CHECKING:
    from treebank.base.tables import Table
    from treebank.evaluate.evaluate import Evaluation


TABLES = "tables"  # key of the names of the files with tables
DETAIL_FILES = SCORES, SENTENCES = ("scores.json", "sentences.tsv")


def show(evaluation: Evaluation, *, form: str, worst: int | None, details: str | None, overwrite: bool) -> None:
    """Write files into the folder ``details``, print the scores as ``form``, and draw the ``worst`` trees."""
    if details:
        save_details(details, evaluation, overwrite=overwrite)
    if form == "csv":
        first, *others = evaluation.tables()
        print_csv([first._replace(footnotes=())])  # rows have the signatures
        if others and not details:
            note("this is the first table; --details DIR writes one CSV file for each")
    else:
        show_result(evaluation, form)
    for detail in evaluation.by:
        if not any(getattr(score, f"by_{detail}", None) for score in evaluation.scores):
            needed = {"height": "trees", "relation": "gold heads with relations", "distance": "heads"}.get(detail, "")
            click.echo(f"note: no scores by {detail}, which needs {needed}", err=True)
    if worst:
        print_worst(evaluation, worst)


def check_details(folder: str, *, overwrite: bool, **reads: Any) -> None:
    """Raises SynparseError if `DETAIL_FILES` in ``folder`` are read, or if one of them is from another program."""
    from induce.storage.outputs import check_output_folder
    from treebank.io.output_path import check_default_output

    check_output_folder(folder, DETAIL_FILES, **reads)
    for name in DETAIL_FILES:
        check_default_output(os.path.join(folder, name), overwrite=overwrite, remedy="name another folder")


def print_worst(evaluation: Evaluation, count: int) -> None:
    """Draw the worst trees of the first system under the first convention next to gold."""
    from treebank.base.errors import SynparseError
    from treebank.evaluate.score import both_trees, worst

    score = next((score for score in evaluation.trees if score.predicted), None)
    if score is None:
        raise SynparseError("--worst draws trees; name a file of trees, a model or a baseline other than random")
    click.echo(f"\nThe worst trees of {score.system} under {score.convention.label}")
    for sentence in worst(score, evaluation.gold, count):
        matched = f"{sentence.counts.matched} of {sentence.counts.gold} brackets"
        click.echo(f"\n{sentence.sentence.location}: {sentence.value:.1f} ({matched})")
        gold, predicted = map(sentence.sentence.with_tree, both_trees(score, sentence))
        click.echo(drawing(predicted, gold, name=score.system))


def save_details(folder: str, evaluation: Evaluation, *, overwrite: bool) -> None:
    """Write `DETAIL_FILES`, and one CSV file per table, into ``folder``, which is created if it does not exist."""
    from treebank.base.errors import placed
    from treebank.base.tables import csv_line
    from treebank.evaluate.score import sentence_scores
    from treebank.io.output_path import check_default_output

    with placed(folder):
        os.makedirs(folder, exist_ok=True)
    files = {os.path.join(folder, f"{name}.csv"): table for name, table in table_names(evaluation.tables()).items()}
    stale = _tables_in(folder) - files.keys()  # of an earlier evaluation
    for path in (*files, *stale):
        check_default_output(path, overwrite=overwrite, remedy="name another folder")
    for path in stale:
        os.unlink(path)
    for path, table in files.items():
        with open_output(path) as write:
            for line in csv_lines(table):
                write(line)
    with open_output(os.path.join(folder, SCORES)) as write:
        names = [os.path.basename(path) for path in files]
        write(json_text({"synparse": VERSION, **evaluation.to_json(), TABLES: names}, indent=2))
    with open_output(os.path.join(folder, SENTENCES)) as write:
        columns = ["system", "metric", "convention", "location", "value", "matched", "predicted", "gold", "sentence"]
        write(csv_line(columns, "\t"))
        for score in evaluation.scores:
            for sentence in sentence_scores(score, evaluation.gold):
                head = [score.system, score.metric, score.convention.label, str(sentence.sentence.location)]
                counts = [f"{number:g}" for number in sentence.counts]
                text = " ".join(sentence.sentence.words)
                write(csv_line([*head, f"{sentence.value:.4f}", *counts, text], "\t"))


def _tables_in(folder: str) -> set[str]:
    """The existing files with the tables that `SCORES` in ``folder`` lists, none if there is no such file."""
    try:
        with open(os.path.join(folder, SCORES), encoding="utf-8") as file:
            names = json.load(file).get(TABLES, ())
        paths = {os.path.join(folder, os.path.basename(name)) for name in names}
    except (OSError, ValueError, TypeError, AttributeError):
        return set()
    return {path for path in paths if path.endswith(".csv") and os.path.isfile(path)}


def table_names(tables: Sequence[Table]) -> dict[str, Table]:
    """The tables by the names of their files: words of the title, such as ``recall-of-constituents-by-label``."""
    names: dict[str, Table] = {}
    for table in tables:
        title = re.sub(r", in .*?(?= \(|$)", "", table.title).lower() or "scores"
        name = re.sub(r"\W+", "-", title).strip("-")
        same = sum(re.fullmatch(rf"{name}(-\d+)?", other) is not None for other in names)
        names[f"{name}-{same + 1}" if same else name] = table
    return names
