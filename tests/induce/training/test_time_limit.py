"""Calls of training that have to end: the model is kept before it is scored, and scoring itself can be left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from induce.storage import checkpoint
from induce.storage.checkpoint import Check
from induce.training import loop
from induce.training.events import Event, Scoring
from induce.training.loop import Limits
from tests.support.tiny import assert_equal_weights, settings, train, trainer


def broken_off(item: loop.Trainer, checks: int) -> list[Event]:
    """The events of a training that has to end while the development text is scored for the time ``checks`` + 1."""
    batches, begun = item.run.held_out.check, list[bool]()

    def watched() -> Iterator[Any]:
        begun.append(True)
        return batches()

    item.run.held_out.check = watched
    return list(item.train(hurry=lambda: len(begun) > checks))


@pytest.mark.parametrize(("model", "checks"), [("onlstm", 0), ("onlstm", 1), ("npcfg", 0), ("udgn", 0), ("dmv", 0)])
def test_unscored_model_is_stored_and_resumable(tmp_path: Path, checks: int, model: str) -> None:
    config = settings(model) if model == "dmv" else settings(model, "train.epochs=2")
    train(config, tmp_path / "whole")
    events = broken_off(trainer(config, tmp_path / "cut"), checks)
    assert (events[-1].reason, events[-1].scored) == ("interrupted", False)
    assert sum(isinstance(event, Check) for event in events) == checks
    assert checkpoint.find(tmp_path / "cut").name == "model.safetensors"  # parsed with at once, scored or not
    assert (events[-1].best_epoch > 0) == (checks > 0)
    rest = train_on(config, tmp_path / "cut")
    assert rest[-1].scored
    assert_equal_weights(tmp_path / "whole", tmp_path / "cut")


def train_on(config: Any, run: Path) -> list[Event]:
    return list(trainer(config, run, resume=True).train())


def test_long_scoring_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SCORING_SECONDS", -1.0)
    shares = [event.share for event in train(settings("onlstm", "train.epochs=1"), tmp_path) if type(event) is Scoring]
    assert shares == sorted(shares)
    assert shares
    assert 0 < shares[0] <= shares[-1] <= 1


def test_time_limit_includes_scoring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    score_text = loop.score_text

    def slow(*arguments: Any) -> Any:
        scoring = score_text(*arguments)
        while True:
            time.sleep(0.2)
            try:
                yield next(scoring)
            except StopIteration as end:
                return end.value

    monkeypatch.setattr(loop, "score_text", slow)
    began = time.monotonic()
    config = settings("onlstm", "train.epochs=1000000", "loader.development_batch_size=1")
    events = list(trainer(config, tmp_path).train(max_minutes=1 / 60))
    assert time.monotonic() - began < 10
    assert events[-1].reason == "time"
    assert checkpoint.find(tmp_path).name == "model.safetensors"


def test_time_is_reserved_for_scoring() -> None:
    now = time.monotonic()
    limits = Limits(deadline=now + 100, began=now)
    assert 99 < limits.left() <= 100
    limits.expect(30)
    assert 69 < limits.left() <= 70
    limits.expect(60)  # more than half of the time: it is not waited for
    assert 99 < limits.left() <= 100
    assert Limits(deadline=now - 1).ended() == "time"
    assert Limits(deadline=now - 1, stop=lambda: True).ended() == "interrupted"
    assert Limits().ended() == ""
