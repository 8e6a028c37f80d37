"""Time Ordered Memory on expressions in batches against one at a time, and check that both give the same scores.

``python bench/ordered_memory.py`` prints ratios measured alternately in one process, and writes
``bench/results/ordered_memory.json``. ``--size small|published`` measures one size. The model is untrained, so that
every slot is in use, which is the slowest case of both.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import torch  # noqa: E402

from induce.data.loaders import BatchSettings  # noqa: E402
from induce.models.base import Query  # noqa: E402
from induce.models.build import make_model  # noqa: E402
from induce.settings.presets import resolve  # noqa: E402
from induce.structures import StackDecisions  # noqa: E402
from induce.tasks.batches import LabelledBatch  # noqa: E402
from induce.tasks.examples import Examples, encode  # noqa: E402
from induce.tasks.expressions import ExpressionLoader  # noqa: E402
from induce.tasks.listops import ListOps  # noqa: E402

PRESETS = {"small": "listops-small", "published": "listops"}


def best(run: Callable[[], Any], rounds: int) -> float:
    """CPU seconds of the best round."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def measure(size: str, count: int, rounds: int) -> dict[str, float]:
    """Expressions per second in batches and alone, in testing and training, and the largest difference of scores."""
    config = resolve(task="listops", preset=PRESETS[size], settings=["task.longest=30", "model.padding=exact"])
    examples = Examples(ListOps(), ListOps().generate(config.task, "test", count))
    vocabulary = examples.vocabulary(0, 0)
    torch.manual_seed(1)
    model = make_model(config, len(vocabulary))
    items = encode(examples.examples, vocabulary)
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
    testing = best(lambda: scores(batches), rounds), best(lambda: scores(alone), rounds)
    learning = best(lambda: learn(batches), rounds), best(lambda: learn(alone), rounds)
    return {
        "testing, in batches: expressions/s": count / testing[0],
        "testing, in batches : alone": testing[1] / testing[0],
        "training, in batches: expressions/s": count / learning[0],
        "training, in batches : alone": learning[1] / learning[0],
        "largest difference of scores": difference,
        "same slots": float(same),
    }


def main() -> None:
    """Print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=list(PRESETS), action="append")
    parser.add_argument("--count", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    figures = {size: measure(size, options.count, options.rounds) for size in options.size or PRESETS}
    machine = f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, one thread"
    print(machine)
    for size, values in figures.items():
        for name, value in values.items():
            print(f"{size:10s} {name:38s} {value:.4g}")
    (HERE / "results").mkdir(exist_ok=True)
    path = HERE / "results" / "ordered_memory.json"
    path.write_text(json.dumps({"machine": machine, "figures": figures}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
