"""Time the inside algorithm, forward and backward, against the minimal time of its matrix products.

``python bench/pcfg.py [--words 300] [--rounds 3]`` prints a table and writes ``bench/results/pcfg.json``. The floor is
the time of the multiplications and additions of the products, in both passes, at the speed at which this machine
multiplies two square matrices of 1,024 rows. Batches hold sentences of one length. Times are CPU time of one thread.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import torch  # noqa: E402

from induce.models.grammars.full_rules import FullRules  # noqa: E402
from induce.models.grammars.rules import Rules  # noqa: E402
from induce.models.grammars.simple_rules import SimpleRules  # noqa: E402

SIZES = {"full": [(30, 60)], "simple": [(64, 128), (128, 256), (256, 512)]}
LENGTHS = (10, 20, 30, 40)


def operations(kind: str, count: int, size: int, words: int) -> float:
    """Number of additions and multiplications for one sentence of ``count`` words, in both passes."""
    spans = count * (count - 1) / 2
    if kind == "simple":
        return 3 * 2 * (count * words * 2 * size + (spans - 1) * size * 2 * size)
    wide = (count - 3) * (count - 2) / 2  # spans that split into two phrases
    splits = sum((count - width + 1) * (width - 3) for width in range(4, count + 1))
    beside_words = 2 * (spans - (count - 1)) * size**2
    terminal = 2 * count * words * size**2 + (count - 1) * (words**2 * size + words * size)
    return 3 * 2 * (wide * size**3 + splits * size**2 + beside_words + terminal)


def best_of(rounds: int, work: Callable[[], object]) -> float:
    """CPU seconds of the fastest round, after a warm-up."""
    work()
    times = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def random_rules(kind: str, size: int, words: int) -> Rules:
    """Random rules that require gradients."""
    symbols = size + words
    root = torch.randn(size).softmax(-1).requires_grad_()
    if kind == "full":
        return FullRules(root, torch.randn(size, symbols**2).softmax(-1).view(size, symbols, symbols).requires_grad_())
    left, right = (torch.randn(size, symbols).softmax(-1).requires_grad_() for _ in range(2))
    return SimpleRules(root, left, right)


def main() -> None:
    """Print and write the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--words", type=int, default=300, help="words of a batch")
    options.add_argument("--rounds", type=int, default=3)
    arguments = options.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rows = []
    for kind, sizes in SIZES.items():
        for size, words in sizes:
            for count in LENGTHS:
                batch = max(1, arguments.words // count)
                rules = random_rules(kind, size, words)
                emissions = (torch.randn(batch, count, words) - 8).requires_grad_()
                growth = 0.0 if kind == "full" else 1.0
                square = torch.rand(1024, 1024)
                speed = 2 * 1024**3 / best_of(arguments.rounds, lambda square=square: square @ square)
                seconds = best_of(
                    arguments.rounds,
                    lambda: rules.log_partition(emissions, growth=growth).sum().backward(),  # noqa: B023
                )
                floor = batch * operations(kind, count, size, words) / speed
                rows.append({
                    "grammar": kind, "nonterminals": size, "preterminals": words, "length": count,
                    "words a second": batch * count / seconds, "share of the floor": floor / seconds,
                })  # fmt: skip
                print(
                    f"{kind:6s} {size:4d} / {words:4d}, {count:2d} words: {batch * count / seconds:8.0f} words/s, "
                    f"{floor / seconds:4.0%} of the floor ({speed / 1e9:.0f} GFLOP/s)",
                    flush=True,
                )
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "pcfg.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
