"""GPU against CPU: ``python -m bench.gpu`` prints speed, differences of losses and agreement of trees as a table.

One model of each type learns from the test part of the built-in sample for ``--steps`` steps on the GPU, and is then
compared. ``--size paper`` takes the published sizes, ``--preset NAME`` any preset. Without a GPU nothing is measured;
``--device cpu`` tests the program itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import torch

from bench.common import best_seconds
from bench.report import markdown
from induce.data.batches import Batch
from induce.data.corpus import read_corpora
from induce.parsing.load import load_parser
from induce.settings.presets import resolve
from induce.training.loop import Trainer
from induce.training.prepare import make_run
from treebank.corpora.sample import sample_treebank

PRESETS = {
    "small": ("onlstm-small", "prpn-small", "ordered-memory-small", "udgn-small", "structformer-small", "npcfg-small"),
    "paper": ("onlstm-ptb", "prpn-up-wsj", "udgn-ptb", "structformer-ptb", "npcfg-ptb", "cpcfg-ptb"),
}
BATCHES = 5  # timed batches
COLUMNS = ["model", "training words/s", "CPU", "parsing words/s", "CPU", "loss difference", "% equal trees"]


def speed(run: Any, words: int, device: str) -> float:
    """Words per second of ``run``, until the device has finished its work."""

    def clock() -> float:
        if device != "cpu":
            torch.cuda.synchronize()
        return perf_counter()

    return words / best_seconds({"run": run}, 3, clock)["run"]


def training(model: Any, batches: Sequence[Batch], device: str) -> tuple[float, list[float]]:
    """Words per second of the loss and its gradients, and the loss of each batch without random numbers."""
    model = model.to(device).train()
    device_batches = [batch.to(device) for batch in batches]

    def learn() -> None:
        for batch in device_batches:
            model.zero_grad(set_to_none=True)
            model.loss(batch).objective.backward()

    rate = speed(learn, sum(batch.token_count for batch in batches), device)
    with torch.no_grad():
        return rate, [float(model.eval().loss(batch).nll) for batch in device_batches]


def parsing(folder: Path, text: Sequence[Sequence[str]], device: str) -> tuple[float, list[str]]:
    """Words per second of parsing, and the trees or heads as text."""
    parser = load_parser(folder, device=device)
    results: list[str] = []

    def parse() -> None:
        predict = parser.parse if parser.output == "trees" else parser.parse_heads
        results[:] = map(str, predict(text))

    return speed(parse, sum(map(len, text)), device), results


def measure(preset: str, device: str, steps: int, count: int) -> list[object]:
    """Row of the table for one preset."""
    config = resolve(preset=preset)
    sentences = sample_treebank("test").sentences
    corpora = read_corpora(
        sentences[:count], config.data.normalization, token=config.data.token, development_share=0.02
    )
    with TemporaryDirectory() as folder:
        trainer = Trainer(make_run(config, *corpora, Path(folder), device=device))
        for _ in trainer.train(stop=lambda: trainer.run.position.step >= steps):
            pass
        batches = [step.batch.to("cpu") for step in islice(trainer.run.loader.steps(trainer.run.rng, 0), BATCHES)]
        rates, losses = zip(
            *(training(trainer.run.model, batches, processor) for processor in (device, "cpu")), strict=True
        )
        text = [sentence.words for sentence in sentences[-count:]]
        parsed, trees = zip(*(parsing(Path(folder), text, processor) for processor in (device, "cpu")), strict=True)
    difference = max(abs(a - b) for a, b in zip(*losses, strict=True))
    equal = 100 * sum(a == b for a, b in zip(*trees, strict=True)) / len(text)
    return [preset, *(f"{rate:,.0f}" for rate in (*rates, *parsed)), f"{difference:.2g}", f"{equal:.1f}"]


def main() -> None:
    """Measure and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--size", choices=list(PRESETS), default="small")
    options.add_argument("--preset", action="append", help="measure only this preset (repeatable)")
    options.add_argument("--steps", type=int, default=200, help="number of training steps before the comparison")
    options.add_argument("--sentences", type=int, default=500, help="number of sentences to learn from and to parse")
    options.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    arguments = options.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("PyTorch finds no GPU: nothing was measured (--device cpu tests this program)")
    torch.backends.cuda.matmul.allow_tf32 = False  # losses are compared in float32
    presets = arguments.preset or PRESETS[arguments.size]
    rows = [measure(preset, arguments.device, arguments.steps, arguments.sentences) for preset in presets]
    print(torch.cuda.get_device_name() if arguments.device == "cuda" else "no GPU", torch.__version__)
    print(markdown(COLUMNS, rows))


if __name__ == "__main__":
    main()
