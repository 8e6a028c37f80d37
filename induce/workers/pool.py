"""Parallel work in forked processes that share the memory of this one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from treebank.base.errors import SynparseError

Item = TypeVar("Item")
Result = TypeVar("Result")

_work: Callable[[Any], Any] | None = None  # work of this worker process


def cores() -> int:
    """Number of cores that this process may use, at most OMP_NUM_THREADS if that is set."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(available, int(limit)) if limit.isdigit() and int(limit) else available


def use_threads(count: int) -> None:
    """Compute with ``count`` threads from here on, in this process and in those that it starts."""
    os.environ["OMP_NUM_THREADS"] = str(count)  # read by torch when it is loaded
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(count)


def can_copy() -> bool:
    """Whether this system can fork a process (not Windows)."""
    return "fork" in multiprocessing.get_all_start_methods()


def in_copies(work: Callable[[Item], Result], items: Iterable[Item], count: int) -> Iterator[Result]:
    """``work`` of each item, in order, in ``count`` forked worker processes, or in this one if one is enough.

    A worker process does not start others. Items and results are sent through pipes; ``work`` and everything that it
    refers to is inherited. Each worker computes in one thread, ignores signals, and ends with the call or with this
    process. A SynparseError in a worker is raised here.
    """
    if count < 2 or not can_copy() or _work is not None:
        yield from map(work, items)
        return
    reading, writing = os.pipe()
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("fork"), _initialize_worker, (work, reading, writing))
    try:
        for result, problem in pool.map(_call, items):
            if problem:
                raise SynparseError(problem)
            yield result
        pool.shutdown()
    finally:
        os.close(writing)  # ends workers that are still busy if this call is interrupted
        pool.shutdown(cancel_futures=True)
        os.close(reading)


def _initialize_worker(work: Callable[[Any], Any], reading: int, writing: int) -> None:
    """Set up a worker process."""
    global _work
    import torch

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.close(writing)  # only the parent keeps this end of the pipe open
    threading.Thread(target=_exit_when_closed, args=(reading,), daemon=True).start()
    torch.set_num_threads(1)
    _work = work


def _exit_when_closed(reading: int) -> None:
    """End this worker when the parent closes its end of the pipe, or is killed.

    Otherwise the worker would continue to hold resources of the parent, such as the lock of a folder.
    """
    os.read(reading, 1)
    os._exit(1)


def _call(item: Any) -> tuple[Any, str]:
    """Process an item in a worker process. Returns the result, and the message of an error or ""."""
    assert _work is not None
    try:
        return _work(item), ""
    except SynparseError as error:
        return None, str(error)
