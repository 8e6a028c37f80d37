"""Speed of UDGN: a training step against a Transformer of the same width and depth, and its parser against the model.

Times are CPU times, summed over threads.
"""

from __future__ import annotations

from typing import Any

import torch

from bench.common import best_seconds
from induce.data.batches import MaskedBatch
from induce.layers.products import BFLOAT16, FLOAT32, choose_library, computing, multiplying
from induce.models.masked.masked_model import Transformer, TransformerConfig
from induce.models.masked.udgn import Udgn, UdgnConfig
from induce.settings.presets import load_preset

LENGTH = 24  # words of a sentence, as in the Wall Street Journal
SIZES = {  # presets of both, words of a step, vocabulary
    "small": ("udgn-small", "transformer-small", 1032, 5_000),
    "paper": ("udgn-ptb", "transformer-ptb", 504, 10_798),
}


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
        steps = best_seconds(
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
        passes = best_seconds(
            {
                "parser": lambda: model.head_distribution(tokens, lengths),
                "all": lambda: model(tokens, lengths),
            },
            rounds,
        )
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
    }


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """Figures of the small model, and unless ``quick`` of that of the paper."""
    figures = {}
    for size in ("small",) if quick else SIZES:
        figures[f"train {size}"], figures[f"parse {size}"] = measured(size, 3)
    return figures
