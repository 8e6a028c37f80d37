"""Engine for worker processes on this machine. A worker that dies is replaced and its task is repeated."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from induce.workers.job import Outcome, ShardWork, Task
from induce.workers.pool import can_copy
from treebank.base.errors import SynparseError

ATTEMPTS = 3  # workers that may die of one task


class WorkerProcesses:
    """Workers that are copies of this process and share its model, or on a GPU processes that load it themselves.

    ``held`` are descriptors that copies must not hold, since the system would not know when this process has ended.
    """

    def __init__(self, work: ShardWork, count: int, *, held: Sequence[int] = ()) -> None:
        self.work, self.count, self.held = work, count, held
        copies = can_copy() and work.job.parser.device == "cpu"
        self.context: Any = multiprocessing.get_context("fork" if copies else "spawn")
        self.copies = copies
        self.workers: list[_Worker] = []

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Yield the outcome of each task when it is done. Raises SynparseError if several workers die of one task."""
        waiting = _Waiting(tasks)
        try:
            while True:
                self._hand_out(waiting)
                busy = {worker.connection: worker for worker in self.workers if worker.task}
                if not busy:
                    return
                for connection in wait(list(busy)):
                    outcome = self._receive(busy[connection], waiting)  # type: ignore[index]
                    if outcome:
                        yield outcome
        finally:
            for worker in self.workers:
                worker.end()

    def _hand_out(self, waiting: _Waiting) -> None:
        """Give each idle worker a task while there are tasks."""
        idle = [worker for worker in self.workers if not worker.task]
        while idle or len(self.workers) < self.count:
            task = waiting.next()
            if task is None:
                return
            worker = idle.pop() if idle else self._start()
            worker.task = task
            with suppress(OSError):  # the worker died; the receive below detects it
                worker.connection.send(task)

    def _receive(self, worker: _Worker, waiting: _Waiting) -> Outcome | None:
        """Outcome sent by a worker, or None if the worker has died and its task is queued again."""
        task = worker.task
        assert task is not None
        try:
            outcome: Outcome = worker.connection.recv()
        except (EOFError, OSError):
            self.workers.remove(worker)
            worker.end()
            waiting.again(task, worker.process.exitcode)
            return None
        worker.task = None
        return outcome

    def _start(self) -> _Worker:
        connection, far = self.context.Pipe()
        inherited = [*(worker.connection for worker in self.workers), connection] if self.copies else []
        held = self.held if self.copies else ()
        process = self.context.Process(target=_serve, args=(far, self.work, inherited, held), daemon=True)
        process.start()
        far.close()
        self.workers.append(_Worker(process, connection))
        return self.workers[-1]


class _Worker:
    """Worker process with its connection and current task."""

    def __init__(self, process: Any, connection: Connection) -> None:
        self.process, self.connection = process, connection
        self.task: Task | None = None

    def end(self) -> None:
        """End the process at once. Output that it has not renamed yet is discarded."""
        self.connection.close()
        self.process.terminate()
        self.process.join()


class _Waiting:
    """Queue of tasks, with those of dead workers first."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = iter(tasks)
        self._again: deque[Task] = deque()
        self._died: Counter[Task] = Counter()

    def next(self) -> Task | None:
        """The next task, or None if none is left."""
        return self._again.popleft() if self._again else next(self._tasks, None)

    def again(self, task: Task, code: int | None) -> None:
        """Queue the task of a dead worker again."""
        self._died[task] += 1
        if self._died[task] == ATTEMPTS:
            where = f"{task.shard.path}:{task.shard.line}"
            raise SynparseError(
                f"{where}: {ATTEMPTS} workers died here, the last with code {code}; is the memory enough for as many "
                "workers? Finished shards are kept: continue with --resume"
            )
        self._again.append(task)


def _serve(connection: Connection, work: Callable[[Task], Outcome], inherited: Sequence[Connection], held: Any) -> None:
    """Entry point of a worker process: do tasks until the parent closes the connection or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it and ends this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for other in inherited:
        other.close()
    for descriptor in held:
        os.close(descriptor)
    work.begin()  # type: ignore[attr-defined]
    with suppress(EOFError, OSError):
        while True:
            connection.send(work(connection.recv()))
