"""Speed of Ordered Memory on expressions in batches against one at a time, and the difference of their scores.

The model is untrained, so that every slot is in use, which is the slowest case of both.
"""

from __future__ import annotations

import torch

from bench.common import best_seconds
from induce.data.loaders import BatchSettings
from induce.models.base import Query, make_model
from induce.settings.presets import resolve
from induce.structures import StackDecisions
from induce.tasks.examples import Examples, ExpressionLoader, LabelledBatch
from induce.tasks.listops import ListOps

PRESETS = {"small": "listops-small", "published": "listops"}


def measured(size: str, count: int, rounds: int) -> dict[str, float]:
    """Expressions per second in batches and alone, in testing and training, and the largest difference of scores."""
    config = resolve(purpose="listops", preset=PRESETS[size], settings=["task.longest=30", "model.padding=exact"])
    examples = Examples(ListOps(), ListOps().generate(config.purpose, "test", count))
    vocabulary = examples.vocabulary(0, 0)
    torch.manual_seed(1)
    model = make_model(config, len(vocabulary))
    items = examples.encode(vocabulary)
    batches, alone = (
        list(ExpressionLoader(items, BatchSettings(batch_size=size), device="cpu").check()) for size in (128, 1)
    )

    def scores(batches: list[LabelledBatch]) -> torch.Tensor:
        with torch.inference_mode():
            return torch.cat([model.eval()(batch.tokens, batch.lengths, batch.trees) for batch in batches])

    def slots(batches: list[LabelledBatch]) -> list[list[int]]:
        with torch.inference_mode():
            return [row for batch in batches for row in model.structure(batch, Query(StackDecisions)).rows()]

    def learn(batches: list[LabelledBatch]) -> None:
        model.train().zero_grad()
        for batch in batches:
            model.loss(batch).objective.backward()

    difference = float((scores(batches) - scores(alone)).abs().max())
    same = slots(batches) == slots(alone)
    seconds = best_seconds(
        {
            "testing": lambda: scores(batches),
            "testing alone": lambda: scores(alone),
            "training": lambda: learn(batches),
            "training alone": lambda: learn(alone),
        },
        rounds,
    )
    return {
        "testing, in batches: expressions/s": count / seconds["testing"],
        "testing, in batches : alone": seconds["testing alone"] / seconds["testing"],
        "training, in batches: expressions/s": count / seconds["training"],
        "training, in batches : alone": seconds["training alone"] / seconds["training"],
        "largest difference of scores": difference,
        "same slots": float(same),
    }


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """Figures of one thread for the small model, and unless ``quick`` for that of the paper."""
    torch.set_num_threads(1)
    if quick:
        return {"small": measured("small", 96, 2)}
    return {size: measured(size, 256, 2) for size in PRESETS}
