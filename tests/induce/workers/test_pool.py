"""Copies of a process do not outlive it, and make none themselves."""

from __future__ import annotations

import os
import signal
import time

import pytest

from induce.workers.pool import in_copies


def test_copies_end_with_a_process_that_is_killed() -> None:
    """Else each killed call would leave some behind, with its memory and the locks that it held."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        list(in_copies(lambda _: os.write(writing, b".") and time.sleep(60), range(2), 2))
    os.close(writing)
    assert os.read(reading, 1) == b"."
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while os.read(reading, 1):  # at its end when the last copy is gone
        pass
    os.close(reading)


def test_a_copy_makes_no_copies() -> None:
    """An ensemble that parses a text for its pupils works in copies, of which each would make as many again."""

    def parents(_: int) -> tuple[int, list[int]]:
        return os.getpid(), list(in_copies(lambda _: os.getpid(), range(3), 2))

    for copy, below in in_copies(parents, range(2), 2):
        assert copy != os.getpid()
        assert below == [copy] * 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_copies_end_with_the_call_that_made_them(number: signal.Signals) -> None:
    """A signal to all of them, as a terminal sends it, ends none of them before that."""
    reading, writing = os.pipe()

    def work(item: int) -> int:
        if item:
            os.write(writing, b".")
            time.sleep(60)
        return os.getpid()

    began = time.monotonic()
    results = in_copies(work, range(3), 2)
    copy = next(results)
    os.close(writing)
    assert os.read(reading, 1) == b"."
    os.kill(copy, number)
    assert os.read(reading, 1) == b"."  # it goes on to the third
    results.close()  # type: ignore[attr-defined]
    assert os.read(reading, 1) == b""
    os.close(reading)
    assert time.monotonic() - began < 30
