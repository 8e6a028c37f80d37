"""Time ON-LSTM: training against `torch.nn.LSTM`, parsing against one sentence at a time, memory of parsing.

``python bench/onlstm.py`` prints ratios measured alternately in one process, and writes
``bench/results/onlstm.json``. ``--part train|parse|memory`` measures one part, ``--size small|paper`` one size.

The peer has the same layer sizes, weight dropout (its mask drawn the same way), tied output layer and loss code, and
both multiply by the library that training would choose; only the cell differs. Neither draws any other dropout mask.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from induce.data.batches import StreamBatch  # noqa: E402
from induce.data.vocabulary import BOUNDARY, UNKNOWN, Vocabulary  # noqa: E402
from induce.layers.awd_dropout import dropped_weight  # noqa: E402
from induce.layers.cross_entropy import cross_entropy  # noqa: E402
from induce.layers.dropout import keep_mask  # noqa: E402
from induce.layers.matrix_library import MKL, choose_library, multiplying  # noqa: E402
from induce.layers.rounding import BFLOAT16, FLOAT32, computing  # noqa: E402
from induce.models.language.onlstm import OnLstm, OnLstmConfig  # noqa: E402
from induce.parsing.load import load_parser  # noqa: E402
from induce.parsing.model_parser import ModelParser  # noqa: E402
from induce.parsing.reading import Reading  # noqa: E402
from induce.settings.presets import load_preset  # noqa: E402
from induce.storage import checkpoint  # noqa: E402
from induce.storage.facts import RunFacts  # noqa: E402
from induce.structures import Distances  # noqa: E402
from tests.support.twins import recurrences as plain  # noqa: E402

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
    model = {
        **preset.model,
        "embedding_dropout": 0.0,
        "input_dropout": 0.0,
        "hidden_dropout": 0.0,
        "output_dropout": 0.0,
    }
    return OnLstmConfig(**model), preset.loader.batch_size, preset.loader.segment_length


def by_turns(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Wall-clock seconds of each of ``runs`` in every round, measured alternately after a warm-up."""
    for run in runs.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(seconds: dict[str, list[float]], slow: str, fast: str) -> float:
    """Speed of ``fast`` relative to ``slow``, from the best round of each."""
    return min(seconds[slow]) / min(seconds[fast])


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
    seconds = by_turns(
        {
            "onlstm": lambda: step(library),
            "onlstm by MKL": lambda: step(MKL),
            "onlstm in bfloat16": lambda: step(library, BFLOAT16),
            "lstm": lambda: peer_step(library),
            "lstm by MKL": lambda: peer_step(MKL),
        },
        rounds,
    )
    print(f"{size}: products by {library}")
    return {
        "onlstm words/s": steps * batch / min(seconds["onlstm"]),
        "torch.nn.LSTM words/s": steps * batch / min(seconds["lstm"]),
        "onlstm / torch.nn.LSTM": ratio(seconds, "lstm", "onlstm"),
        "onlstm / torch.nn.LSTM by MKL": ratio(seconds, "lstm by MKL", "onlstm"),
        "onlstm / onlstm by MKL": ratio(seconds, "onlstm by MKL", "onlstm"),
        "onlstm in bfloat16 / onlstm": ratio(seconds, "onlstm", "onlstm in bfloat16"),
        "onlstm in bfloat16 / torch.nn.LSTM by MKL": ratio(seconds, "lstm by MKL", "onlstm in bfloat16"),
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
    """Sentences per second in batches and one at a time, and of a plain loop."""
    with tempfile.TemporaryDirectory() as name:
        make_model(Path(name) / "model", size)
        parser = load_parser(Path(name) / "model", device="cpu")
    text = sentences(count)
    few = text[: max(20, count // 20)]
    seconds = by_turns(
        {
            "batches": lambda: list(parser.parse(text)),
            "one": lambda: one_by_one(parser, few),
            "plain": lambda: plain_loop_one_by_one(parser, few),
        },
        rounds,
    )
    in_batches, alone, plain = (len(text if name == "batches" else few) / min(seconds[name]) for name in seconds)
    return {
        "batches sentences/s": in_batches,
        "one at a time sentences/s": alone,
        "plain loop one at a time sentences/s": plain,
        "batches / one at a time": in_batches / alone,
        "batches / plain loop": in_batches / plain,
    }


def one_by_one(parser: ModelParser, text: list[list[str]]) -> int:
    """Parse each sentence in a call of its own."""
    return sum(1 for words in text for _ in parser.parse([words]))


@torch.inference_mode()
def plain_loop_one_by_one(parser: ModelParser, text: list[list[str]]) -> None:
    """Parse by the paper's equations, step by step through every layer, like the published program."""
    model: OnLstm = parser.model
    scaled = copy.deepcopy(model.stack)
    for layer in scaled:
        layer.recurrent.weight *= 1 - model.config.weight_dropout
    for words in text:
        ids = parser.checkpoint.vocabulary.encode(words)
        x = model.embedding(torch.tensor([[0], *([i] for i in ids), [0]]))
        distances_by_layer = []
        for layer in scaled:
            projected = torch.stack([layer.input(step) + layer.recurrent.bias for step in x])
            start = layer.initial_state(1)
            x, _, distances, _ = plain.onlstm_recurrence(projected, layer.recurrent.weight, *start)
            distances_by_layer.append(distances[1:-1, 0])
        row = distances_by_layer[parser.layer - 1].tolist()
        Reading(words, range(len(words)), Distances, row).tree(parser.decode)


def memory(size: str, counts: tuple[int, ...]) -> dict[str, float]:
    """Peak resident memory (MB) of ``synparse parse`` for each number of sentences in ``counts``."""
    peaks: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        make_model(Path(name) / "model", size)
        block = "".join(" ".join(words) + "\n" for words in sentences(10_000))
        for count in counts:
            path = Path(name) / "text"
            with path.open("w") as stream:
                for _ in range(count // 10_000):
                    stream.write(block)
            peaks[f"{count} sentences, MB"] = _peak([str(path), "-m", f"{name}/model", "-o", f"{name}/trees"])
    values = list(peaks.values())
    peaks["growth"] = values[-1] / values[0]
    return peaks


def _peak(arguments: list[str]) -> float:
    """Peak resident memory (MB) of one call of ``synparse parse``, on Linux.

    The peak of getrusage is inherited from the parent, so it is not used.
    """
    program = (
        "import sys; from cli.main import run; code = run(['parse', *sys.argv[1:]]); "
        "print(open('/proc/self/status').read(), file=sys.stderr); sys.exit(code)"
    )
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True, check=True, text=True
    )
    return int(re.findall(r"VmHWM:\s*(\d+)", done.stderr)[-1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["train", "parse", "memory"], action="append")
    parser.add_argument("--size", choices=list(PRESETS), action="append")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--largest", type=int, default=1_000_000, help="sentences of the larger memory run")
    options = parser.parse_args()
    parts, sizes = options.part or ["train", "parse", "memory"], options.size or list(PRESETS)
    result: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads",
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    print(", ".join(f"{key} {value}" for key, value in result.items()))
    for size in sizes:
        for part in parts:
            if part == "train":
                figures = training(size, options.rounds)
            elif part == "parse":
                figures = parsing(size, options.rounds, 3914 if size == "small" else 800)
            elif size == "small":
                figures = memory(size, (10_000, options.largest))
            else:
                continue
            result[f"{part} {size}"] = figures
            print(f"{part}, {size}: " + ", ".join(f"{key} {value:,.2f}" for key, value in figures.items()), flush=True)
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "onlstm.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
