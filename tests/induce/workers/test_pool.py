"""Worker processes end with their parent and do not start further workers."""

from __future__ import annotations

import os
import signal
import time

import pytest

from induce.workers.pool import in_copies


def test_workers_end_if_their_parent_is_killed() -> None:
    """Otherwise workers of a killed process would keep their memory and its locks."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        list(in_copies(lambda _: os.write(writing, b".") and time.sleep(60), range(2), 2))
    os.close(writing)
    assert os.read(reading, 1) == b"."
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while os.read(reading, 1):  # end of file after the last worker has ended
        pass
    os.close(reading)


def test_worker_does_not_start_workers() -> None:
    """A teacher ensemble parses in workers, each of which would otherwise start as many again."""

    def parents(_: int) -> tuple[int, list[int]]:
        return os.getpid(), list(in_copies(lambda _: os.getpid(), range(3), 2))

    for worker, nested in in_copies(parents, range(2), 2):
        assert worker != os.getpid()
        assert nested == [worker] * 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_workers_ignore_signals_and_end_with_their_iterator(number: signal.Signals) -> None:
    """A signal to all workers, as sent by a terminal, does not end them before that."""
    reading, writing = os.pipe()

    def work(item: int) -> int:
        if item:
            os.write(writing, b".")
            time.sleep(60)
        return os.getpid()

    began = time.monotonic()
    results = in_copies(work, range(3), 2)
    worker = next(results)
    os.close(writing)
    assert os.read(reading, 1) == b"."
    os.kill(worker, number)
    assert os.read(reading, 1) == b"."  # the worker continues with the third item
    results.close()  # type: ignore[attr-defined]
    assert os.read(reading, 1) == b""
    os.close(reading)
    assert time.monotonic() - began < 30
