"""The loss of a model on text that it does not learn from, batch by batch, so that it can be watched and left."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import NamedTuple

import torch

from induce.data.batches import Batch
from induce.models.base import FittedModel, Model
from induce.training.microbatch import whole_or_parts


class TextScore(NamedTuple):
    """Mean negative log-likelihood in nats a target; of a task the accuracy, too."""

    loss: float
    accuracy: float | None


def score_text(model: Model, batches: Iterable[Batch]) -> Generator[int, None, TextScore]:
    """The score of ``batches``. Yields after each how many tokens it had, and may be left there."""
    total, count, state = 0.0, 0, None
    correct: int | None = None
    model.eval()
    for batch in batches:
        with torch.no_grad():  # not around the yield, where others compute
            if isinstance(model, FittedModel):
                loss = model.loss(batch)
            elif batch.carries_state:
                loss = model.loss(batch, state)
                state = loss.state
            else:
                loss = whole_or_parts(model, batch)[0]
        total += float(loss.nll) * loss.count
        count += loss.count
        if loss.correct is not None:
            correct = (correct or 0) + loss.correct
        yield batch.token_count
    return TextScore(total / max(1, count), None if correct is None else correct / max(1, count))
