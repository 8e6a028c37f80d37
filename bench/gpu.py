"""Training and parsing on a GPU beside the processor: words a second, differences of losses, agreement of trees.

``python bench/gpu.py`` takes a model of each kind in the size for a small machine, ``--size paper`` in the published
one, ``--preset NAME`` any; it prints a table and writes ``bench/results/gpu.json``. Each model learns from the test
part of the built-in sample for ``--steps`` steps on the GPU, and is then compared. Where PyTorch finds no GPU it says
so and measures nothing; ``--device cpu`` tries it out.
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
from induce.parsing.parser import ModelParser  # noqa: E402
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
BATCHES = 5  # that are timed


def seconds_of(device: str, run: Callable[[], Any], rounds: int = 3) -> float:
    """Seconds of the best of some rounds after one to warm up, with all that the device was given to do."""
    times = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        run()
        if device != "cpu":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return min(times[1:])


def learned(config: RunConfig, folder: Path, device: str, steps: int, count: int) -> Trainer:
    """A model of ``config`` that has learned from ``count`` sentences of the sample for so many steps."""
    sentences = sample_treebank("test").sentences[:count]
    corpora = read_corpora(sentences, config.data.normalization, token=config.data.token, development_share=0.02)
    trainer = make_trainer(config, *corpora, folder, device=device)
    for _ in trainer.train(stop=lambda: trainer.run.position.step >= steps):
        pass
    return trainer


def training_speed(model: Any, batches: Sequence[Batch], device: str) -> float:
    """Words a second of losses and their gradients."""
    model = model.to(device).train()
    there = [batch.to(device) for batch in batches]

    def learn() -> None:
        for batch in there:
            model.zero_grad(set_to_none=True)
            model.loss(batch).objective.backward()

    return sum(batch.token_count for batch in batches) / seconds_of(device, learn)


@torch.no_grad()
def losses(model: Any, batches: Sequence[Batch], device: str) -> list[float]:
    """The loss of each batch, with nothing drawn at random."""
    model = model.to(device).eval()
    return [float(model.loss(batch.to(device)).nll) for batch in batches]


def trees(parser: ModelParser, text: Iterable[Sequence[str]]) -> list[str]:
    """Trees or heads as text."""
    return [str(one) for one in (parser.parse(text) if parser.output == "trees" else parser.parse_heads(text))]


def parsing(folder: Path, text: Sequence[Sequence[str]], device: str) -> tuple[float, list[str]]:
    """Words a second, and trees."""
    parser = ModelParser(store.read(folder / "last"), device=device)
    seconds = seconds_of(device, lambda: trees(parser, text), rounds=1)
    return sum(map(len, text)) / seconds, trees(parser, text)


def agreement(one: Sequence[str], other: Sequence[str]) -> float:
    """Percent of equal trees."""
    return 100 * sum(a == b for a, b in zip(one, other, strict=True)) / len(one)


def against_lstm(config: RunConfig, model: Any, device: str) -> float:
    """How many times the time of `torch.nn.LSTM` layers of the same sizes a step of ON-LSTM takes."""
    words, size = len(model.embedding.weight), (2, config.loader.segment_length, config.loader.batch_size)
    segment = StreamBatch(*torch.randint(words, size, device=device).unbind())
    model, peer = model.to(device).train(), LstmStack(model.config, words).to(device).train()
    step = seconds_of(device, lambda: model.loss(segment).objective.backward())
    return step / seconds_of(device, lambda: peer.loss(segment.tokens, segment.targets).backward())


def measured(preset: str, device: str, settings: Sequence[str], *, steps: int, count: int) -> dict[str, float]:
    """All figures of one preset, the device's first."""
    config = resolve(preset=preset, settings=settings)
    text = [sentence.words for sentence in sample_treebank("test").sentences[-count:]]
    with TemporaryDirectory() as name:
        trainer = learned(config, Path(name), device, steps, count)
        batches = [step.batch.to("cpu") for step in islice(trainer.run.loader.steps(trainer.run.rng, 0), BATCHES)]
        figures = {
            f"training: words a second, {where}": training_speed(trainer.run.model, batches, where)
            for where in dict.fromkeys((device, "cpu"))
        }
        there, here = losses(trainer.run.model, batches, device), losses(trainer.run.model, batches, "cpu")
        figures["largest difference of losses"] = max(abs(a - b) for a, b in zip(there, here, strict=True))
        speed, away = parsing(Path(name), text, device)
        near_speed, near = parsing(Path(name), text, "cpu")
        figures |= {"parsing: words a second": speed, "parsing: words a second, cpu": near_speed}
        figures["percent of equal trees"] = agreement(away, near)
        if config.model_name == "onlstm":
            figures["a step: times torch.nn.LSTM"] = against_lstm(config, trainer.run.model, device)
    return figures


def main() -> None:
    """Print and write the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--size", choices=list(PRESETS), default="small")
    options.add_argument("--preset", action="append", help="only this one; may be repeated")
    options.add_argument("--steps", type=int, default=200, help="of training before trees are compared")
    options.add_argument("--sentences", type=int, default=500, help="to learn from, and to parse")
    options.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    given = options.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("PyTorch finds no GPU here: nothing was measured (--device cpu tries this program out)")
    torch.backends.cuda.matmul.allow_tf32 = False  # losses are compared in float32
    gpu = torch.cuda.get_device_name() if given.device == "cuda" else "none"
    result: dict[str, Any] = {"machine": describe(), "gpu": gpu}
    for preset in given.preset or PRESETS[given.size]:
        result[preset] = measured(preset, given.device, [], steps=given.steps, count=given.sentences)
        for name, value in result[preset].items():
            print(f"{preset:24s} {name:36s} {value:14,.6g}", flush=True)
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / "gpu.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
