"""Pool of worker processes: each idle worker receives a job, and the messages of all jobs are yielded as they arrive.

Workers ignore signals, compute with a fixed number of threads, and end with the pool or when its process dies. They
start no further workers. Threads of libraries are limited here, too.
"""

from __future__ import annotations

import ctypes
import errno
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from treebank.base.errors import SynparseError, out_of_memory
from treebank.base.files import handled

Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[Any], Any]

ENDING_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
POLL_SECONDS = 0.3  # at most, between two calls of ``poll``
BLAS_PREFIXES = ("scipy_openblas", "openblas")  # of the functions of OpenBLAS in NumPy 2 and in NumPy 1

_is_worker = False  # whether this process is a worker


class WorkerDiedError(SynparseError):
    """Death of the workers that did a job."""


@dataclass(frozen=True)
class Message:
    """Message of a job. The last one has the result of the job, or the error that ended it."""

    job: Any
    content: Any = None
    error: Exception | None = None
    last: bool = True


class Pool:
    """Worker processes that call ``work`` with one job at a time, which returns a result or yields messages.

    Workers are forks of this process and share its memory; with ``fork=False`` they start empty, as GPUs require. Each
    computes with ``threads`` threads. The job of a worker that dies is tried by ``attempts`` workers.
    """

    def __init__(self, work: Work, count: int, *, threads: int = 1, attempts: int = 1, fork: bool = True) -> None:
        self.work, self.count, self.threads, self.attempts = work, count, threads, attempts
        self.context: Any = multiprocessing.get_context("fork" if fork and can_fork() else "spawn")
        self._workers: list[_Worker] = []
        self._repeated: list[tuple[Any, int]] = []  # jobs of dead workers, with the number of the next attempt

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.process.kill()
            worker.process.join()

    def run(self, jobs: Iterable[Any], poll: Callable[[], None] = lambda: None) -> Iterator[Message]:
        """The messages of all jobs, and of jobs that an earlier call began. ``poll`` is called regularly."""
        waiting = iter(jobs)
        while True:
            self._hand_out(waiting)
            busy = {worker.connection: worker for worker in self._workers if worker.job}
            if not busy:
                return
            for connection in wait(list(busy), POLL_SECONDS):
                message = self._receive(busy[connection])
                if message:
                    yield message
            poll()

    def run_in_order(self, jobs: Iterable[Any]) -> Iterator[Any]:
        """The result of each job, in the order of the jobs. The error of a job is raised in its position.

        Jobs are taken from ``jobs`` as workers become idle. ``work`` is called with the number and the job.
        """
        finished, following = dict[int, Message](), 0
        for message in self.run(enumerate(jobs)):
            finished[message.job[0]] = message
            while following in finished:
                result = finished.pop(following)
                if result.error:
                    raise result.error
                yield result.content
                following += 1

    def _hand_out(self, jobs: Iterator[Any]) -> None:
        """Give each idle worker a job while there are jobs, and start workers up to their number."""
        idle = [worker for worker in self._workers if not worker.job]
        while idle or len(self._workers) < self.count:
            try:
                job = self._repeated.pop() if self._repeated else (next(jobs), 1)
            except StopIteration:
                return
            if not idle:
                connection, far = self.context.Pipe()
                process = self.context.Process(target=_serve, args=(far, self.work, self.threads), daemon=True)
                with _signals_wait():  # an interruption between these lines would leave a worker that nobody ends
                    try:
                        process.start()
                    except BlockingIOError:
                        raise SynparseError("the system allows no more processes; set OMP_NUM_THREADS") from None
                    self._workers.append(_Worker(process, connection))
                far.close()
                idle = self._workers[-1:]
            worker = idle.pop()
            worker.job = job
            with suppress(OSError):  # the worker died; the receive below detects it
                worker.connection.send(job[0])

    def _receive(self, worker: _Worker) -> Message | None:
        """Message of a worker, or None if it has died and its job is tried again."""
        assert worker.job is not None
        job, attempt = worker.job
        try:
            content, error, last = worker.connection.recv()
        except (EOFError, OSError):
            self._workers.remove(worker)
            worker.process.join()
            if attempt == self.attempts:
                workers = "a worker process" if attempt == 1 else f"{attempt} worker processes"
                return Message(job, error=WorkerDiedError(f"{workers} ended with code {worker.process.exitcode}"))
            self._repeated.append((job, attempt + 1))
            return None
        if last:
            worker.job = None
        return Message(job, content, error, last)


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Delay the signals that end a command until the end of the context. Workers that start in it ignore them.

    Blocked signals may reach another thread, and Python then calls their handlers in the main thread. Such signals are
    recorded and sent again.
    """
    received: list[int] = []
    masks = hasattr(signal, "pthread_sigmask")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS) if masks else set()
    try:
        with handled(dict.fromkeys(ENDING_SIGNALS, lambda number, frame: received.append(number))):
            yield
    finally:
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number in received:
            signal.raise_signal(number)


@dataclass
class _Worker:
    """Worker process with its connection, its job and the number of the attempt."""

    process: Any
    connection: Any
    job: tuple[Any, int] | None = None


def map_in_workers(work: Callable[[Item], Result], items: Sequence[Item], count: int) -> Iterator[Result]:
    """``work`` of each item, in order, in ``count`` workers, or in this process if one is enough.

    Errors in a worker are raised here.
    """
    if count < 2:
        yield from map(work, items)
        return
    with Pool(lambda job: work(items[job[0]]), count) as pool:
        yield from pool.run_in_order(range(len(items)))


def cores() -> int:
    """Number of cores that this process may use, at most OMP_NUM_THREADS if that is set."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(limit)) if limit.isdigit() and int(limit) else available


