"""Selection of an engine by name."""

from __future__ import annotations

from collections.abc import Sequence

from induce.workers.batch import Engine, MakeEngine
from induce.workers.job import ShardWork
from induce.workers.pool import cores
from induce.workers.processes import WorkerProcesses


def engine_called(name: str, workers: int | None = None, address: str | None = None) -> MakeEngine:
    """Factory of an engine, ``processes`` or ``ray``, by default with one worker for each core.

    ``address`` is the address of a running Ray cluster; without it Ray is started on this machine.
    """

    def make(work: ShardWork, held: Sequence[int]) -> Engine:
        if name == "ray":
            from induce.workers.ray import RayEngine

            return RayEngine(work, workers, address)
        return WorkerProcesses(work, workers or cores(), held=held)

    return make
