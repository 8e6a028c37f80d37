"""Time UDGN: a training step against a Transformer of the same width and depth, and its parser against the model.

``python bench/udgn.py`` prints ratios measured alternately in one process, and writes
``bench/results/udgn.json``. ``--size small|paper`` measures one size. Times are CPU times, summed over threads; run it
with OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import torch  # noqa: E402
from torch import nn  # noqa: E402

from induce.data.batches import MaskedBatch  # noqa: E402
from induce.layers.matrix_library import choose_library, multiplying  # noqa: E402
from induce.layers.rounding import BFLOAT16, FLOAT32, computing  # noqa: E402
from induce.models.masked.transformer import Transformer, TransformerConfig  # noqa: E402
from induce.models.masked.udgn import Udgn, UdgnConfig  # noqa: E402
from induce.settings.presets import load_preset  # noqa: E402

LENGTH = 24  # words of a sentence, as in the Wall Street Journal
SIZES = {  # presets of both, words of a step, vocabulary
    "small": ("udgn-small", "transformer-small", 1032, 5_000),
    "paper": ("udgn-ptb", "transformer-ptb", 504, 10_798),
}


def by_turns(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """CPU seconds of the best round of each of ``runs``, measured alternately after a warm-up."""
    for run in runs.values():
        run()
    seconds = dict.fromkeys(runs, math.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds


def multiplications(module: nn.Module) -> int:
    """Number of multiplications per word with the weight matrices of ``module``, without embeddings."""
    tables = {id(layer.weight) for layer in module.modules() if isinstance(layer, nn.Embedding)}
    return sum(
        parameter.numel() for parameter in module.parameters() if parameter.dim() == 2 and id(parameter) not in tables
    )


def measured(size: str, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Words per second of training steps and of parsing, and their ratios."""
    preset, peer_preset, words, vocabulary = SIZES[size]
    torch.manual_seed(1)
    model = Udgn(UdgnConfig(**load_preset(preset).model), vocabulary)
    peer = Transformer(TransformerConfig(**load_preset(peer_preset).model), vocabulary)
    tokens = torch.randint(2, vocabulary, (words // LENGTH, LENGTH))
    lengths = torch.full((len(tokens),), LENGTH)
    batch = MaskedBatch(tokens, lengths, torch.rand(tokens.shape))

    def step(model: Any, precision: str = FLOAT32) -> None:
        with computing(precision, tokens.device):
            objective = model.train().loss(batch).objective
        objective.backward()

    library = choose_library(lambda: step(model))  # as training would choose
    with multiplying(library):
        steps = by_turns(
            {
                "udgn": lambda: step(model),
                "transformer": lambda: step(peer),
                "udgn in bfloat16": lambda: step(model, BFLOAT16),
                "transformer in bfloat16": lambda: step(peer, BFLOAT16),
            },
            rounds,
        )
    model.eval()
    with torch.inference_mode():
        head = model.head_distribution(tokens, lengths)
        passes = by_turns(
            {
                "parser": lambda: model.head_distribution(tokens, lengths),
                "lstm": lambda: model.parser.lstm(model.parser.embedding(tokens)),
                "network": lambda: model(tokens, lengths, head=head),
                "all": lambda: model(tokens, lengths),
            },
            rounds,
        )
    parser, network = multiplications(model.parser), multiplications(model.layers)
    return {
        "udgn words/s": tokens.numel() / steps["udgn"],
        "transformer words/s": tokens.numel() / steps["transformer"],
        "udgn / transformer": steps["transformer"] / steps["udgn"],
        "udgn in bfloat16 / udgn": steps["udgn"] / steps["udgn in bfloat16"],
        "transformer in bfloat16 / transformer": steps["transformer"] / steps["transformer in bfloat16"],
    }, {
        "parser words/s": tokens.numel() / passes["parser"],
        "all words/s": tokens.numel() / passes["all"],
        "parser / all": passes["all"] / passes["parser"],
        "by multiplications with weights": (parser + network) / parser,
        "LSTM's share of the parser's time": passes["lstm"] / passes["parser"],
        "network's share of all time": passes["network"] / passes["all"],
    }


def main() -> None:
    """Print and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=list(SIZES), action="append")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    result: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, "
        f"load {os.getloadavg()[0]:.1f}",
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    print(", ".join(f"{key} {value}" for key, value in result.items()))
    for size in options.size or list(SIZES):
        for part, figures in zip(("train", "parse"), measured(size, options.rounds), strict=True):
            result[f"{part} {size}"] = figures
            print(f"{part}, {size}: " + ", ".join(f"{key} {value:,.3g}" for key, value in figures.items()), flush=True)
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "udgn.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
