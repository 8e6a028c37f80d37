"""The loss of a model on text that it does not learn from, batch by batch, so that it can be watched and left."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, NamedTuple

import torch

from induce.data.batches import Batch
from induce.models.base import FittedModel, Loss, Model
from induce.training.distributed import own_part
from induce.training.microbatch import whole_or_parts
from induce.training.process_group import ALONE, ProcessGroup


class TextScore(NamedTuple):
    """Mean negative log-likelihood in nats a target; of a task the accuracy, too."""

    loss: float
    accuracy: float | None


def score_text(model: Model, batches: Iterable[Batch], group: ProcessGroup = ALONE) -> Generator[int, None, TextScore]:
    """The score of ``batches``, of each of which a process of the group takes its part.

    Yields after each how many tokens it had, and may be left there by all at once.
    """
    total, count, correct, state = 0.0, 0, 0, None
    labelled = False
    model.eval()
    for batch in batches:
        part = own_part(group, batch)
        if part is not None:
            with torch.no_grad():  # not around the yield, where others compute
                loss = _loss(model, part, state)
            state = loss.state
            total += float(loss.nll) * loss.count
            count += loss.count
            labelled = loss.correct is not None
            correct += loss.correct or 0
        yield batch.token_count
    total, count_of_all, correct_of_all, labels = group.sums(total, count, correct, labelled)
    return TextScore(total / max(1, count_of_all), correct_of_all / max(1, count_of_all) if labels else None)


def _loss(model: Model, batch: Batch, state: Any) -> Loss:
    if isinstance(model, FittedModel):
        return model.loss(batch)
    return model.loss(batch, state) if batch.carries_state else whole_or_parts(model, batch)[0]
