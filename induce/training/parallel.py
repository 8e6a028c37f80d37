"""Several trainings at a time, each in a copy of this process, which shares the text in its memory."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.context import ForkProcess
from queue import Empty
from typing import Any

import torch

from induce.training.events import Event
from induce.training.request import RunRequest, Stop
from induce.training.run import prepare_run
from induce.training.run_data import RunData
from treebank.base.errors import SynparseError

PAUSE = 0.3  # seconds between two looks at the user's wish to stop


@dataclass(frozen=True)
class Task:
    """One training; without ``data`` the copy reads them itself."""

    name: str
    request: RunRequest
    data: RunData | None = None
    max_minutes: float | None = None


class ParallelTraining:
    """Runs in copies of this process, some at a time, and what they tell."""

    def __init__(self, threads: int, stop: Stop) -> None:
        self.threads, self.stop = threads, stop
        self.context = multiprocessing.get_context("fork")
        self.told: Any = self.context.Queue()
        self.stopping = self.context.Event()

    def train(self, tasks: Sequence[Task], count: int) -> Iterator[tuple[str, Event]]:
        """Train all, ``count`` at a time; the name of a task and what happened to it, as it happens.

        Raises SynparseError where one fails, after the others were stopped and kept.
        """
        waiting = list(tasks)
        active: dict[str, ForkProcess] = {}
        problem = ""
        try:
            while active or (waiting and not self.stopping.is_set()):
                while waiting and len(active) < count and not self.stopping.is_set():
                    task = waiting.pop(0)
                    active[task.name] = self.context.Process(target=self._train_one, args=(task,))
                    active[task.name].start()
                if self.stop():
                    self.stopping.set()
                for kind, name, content in self._news(active):
                    if kind == "event":
                        yield name, content
                        continue
                    active.pop(name).join()
                    if kind == "problem":
                        problem = problem or f"{name}: {content}"
                        self.stopping.set()
        finally:
            self.stopping.set()
            for process in active.values():
                process.join()
        if problem:
            raise SynparseError(problem)

    def _news(self, active: dict[str, ForkProcess]) -> Iterator[tuple[str, str, Any]]:
        """What came in the last moment; of a process that is no more, and did not say so, that."""
        gone = [name for name, process in active.items() if process.exitcode is not None]
        news: list[tuple[str, str, Any]] = []
        with suppress(Empty):
            while True:
                news.append(self.told.get(timeout=0.01 if news else PAUSE))
        yield from news
        told = {name for kind, name, _ in news if kind != "event"}
        for name in gone:
            if name not in told:
                code = active[name].exitcode
                yield "problem", name, f"the process ended with code {code}; go on with synparse train --resume"

    def _train_one(self, task: Task) -> None:
        """What a copy does."""
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it, and says so
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        torch.set_num_threads(self.threads)
        try:
            trainer = prepare_run(task.request, data=task.data)
            for event in trainer.train(max_minutes=task.max_minutes, stop=self.stopping.is_set):
                self.told.put(("event", task.name, event))
        except SynparseError as error:
            self.told.put(("problem", task.name, str(error)))
        except OSError as error:
            problem = f"{error.filename or task.request.run}: {error.strerror or error}"
            self.told.put(("problem", task.name, problem))
        else:
            self.told.put(("end", task.name, None))
