"""Worker processes: order, messages, errors, death, signals, and the end with their parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from induce.workers.pool import Message, Pool, WorkerDiedError, map_in_workers, worker_count
from treebank.base.errors import SynparseError


def refuse_three(item: int) -> int:
    if item == 3:
        raise SynparseError("three is too many")
    return 2 * item


def test_results_are_in_order_and_errors_are_raised() -> None:
    assert list(map_in_workers(refuse_three, [1, 2, 4, 5], 2)) == [2, 4, 8, 10]
    with pytest.raises(SynparseError, match="three is too many"):
        list(map_in_workers(refuse_three, [1, 2, 3], 2))


def count_up(job: int) -> Iterator[int]:
    for number in range(job):
        yield number
        refuse_three(number + 1)


def test_messages_of_a_job_precede_its_end() -> None:
    with Pool(count_up, 2) as pool:
        messages = list(pool.run([0, 2, 5]))
    assert {job: [m.content for m in messages if m.job == job and not m.last] for job in (0, 2, 5)} == {
        0: [],
        2: [0, 1],
        5: [0, 1, 2],
    }
    assert {m.job: str(m.error) for m in messages if m.last} == {0: "None", 2: "None", 5: "three is too many"}


def test_bug_in_a_worker_is_reported_with_its_traceback() -> None:
    with pytest.raises(RuntimeError, match=r"ZeroDivisionError"):
        list(map_in_workers(lambda item: 1 // item, [1, 0], 2))


def test_job_of_a_dead_worker_is_repeated_and_then_reported() -> None:
    def die(job: int) -> int:
        if job:
            os._exit(job)
        return job

    with Pool(die, 2, attempts=2) as pool:
        messages = {message.job: message for message in pool.run([0, 7])}
    assert messages[0] == Message(0, 0)
    assert isinstance(messages[7].error, WorkerDiedError)
    assert str(messages[7].error) == "2 worker processes ended with code 7"


def test_workers_end_if_their_parent_is_killed() -> None:
    """Otherwise workers of a killed process would keep their memory and its locks."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        list(map_in_workers(lambda _: os.write(writing, b".") and time.sleep(60), range(2), 2))
    os.close(writing)
    assert os.read(reading, 1) == b"."
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while os.read(reading, 1):  # end of file after the last worker has ended
        pass
    os.close(reading)


def test_worker_does_not_start_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A teacher ensemble parses in workers, each of which would otherwise start as many again."""
    monkeypatch.setattr("induce.workers.pool.cores", lambda: 4)
    assert [worker_count(), worker_count("cuda")] == [4, 1]
    assert list(map_in_workers(lambda _: worker_count(), range(2), 2)) == [1, 1]


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
    with closing(map_in_workers(work, [0, 0, 0, 0, 1, 1], 2)) as results:
        worker = next(results)
        os.kill(worker, number)
        assert all(next(results) for _ in range(3))
        os.close(writing)
    while os.read(reading, 1):
        pass
    os.close(reading)
    assert time.monotonic() - began < 30


def test_interruption_at_the_start_of_a_worker_ends_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the program would wait for it at its end, because workers ignore signals.

    The system may give the signal to another thread, in which it is not blocked. A shell that runs the tests in the
    background has made them ignore SIGINT, so the test sets the handler.
    """
    ended = threading.Event()
    threading.Thread(target=ended.wait).start()
    pool = Pool(abs, 1)
    start = pool.context.Process.start

    def start_and_interrupt(process: Any) -> None:
        start(process)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)  # until the other thread has received it

    def run() -> None:
        with pool:
            list(pool.run([1]))

    monkeypatch.setattr(pool.context.Process, "start", start_and_interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.signal(signal.SIGINT, before)
        ended.set()
    assert not multiprocessing.active_children()


def test_workers_can_start_without_the_memory_of_their_parent() -> None:
    """As needed on a GPU, which a fork cannot use."""
    with Pool(abs, 1, fork=False) as pool:
        assert [(message.job, message.content) for message in pool.run([-1, 2])] == [(-1, 1), (2, 2)]
