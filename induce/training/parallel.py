"""Several trainings at a time, each in a worker process that shares the text in the memory of this process."""

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

POLL_SECONDS = 0.3  # between two calls of ``stop``


@dataclass(frozen=True)
class Task:
    """One training. Without ``data`` the worker process reads them itself."""

    name: str
    request: RunRequest
    data: RunData | None = None
    max_minutes: float | None = None


class ParallelTraining:
    """Trainings in worker processes, and a queue of their events."""

    def __init__(self, threads: int, stop: Stop) -> None:
        self.threads, self.stop = threads, stop
        self.context = multiprocessing.get_context("fork")
        self.messages: Any = self.context.Queue()
        self.stopping = self.context.Event()

    def train(self, tasks: Sequence[Task], count: int) -> Iterator[tuple[str, Event]]:
        """Train all, ``count`` at a time, and yield the name of a task with each of its events.

        If a task fails, the others are stopped, their models are stored, and SynparseError is raised.
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
                for topic, name, content in self._receive(active):
                    if topic == "event":
                        yield name, content
                        continue
                    active.pop(name).join()
                    if topic == "problem":
                        problem = problem or f"{name}: {content}"
                        self.stopping.set()
        finally:
            self.stopping.set()
            for process in active.values():
                process.join()
        if problem:
            raise SynparseError(problem)

    def _receive(self, active: dict[str, ForkProcess]) -> Iterator[tuple[str, str, Any]]:
        """Messages since the last call. A process that died without a report yields a "problem"."""
        ended = [name for name, process in active.items() if process.exitcode is not None]
        messages: list[tuple[str, str, Any]] = []
        with suppress(Empty):
            while True:
                messages.append(self.messages.get(timeout=0.01 if messages else POLL_SECONDS))
        yield from messages
        reported = {name for topic, name, _ in messages if topic != "event"}
        for name in ended:
            if name not in reported:
                code = active[name].exitcode
                yield "problem", name, f"the process ended with code {code}; resume with synparse train --resume"

    def _train_one(self, task: Task) -> None:
        """Train one task in a worker process and send its events to the parent."""
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles and reports it
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        torch.set_num_threads(self.threads)
        try:
            trainer = prepare_run(task.request, data=task.data)
            for event in trainer.train(max_minutes=task.max_minutes, stop=self.stopping.is_set):
                self.messages.put(("event", task.name, event))
        except SynparseError as error:
            self.messages.put(("problem", task.name, str(error)))
        except OSError as error:
            problem = f"{error.filename or task.request.run}: {error.strerror or error}"
            self.messages.put(("problem", task.name, problem))
        else:
            self.messages.put(("end", task.name, None))
