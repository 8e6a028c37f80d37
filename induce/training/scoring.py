"""Loss of a model on development text, batch by batch, so that it can be watched and aborted."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import NamedTuple

import torch

from induce.data.batches import Batch
from induce.likelihood.units import Units, group_units, mean_nats
from induce.models.base import Model
from induce.training.strategy import Accumulating


class TextScore(NamedTuple):
    """Mean negative log-likelihood in nats per target, and the accuracy of a task."""

    loss: float
    accuracy: float | None


def score_text(model: Model, batches: Iterable[Batch]) -> Generator[int, None, TextScore]:
    """The score of ``batches``. Yields the number of tokens after each batch."""
    units, corrects, state = list[Units](), list[int](), None
    strategy = Accumulating()
    model.eval()
    for batch in batches:
        with torch.no_grad():  # not around the yield, where the caller computes
            loss = strategy.step(model, batch, state)
        state = loss.state if batch.carries_state else None
        units.append(group_units([loss], batch.token_count))
        corrects += [] if loss.correct is None else [loss.correct]
        yield batch.token_count
    mean, count = mean_nats(units)
    return TextScore(mean, sum(corrects) / max(1, count) if corrects else None)
