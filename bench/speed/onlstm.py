"""Speed of ON-LSTM: training against `torch.nn.LSTM`, parsing against one sentence at a time.

The peer has the same layer sizes, weight dropout (its mask drawn the same way), tied output layer and loss code, and
both multiply by the library that training would choose; only the cell differs. Neither draws any other dropout mask.
"""

from __future__ import annotations

import random
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor, nn

from bench.common import best_seconds
from induce.data.batches import StreamBatch
from induce.data.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
from induce.layers.awd_dropout import dropped_weight
from induce.layers.cross_entropy import cross_entropy
from induce.layers.dropout import keep_mask
from induce.layers.matrix_library import MKL, choose_library, multiplying
from induce.layers.rounding import BFLOAT16, FLOAT32, computing
from induce.models.language.onlstm import OnLstm, OnLstmConfig
from induce.parsing.load import load_parser
from induce.parsing.model_parser import ModelParser
from induce.settings.presets import load_preset
from induce.storage import checkpoint
from induce.storage.facts import RunFacts

PRESETS = {"small": "onlstm-small", "paper": "onlstm-ptb"}
WORDS = 10_000


class LstmStack(nn.Module):
    """The peer: `torch.nn.LSTM` layers of the same sizes with weight dropout and a tied output layer."""

    def __init__(self, config: OnLstmConfig, vocabulary: int) -> None:
        super().__init__()
        sizes = [config.embedding_size] + [config.hidden_size] * (config.layers - 1) + [config.embedding_size]
        self.config = config
        self.embedding = nn.Embedding(vocabulary, config.embedding_size)
        self.layers = nn.ModuleList(nn.LSTM(below, units) for below, units in pairwise(sizes))
        self.decoder_bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, tokens: Tensor, *, layers: int | None = None) -> Tensor:
        """Outputs (T, B, H) of the last of the first ``layers`` layers, from zero states."""
        x = self.embedding(tokens)
        for layer in list(self.layers)[:layers]:
            weight = layer.weight_hh_l0
            mask = keep_mask(weight.shape, self.config.weight_dropout, weight.device) if self.training else None
            weight = dropped_weight(weight, self.config.weight_dropout, mask)
            zeros = x.new_zeros(1, x.shape[1], weight.shape[1])
            weights = [layer.weight_ih_l0, weight, layer.bias_ih_l0, layer.bias_hh_l0]
            x, _, _ = torch._VF.lstm(x, (zeros, zeros), weights, True, 1, 0.0, self.training, False, False)
        return x

    def loss(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Mean NLL in nats per token."""
        hidden = self(tokens).flatten(0, 1)
        return cross_entropy(hidden, self.embedding.weight, self.decoder_bias, targets.flatten())


def config_of(size: str) -> tuple[OnLstmConfig, int, int]:
    """Model settings with weight dropout only, batch size, and steps of a preset."""
    preset = load_preset(PRESETS[size])
    dropouts = dict.fromkeys(("embedding_dropout", "input_dropout", "hidden_dropout", "output_dropout"), 0.0)
    return OnLstmConfig(**{**preset.model, **dropouts}), preset.loader.batch_size, preset.loader.segment_length


def training(size: str, rounds: int) -> dict[str, float]:
    """Words per second of a forward and a backward pass over one segment, and ratios to the peer."""
    config, batch, steps = config_of(size)
    torch.manual_seed(1)
    model, peer = OnLstm(config, WORDS).train(), LstmStack(config, WORDS).train()
    segment = StreamBatch(*torch.randint(WORDS, (2, steps, batch)).unbind())

    def step(by: str, precision: str = FLOAT32) -> None:
        with multiplying(by):
            with computing(precision, segment.tokens.device):
                objective = model.loss(segment).objective
            objective.backward()

    def peer_step(by: str) -> None:
        with multiplying(by):
            peer.loss(segment.tokens, segment.targets).backward()

    library = choose_library(lambda: step(MKL))
    seconds = best_seconds(
        {
            "onlstm": lambda: step(library),
            "onlstm by MKL": lambda: step(MKL),
            "onlstm in bfloat16": lambda: step(library, BFLOAT16),
            "lstm": lambda: peer_step(library),
            "lstm by MKL": lambda: peer_step(MKL),
        },
        rounds,
        clock=time.perf_counter,
    )
    return {
        "onlstm words/s": steps * batch / seconds["onlstm"],
        "torch.nn.LSTM words/s": steps * batch / seconds["lstm"],
        "onlstm / torch.nn.LSTM": seconds["lstm"] / seconds["onlstm"],
        "onlstm / torch.nn.LSTM by MKL": seconds["lstm by MKL"] / seconds["onlstm"],
        "onlstm / onlstm by MKL": seconds["onlstm by MKL"] / seconds["onlstm"],
        "onlstm in bfloat16 / onlstm": seconds["onlstm"] / seconds["onlstm in bfloat16"],
        "onlstm in bfloat16 / torch.nn.LSTM by MKL": seconds["lstm by MKL"] / seconds["onlstm in bfloat16"],
    }


def make_model(folder: Path, size: str) -> None:
    """Save an untrained model of a preset's size. Its speed is that of a trained one."""
    preset = load_preset(PRESETS[size])
    vocabulary = Vocabulary([BOUNDARY, UNKNOWN, *(f"w{letters(i)}" for i in range(WORDS - 2))])
    torch.manual_seed(1)
    model = OnLstm(OnLstmConfig(**preset.model), len(vocabulary))
    checkpoint.save(folder, checkpoint.pack(model, preset, vocabulary, RunFacts()))


def letters(number: int) -> str:
    """Word without digits, because normalization replaces digits."""
    return "".join(chr(97 + int(digit)) for digit in str(number))


def sentences(count: int, seed: int = 1) -> list[list[str]]:
    """Sentences of the lengths of newspaper text (mean 21, at most 80), all words known."""
    draw = random.Random(seed)
    lengths = [max(1, min(80, round(draw.gammavariate(3.2, 6.6)))) for _ in range(count)]
    return [[f"w{letters(draw.randrange(WORDS - 2))}" for _ in range(length)] for length in lengths]


def parsing(size: str, rounds: int, count: int) -> dict[str, float]:
    """Sentences per second in batches and one at a time."""
    with tempfile.TemporaryDirectory() as name:
        make_model(Path(name) / "model", size)
        parser = load_parser(Path(name) / "model", device="cpu")
    text = sentences(count)
    few = text[: max(20, count // 20)]
    seconds = best_seconds(
        {
            "batches": lambda: list(parser.parse(text)),
            "one": lambda: one_by_one(parser, few),
        },
        rounds,
        clock=time.perf_counter,
    )
    in_batches, alone = (len(text if name == "batches" else few) / seconds[name] for name in seconds)
    return {
        "batches sentences/s": in_batches,
        "one at a time sentences/s": alone,
        "batches / one at a time": in_batches / alone,
    }


def one_by_one(parser: ModelParser, text: list[list[str]]) -> int:
    """Parse each sentence in a call of its own."""
    return sum(1 for words in text for _ in parser.parse([words]))


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """Figures of the small model, and unless ``quick`` of that of the paper."""
    figures = {}
    for size in ("small",) if quick else PRESETS:
        figures[f"train {size}"] = training(size, 2 if quick else 3)
        figures[f"parse {size}"] = parsing(size, 2, 400 if quick or size == "paper" else 2000)
    return figures
