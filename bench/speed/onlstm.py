"""Speed of ON-LSTM: training against the model `lstm` (`torch.nn.LSTM`), parsing against one sentence at a time.

Both models have the same sizes, weight dropout and loss, and multiply by the library that training would choose; only
the cell differs. Neither draws any other dropout mask.
"""

from __future__ import annotations

import random
import tempfile
import time
from dataclasses import fields
from pathlib import Path

import torch

from bench.common import best_seconds
from induce.data.batches import StreamBatch
from induce.data.vocabulary import BOUNDARY, UNKNOWN, Vocabulary
from induce.layers.products import BFLOAT16, FLOAT32, MKL, choose_library, computing, multiplying
from induce.models.language.lstm import Lstm
from induce.models.language.next_word_model import AwdConfig, AwdModel
from induce.models.language.onlstm import OnLstm, OnLstmConfig
from induce.parsing.load import load_parser
from induce.parsing.model_parser import ModelParser
from induce.settings.presets import load_preset
from induce.storage import checkpoint
from induce.storage.checkpoint import RunFacts

PRESETS = {"small": "onlstm-small", "paper": "onlstm-ptb"}
WORDS = 10_000
OTHER_DROPOUTS = ("embedding_dropout", "input_dropout", "hidden_dropout", "output_dropout")


def training(size: str, rounds: int) -> dict[str, float]:
    """Words per second of a forward and a backward pass over one segment, and ratios to the peer."""
    preset = load_preset(PRESETS[size])
    config = OnLstmConfig(**{**preset.model, **dict.fromkeys(OTHER_DROPOUTS, 0.0)})
    shared = {field.name: getattr(config, field.name) for field in fields(AwdConfig)}
    batch, steps = preset.loader.batch_size, preset.loader.segment_length
    torch.manual_seed(1)
    model, peer = OnLstm(config, WORDS).train(), Lstm(AwdConfig(**shared), WORDS).train()
    segment = StreamBatch(*torch.randint(WORDS, (2, steps, batch)).unbind())

    def step(by: str, precision: str = FLOAT32, trained: AwdModel = model) -> None:
        with multiplying(by):
            with computing(precision, segment.tokens.device):
                objective = trained.loss(segment).objective
            objective.backward()

    library = choose_library(lambda: step(MKL))
    seconds = best_seconds(
        {
            "onlstm": lambda: step(library),
            "onlstm by MKL": lambda: step(MKL),
            "onlstm in bfloat16": lambda: step(library, BFLOAT16),
            "lstm": lambda: step(library, trained=peer),
            "lstm by MKL": lambda: step(MKL, trained=peer),
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
    checkpoint.save(folder / "model.safetensors", checkpoint.pack(model, preset, vocabulary, RunFacts()))


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
