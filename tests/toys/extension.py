"""The function of the entry point of a package that adds a model and a task."""

from __future__ import annotations

from induce.registry import ENCODERS, MODELS, TASKS, ModelEntry, TaskEntry


def add() -> None:
    """Add the toy of distances and the task of parity."""
    MODELS.add("toy_distances", ModelEntry("tests.toys.toy_distances:Toy", "toy.toml"))
    TASKS.add("parity", TaskEntry("tests.toys.task_parity:Parity", "parity.toml", ENCODERS))
