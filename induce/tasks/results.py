"""Results of ``synparse task eval``, the same for all tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from treebank.base.tables import Cell, Column, Table
from treebank.evaluate.score import Runs, runs_of


class TaskScore(Protocol):
    """The score of one system on a task."""

    @property
    def model(self) -> str:
        """Folder of the model, or an empty string for other systems."""
        ...

    @property
    def value(self) -> float | None:
        """The main measure in percent, or None for tasks with several measures."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The score as a JSON object."""
        ...


@dataclass(frozen=True)
class TaskEvaluation:
    """The scores of several systems on the same data, with mean and deviation for each pattern of several models."""

    task: str
    data: str
    scores: Sequence[TaskScore]
    results: Sequence[Table]
    signatures: Sequence[str]
    groups: Mapping[str, Sequence[str]]  # pattern -> folders of models
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # sizes of the data, for JSON

    @property
    def spreads(self) -> dict[str, Runs]:
        """Values of the models of each pattern of several models. A pattern is left out if a value is missing."""
        values = {score.model: score.value for score in self.scores if score.value is not None}
        return runs_of(self.groups, values)

    def tables(self) -> list[Table]:
        """The tables of the task and the means, with the signatures below the last one."""
        rows: list[list[Cell]] = [
            [name, len(runs.values), runs.mean, runs.deviation] for name, runs in self.spreads.items()
        ]
        columns = [Column("Runs"), Column("Number"), Column("Mean", ".2f"), Column("SD", ".2f")]
        means = [Table("Mean over the runs of a pattern", columns, rows)] if rows else []
        tables = [*self.results, *means]
        return [*tables[:-1], tables[-1]._replace(footnotes=self.signatures)]

    def to_json(self) -> dict[str, Any]:
        """The evaluation as a JSON object."""
        document = {"task": self.task, "data": self.data, **self.counts}
        groups = [{"systems": pattern, **runs.to_json()} for pattern, runs in self.spreads.items()]
        scores = [score.to_json() for score in self.scores]
        return {**document, "scores": scores, **({"groups": groups} if groups else {})}
