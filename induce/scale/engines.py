"""Engines by name."""

from __future__ import annotations

from collections.abc import Sequence

from induce.processes import cores
from induce.scale.batch import Engine, MakeEngine
from induce.scale.processes import WorkerProcesses
from induce.scale.work import ShardWork


def engine_called(name: str, workers: int | None = None) -> MakeEngine:
    """What makes the engine of that name with so many workers, by default one for each core."""

    def make(work: ShardWork, held: Sequence[int]) -> Engine:
        return WorkerProcesses(work, workers or cores(), held=held)

    return make