def worker_count(device: str = "cpu") -> int:
    """Number of worker processes to use: one per core.

    It is 1 if ``device`` is "cuda", if this process is a worker itself, or if the system cannot fork.
    """
    return 1 if device == "cuda" or _is_worker or not can_fork() else cores()


def can_fork() -> bool:
    """Whether this system can fork a process (not Windows)."""
    return "fork" in multiprocessing.get_all_start_methods()


def use_threads(count: int) -> None:
    """Set the number of threads for torch and NumPy in this process and in the processes that it starts."""
    os.environ["OMP_NUM_THREADS"] = str(count)  # read by torch when it is loaded
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(count)


def begin_worker(threads: int = 1) -> None:
    """Make this process a worker that computes with ``threads`` threads."""
    global _is_worker
    _is_worker = True
    use_threads(threads)


def _serve(connection: Any, work: Work, threads: int) -> None:
    """Entry point of a worker process: do jobs until the pool ends it."""
    for number in ENDING_SIGNALS:  # sent to all processes of a terminal; the parent handles them
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    begin_worker(threads)
    with suppress(EOFError, OSError):
        while True:
            for message in messages_of(work, connection.recv()):
                connection.send(message)


def messages_of(work: Work, job: Any) -> Iterator[tuple[Any, Exception | None, bool]]:
    """Content and error of each message of a job, and whether it is the last one. All of them can be sent."""
    result = None
    try:
        result = work(job)
        if isinstance(result, Iterator):
            for content in result:
                yield content, None, False
            result = None
    except Exception as error:
        sent: Exception = RuntimeError("".join(traceback.format_exception(error)))  # a bug, with its traceback
        if isinstance(error, SynparseError):
            sent = SynparseError(str(error))
        elif isinstance(error, OSError):
            sent = OSError(error.errno or errno.EIO, error.strerror or str(error), error.filename)
        elif out_of_memory(error):
            sent = MemoryError()
        yield None, sent, True
    else:
        yield result, None, True


def _exit_with_parent() -> None:
    """End this worker when its parent dies. It would otherwise hold resources such as the lock of a folder."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


class OpenBlas(NamedTuple):
    """Functions of OpenBLAS that return and set its number of threads."""

    threads: Callable[[], int]
    set_threads: Callable[[int], object]


@cache
def openblas() -> OpenBlas | None:
    """The OpenBLAS that the wheel of NumPy contains, or None if it contains none."""
    for path in Path(np.__file__).parent.with_name("numpy.libs").glob("*openblas*"):
        library = ctypes.CDLL(str(path))
        for prefix in BLAS_PREFIXES:
            if hasattr(library, f"{prefix}_set_num_threads64_"):
                get, change = (getattr(library, f"{prefix}_{verb}_num_threads64_") for verb in ("get", "set"))
                return OpenBlas(get, change)
    return None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Multiply matrices in one thread inside the block, in all threads of this process.

    More threads take several times the CPU time for the small matrices of a student, and compete with other worker
    processes. Without effect if NumPy does not use the OpenBLAS of its wheel.
    """
    library = openblas()
    if library is None:
        yield
        return
    before = library.threads()
    library.set_threads(1)
    try:
        yield
    finally:
        library.set_threads(before)
