"""Jobs of several trainings, each in a worker process that shares the text in the memory of this process.

A job stores its request and the digests of its texts in a metadata file. Each of its trainings is an ordinary run.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from induce.storage.outputs import has_begun
from induce.training.events import Event
from induce.training.prepare import RunData, prepare_run
from induce.training.request import RunRequest, Stop, is_changeable
from induce.training.state import check_text
from induce.workers.pool import Pool, WorkerDiedError
from treebank.base.errors import SynparseError


@dataclass(kw_only=True)
class StoredJob:
    """Fields that the metadata files of all jobs have."""

    request: RunRequest  # as `RunRequest.stored` returns it
    text_sha256: str = ""  # of the training text, "" if it has not been read
    dev_sha256: str = ""  # of the development text

    def check_texts(self, folder: Path, data: RunData) -> None:
        """Raises SynparseError if ``data`` are not the texts and trees that the job in ``folder`` began with."""
        source = data.facts.learned_from
        check_text(folder, "training", data.training.sha256, self.text_sha256, source)
        check_text(folder, "development", data.development.sha256, self.dev_sha256, source)


def part_request(request: RunRequest, changes: Sequence[str] = ()) -> RunRequest:
    """``request`` of a new run or, if the job is resumed and the run has begun, one that resumes the run.

    A resumed run keeps its settings, except for the ``changes`` that it can take.
    """
    if not (request.resume and has_begun(Path(request.run))):
        return replace(request, resume=False)
    paths = {name: getattr(request, name) for name in ("run", "text", "dev", "teachers", "device")}
    return RunRequest(resume=True, settings=tuple(filter(is_changeable, changes)), **paths)


@dataclass(frozen=True)
class Training:
    """One training. Without ``data`` its process reads them itself."""

    name: str
    request: RunRequest
    data: RunData | None = None
    max_minutes: float | None = None

    def train(self, stop: Stop) -> Iterator[Event]:
        """Train and yield the events."""
        yield from prepare_run(self.request, data=self.data).train(max_minutes=self.max_minutes, stop=stop)

    def located(self, error: Exception) -> Exception:
        """``error`` with the name of the training, unless it is a bug."""
        if isinstance(error, OSError):
            return SynparseError(f"{self.name}: {error.filename or self.request.run}: {error.strerror or error}")
        remedy = "; continue with --resume" if isinstance(error, WorkerDiedError) else ""
        return SynparseError(f"{self.name}: {error}{remedy}") if isinstance(error, SynparseError) else error


def train_all(
    trainings: Sequence[Training], count: int, stop: Stop, *, threads: int = 1
) -> Iterator[tuple[str, Event]]:
    """Train ``count`` models at a time, each with ``threads`` threads. Yield the name of a training with each event.

    With a count of 1, the models are trained in this process, one after another. After ``stop`` returned true, or if a
    training fails, all other models are stored. Raises the error of the first training that fails.
    """
    if count == 1:
        for training in trainings:
            for event in training.train(stop):
                yield training.name, event
            if stop():
                return
        return
    stopping = multiprocessing.get_context("fork").Event()
    failures: list[Exception] = []

    def poll() -> None:
        if failures or stop():
            stopping.set()

    # workers inherit the trainings, whose text is too large to be sent
    with Pool(lambda index: trainings[index].train(stopping.is_set), count, threads=threads) as pool:
        try:
            indices = takewhile(lambda _: not stopping.is_set(), range(len(trainings)))
            for message in pool.run(indices, poll):
                if not message.last:
                    yield trainings[message.job].name, message.content
                elif message.error:
                    failures.append(trainings[message.job].located(message.error))
        finally:
            stopping.set()
            list(pool.run(()))  # the models of all trainings are stored
    if failures:
        raise failures[0]
