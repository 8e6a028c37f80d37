"""How much of a grammar's work is done, by a clock of our own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from induce.models.em import progress as forecast
from induce.models.em.progress import Forecast, cubes
from induce.training.events import Event, Progress
from tests.support.tiny import settings, trainer


def test_the_share_of_the_time_that_everything_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two members: each takes ten seconds to begin, a pass in the first stage one second, in the second four."""
    now = 0.0
    monkeypatch.setattr(forecast.time, "monotonic", lambda: now)
    work, seconds = [5.0, 5.0, 20.0], [1.0, 1.0, 4.0]
    made, whole, done = Forecast(work, 2), 2 * (10 + sum(seconds)), 0
    for _ in range(2):
        now += 10
        made.began_one()
        for number, spent in enumerate(seconds):
            now += spent
            made.learned_in(number)
            done += 1
            assert made.share(done) == pytest.approx(now / whole)
    assert made.share(done) == pytest.approx(1.0)


def test_the_work_of_stages() -> None:
    lengths = np.array([2, 2, 3, 10])
    assert cubes(lengths, [(3, 2), (40, 1)], 100) == [44.0, 44.0, 1044.0]
    assert cubes(lengths, [(1, 1), (3, 1)], 2) == pytest.approx([1.0, 43 * 2 / 3 + 1])  # a sample of two; none so short


def test_a_training_tells_the_time_that_is_left(tmp_path: Path) -> None:
    events: list[Event] = list(trainer(settings("dmv"), tmp_path / "run").train())
    left = [event.seconds_left for event in events if isinstance(event, Progress)]
    shares = [event.share for event in events if isinstance(event, Progress)]
    assert all(0 < share < 1 for share in shares[:-1])
    assert shares[-1] == pytest.approx(1.0)
    assert left[-1] == pytest.approx(0.0, abs=1e-6)
