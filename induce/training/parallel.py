"""Several trainings at a time, each in a worker process that shares the text in the memory of this process."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from induce.training.events import Event
from induce.training.request import RunRequest, Stop
from induce.training.run import prepare_run
from induce.training.run_data import RunData
from induce.workers.pool import Pool, WorkerDiedError
from treebank.base.errors import SynparseError


@dataclass(frozen=True)
class Task:
    """One training. Without ``data`` its process reads them itself."""

    name: str
    request: RunRequest
    data: RunData | None = None
    max_minutes: float | None = None

    def train(self, stop: Stop) -> Iterator[Event]:
        """Train and yield the events."""
        yield from prepare_run(self.request, data=self.data).train(max_minutes=self.max_minutes, stop=stop)


def train_tasks(tasks: Sequence[Task], count: int, stop: Stop, *, threads: int = 1) -> Iterator[tuple[str, Event]]:
    """Train ``count`` tasks at a time, each with ``threads`` threads, and yield the name of a task with each event.

    With a count of 1 the tasks are trained in this process, one after another. After ``stop`` returned true, or if a
    task fails, the models of all others are stored. Raises the error of the first task that fails.
    """
    if count > 1:
        yield from _train_in_workers(tasks, count, stop, threads)
        return
    for task in tasks:
        for event in task.train(stop):
            yield task.name, event
        if stop():
            return


def _train_in_workers(tasks: Sequence[Task], count: int, stop: Stop, threads: int) -> Iterator[tuple[str, Event]]:
    stopping = multiprocessing.get_context("fork").Event()
    failures: list[Exception] = []

    def poll() -> None:
        if failures or stop():
            stopping.set()

    # workers inherit the tasks, whose text is too large to be sent
    with Pool(lambda index: tasks[index].train(stopping.is_set), count, threads=threads) as pool:
        try:
            indices = takewhile(lambda _: not stopping.is_set(), range(len(tasks)))
            for message in pool.run(indices, poll):
                if not message.last:
                    yield tasks[message.job].name, message.content
                elif message.error:
                    failures.append(_located(message.error, tasks[message.job]))
        finally:
            stopping.set()
            list(pool.run(()))  # the models of all tasks are stored
    if failures:
        raise failures[0]


def _located(error: Exception, task: Task) -> Exception:
    """The error of a task with its name, unless it is a bug."""
    if isinstance(error, OSError):
        return SynparseError(f"{task.name}: {error.filename or task.request.run}: {error.strerror or error}")
    remedy = "; continue with --resume" if isinstance(error, WorkerDiedError) else ""
    return SynparseError(f"{task.name}: {error}{remedy}") if isinstance(error, SynparseError) else error
