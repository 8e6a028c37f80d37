"""The number of threads of a training: measured, kept in mind, given back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from cli.progress import lines
from induce.training import loop, threads
from induce.training.events import Computing
from induce.training.run import RunRequest, prepare_run
from induce.training.threads import Threads
from tests.support.tiny import SETTINGS

TEXT = "".join(f"word{k} sees the dog\n" for k in range(30))


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> object:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    yield
    torch.set_num_threads(before)


def timed(monkeypatch: pytest.MonkeyPatch, *given: dict[int, float]) -> None:
    """Lets each measurement find what is given, the last one for ever."""
    found = list(given)
    monkeypatch.setattr(threads, "seconds", lambda numbers: found.pop(0) if len(found) > 1 else found[0])


BUSY, FREE, EVEN = {1: 1.0, 2: 9.0}, {1: 2.0, 2: 1.0}, {1: 0.9, 2: 1.0}


def test_fewer_threads_where_they_wait_and_all_again_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    timed(monkeypatch, EVEN, BUSY, EVEN, FREE)
    with Threads() as chosen:
        assert [(chosen.choose(), torch.get_num_threads()) for _ in range(4)] == [
            (False, 2),  # a little faster is not enough
            (True, 1),
            (False, 1),
            (True, 2),
        ]
        timed(monkeypatch, BUSY)
        chosen.choose()
    assert torch.get_num_threads() == 2  # given back


def test_the_number_that_a_user_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    timed(monkeypatch, BUSY)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert not Threads().choose()
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert not Threads(measure=False).choose()
    torch.set_num_threads(1)
    assert not Threads().choose()


@pytest.mark.parametrize(("stored", "first"), [(1, 1), (2, 2), (None, 2), (0, 2), (64, 2), ("1", 2)])
def test_it_begins_with_the_number_of_the_state_that_it_goes_on_from(stored: object, first: int) -> None:
    with Threads(stored) as chosen:
        assert chosen.number == torch.get_num_threads() == first


def test_halves_are_tried() -> None:
    chosen = Threads()
    chosen.most, chosen.number = 12, 5
    assert chosen.candidates() == [1, 3, 5, 6, 12]


def test_what_is_timed_takes_time() -> None:
    times = threads.seconds([1, 2])
    assert set(times) == {1, 2}
    assert all(1e-6 < value < 10 for value in times.values())


def test_a_training_beside_a_busy_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread from the start, recorded, said, logged, and taken up on resume."""
    timed(monkeypatch, BUSY)
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    text = (str(tmp_path / "text.txt"),)
    request = RunRequest(run=str(tmp_path / "run"), text=text, model="onlstm", settings=SETTINGS["onlstm"])
    events = list(prepare_run(request).train())
    (told,) = [event for event in events if isinstance(event, Computing)]
    assert told == Computing(0, 1, 2)
    assert lines(told) == ["note: other programs keep cores busy, so training goes on in 1 of 2 threads"]
    assert lines(Computing(9, 2, 2)) == ["note: the cores are free again, so training goes on in 2 of 2 threads"]
    facts = json.loads((tmp_path / "run" / "last" / "checkpoint.json").read_text(encoding="utf-8"))
    assert facts["threads"] == 1
    assert '"event": "computing"' in (tmp_path / "run" / "log.jsonl").read_text(encoding="utf-8")
    timed(monkeypatch, FREE)
    again = prepare_run(RunRequest(run=str(tmp_path / "run"), resume=True))
    assert again.threads.first == 1
    assert torch.get_num_threads() == 2
