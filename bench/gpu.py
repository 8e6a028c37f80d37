"""Training and parsing on a GPU against the CPU: words per second, differences of losses, agreement of trees.

``python bench/gpu.py`` measures one model of each type in the size for a small machine, ``--size paper`` in the
published size, ``--preset NAME`` any preset. It prints a table and writes ``bench/results/gpu.json``. Each model learns
from the test part of the built-in sample for ``--steps`` steps on the GPU, and is then compared. If PyTorch finds no
GPU, nothing is measured; ``--device cpu`` tests the program itself.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import torch  # noqa: E402

from bench.machine import describe  # noqa: E402
from bench.onlstm import LstmStack  # noqa: E402
from induce.data.batches import Batch, StreamBatch  # noqa: E402
from induce.data.corpus import read_corpora  # noqa: E402
from induce.parsing.model_parser import ModelParser  # noqa: E402
from induce.settings.presets import resolve  # noqa: E402
from induce.settings.run import RunConfig  # noqa: E402
from induce.storage import checkpoint as store  # noqa: E402
from induce.training.loop import Trainer  # noqa: E402
from induce.training.run import make_trainer  # noqa: E402
from treebank.corpora.sample import sample_treebank  # noqa: E402

PRESETS = {
    "small": ("onlstm-small", "prpn-small", "ordered-memory-small", "udgn-small", "structformer-small", "npcfg-small"),
    "paper": ("onlstm-ptb", "prpn-up-wsj", "udgn-ptb", "structformer-ptb", "npcfg-ptb", "cpcfg-ptb"),
}
BATCHES = 5  # timed batches


def seconds_of(device: str, run: Callable[[], Any], rounds: int = 3) -> float:
    """Wall-clock seconds of the best round after a warm-up, until the device has finished its work."""
    times = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        run()
        if device != "cpu":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return min(times[1:])


def learned(config: RunConfig, folder: Path, device: str, steps: int, count: int) -> Trainer:
    """Trainer of a model of ``config`` after ``steps`` steps on ``count`` sentences of the sample."""
    sentences = sample_treebank("test").sentences[:count]
    corpora = read_corpora(sentences, config.data.normalization, token=config.data.token, development_share=0.02)
    trainer = make_trainer(config, *corpora, folder, device=device)
    for _ in trainer.train(stop=lambda: trainer.run.position.step >= steps):
        pass
    return trainer


def training_speed(model: Any, batches: Sequence[Batch], device: str) -> float:
    """Words per second of the loss and its gradients."""
    model = model.to(device).train()
    device_batches = [batch.to(device) for batch in batches]

    def learn() -> None:
        for batch in device_batches:
            model.zero_grad(set_to_none=True)
            model.loss(batch).objective.backward()

    return sum(batch.token_count for batch in batches) / seconds_of(device, learn)


@torch.no_grad()
def losses(model: Any, batches: Sequence[Batch], device: str) -> list[float]:
    """Loss of each batch, without random numbers."""
    model = model.to(device).eval()
    return [float(model.loss(batch.to(device)).nll) for batch in batches]


def trees(parser: ModelParser, text: Iterable[Sequence[str]]) -> list[str]:
    """Trees or heads of each sentence as text."""
    return [str(result) for result in (parser.parse(text) if parser.output == "trees" else parser.parse_heads(text))]


def parsing(folder: Path, text: Sequence[Sequence[str]], device: str) -> tuple[float, list[str]]:
    """Words per second of parsing, and the trees."""
    parser = ModelParser(store.read(folder / "last"), device=device)
    seconds = seconds_of(device, lambda: trees(parser, text), rounds=1)
    return sum(map(len, text)) / seconds, trees(parser, text)


def agreement(predicted: Sequence[str], reference: Sequence[str]) -> float:
    """Percentage of equal trees."""
    return 100 * sum(a == b for a, b in zip(predicted, reference, strict=True)) / len(predicted)


def against_lstm(config: RunConfig, model: Any, device: str) -> float:
    """Time of a training step of ON-LSTM, relative to `torch.nn.LSTM` layers of the same sizes."""
    words, size = len(model.embedding.weight), (2, config.loader.segment_length, config.loader.batch_size)
    segment = StreamBatch(*torch.randint(words, size, device=device).unbind())
    model, peer = model.to(device).train(), LstmStack(model.config, words).to(device).train()
    step = seconds_of(device, lambda: model.loss(segment).objective.backward())
    return step / seconds_of(device, lambda: peer.loss(segment.tokens, segment.targets).backward())


def measured(preset: str, device: str, settings: Sequence[str], *, steps: int, count: int) -> dict[str, float]:
    """All figures of one preset, those of ``device`` first."""
    config = resolve(preset=preset, settings=settings)
    text = [sentence.words for sentence in sample_treebank("test").sentences[-count:]]
    with TemporaryDirectory() as name:
        trainer = learned(config, Path(name), device, steps, count)
        batches = [step.batch.to("cpu") for step in islice(trainer.run.loader.steps(trainer.run.rng, 0), BATCHES)]
        figures = {
            f"training: words a second, {where}": training_speed(trainer.run.model, batches, where)
            for where in dict.fromkeys((device, "cpu"))
        }
        device_losses, cpu_losses = (
            losses(trainer.run.model, batches, device),
            losses(trainer.run.model, batches, "cpu"),
        )
        figures["largest difference of losses"] = max(
            abs(a - b) for a, b in zip(device_losses, cpu_losses, strict=True)
        )
        speed, device_trees = parsing(Path(name), text, device)
        cpu_speed, cpu_trees = parsing(Path(name), text, "cpu")
        figures |= {"parsing: words a second": speed, "parsing: words a second, cpu": cpu_speed}
        figures["percent of equal trees"] = agreement(device_trees, cpu_trees)
        if config.model_name == "onlstm":
            figures["a step: times torch.nn.LSTM"] = against_lstm(config, trainer.run.model, device)
    return figures


def main() -> None:
    """Print and write the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--size", choices=list(PRESETS), default="small")
    options.add_argument("--preset", action="append", help="measure only this preset (repeatable)")
    options.add_argument("--steps", type=int, default=200, help="number of training steps before the comparison")
    options.add_argument("--sentences", type=int, default=500, help="number of sentences to learn from and to parse")
    options.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    arguments = options.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("PyTorch finds no GPU here: nothing was measured (--device cpu tries this program out)")
    torch.backends.cuda.matmul.allow_tf32 = False  # losses are compared in float32
    gpu = torch.cuda.get_device_name() if arguments.device == "cuda" else "none"
    result: dict[str, Any] = {"machine": describe(), "gpu": gpu}
    for preset in arguments.preset or PRESETS[arguments.size]:
        result[preset] = measured(preset, arguments.device, [], steps=arguments.steps, count=arguments.sentences)
        for name, value in result[preset].items():
            print(f"{preset:24s} {name:36s} {value:14,.6g}", flush=True)
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / "gpu.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
