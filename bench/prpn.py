"""Time a training step of PRPN against a plain loop over the same equations, and against its matrix products.

``python bench/prpn.py`` prints ratios measured alternately in one process, and writes
``bench/results/prpn.json``. ``--size small|paper`` measures one size. Loss and gradients of the two are compared first.
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
from torch import Tensor  # noqa: E402
from torch.nn import functional  # noqa: E402

from induce.data.batches import StreamBatch  # noqa: E402
from induce.layers.cross_entropy import cross_entropy  # noqa: E402
from induce.layers.dropout import dropped_at  # noqa: E402
from induce.layers.matrix_library import choose_library, multiplying  # noqa: E402
from induce.models.language.prpn import Masks, Prpn, PrpnConfig  # noqa: E402
from induce.models.language.prpn_kernel import StepInputs, StepMasks, attend, remembered, scores  # noqa: E402  # noqa: E402
from induce.models.language.prpn_reading import LayerMasks, ReadingLayer, Tapes  # noqa: E402
from induce.settings.presets import load_preset  # noqa: E402
from tests.support.twins import recurrences as plain  # noqa: E402

SIZES = {"small": ("prpn-small", 27, 5_000), "paper": ("prpn-lm-ptb", 35, 10_000)}  # preset, steps, words


def drawn(model: Prpn, steps: int, batch: int) -> Masks:
    """Dropout masks as the model draws them, completed by masks of ones, which the plain loop needs."""
    masks = model.draw_masks(steps, batch)
    full_mask = torch.ones(model.config.hidden_size)
    reading = [layer if layer.recurrent is not None else layer._replace(recurrent=full_mask) for layer in masks.reading]
    return masks._replace(reading=reading)


def plain_layer(layer: ReadingLayer, x: Tensor, gate: Tensor, tapes: Tapes, masks: LayerMasks) -> Tensor:
    """States (T, B, H) of a reading layer by the plain loop, which also multiplies its input step by step."""
    assert layer.key is not None
    cell, (from_x, from_h) = layer.cell, layer.key.weight.split([x.shape[-1], layer.units], 1)
    from_input, key_from_input = [], []
    for t, step in enumerate(x):
        from_input.append(cell.from_input(dropped_at(t, step, masks.input)) + cell.recurrent_norm.bias)
        key_from_input.append(functional.linear(dropped_at(t, step, masks.key_input), from_x, layer.key.bias))
    weights = (from_h, cell.recurrent.weight, cell.recurrent.bias, cell.recurrent_norm.gain)
    return plain.prpn_recurrence(
        layer.kind,
        StepInputs(
            torch.stack(from_input),
            torch.stack(key_from_input),
            gate,
            *tapes,
            *weights,
            cell.cell_norm.gain,
            cell.cell_norm.bias,
        ),
        StepMasks(masks.key_state, masks.key, masks.recurrent),
    )[0]


def plain_loss(model: Prpn, tokens: Tensor, targets: Tensor, masks: Masks) -> Tensor:
    """Loss by the paper's equations, step by step, for automatic differentiation."""
    steps, batch = tokens.shape
    parsing_state, *tapes = model.initial_state(batch)
    words = functional.embedding(tokens, model.embedding.weight)
    assert model.parsing is not None
    parsing = model.parsing(words, parsing_state, masks.parsing)
    x, read_gate, predict_gate = words, parsing.read_gate.transpose(0, 1), parsing.predict_gate.transpose(0, 1)
    for layer, tape, layer_masks in zip(model.reading, tapes, masks.reading, strict=True):
        x = plain_layer(layer, x, read_gate, tape, layer_masks)
    network, tape, joined = model.predict, tapes[-1].h, []
    assert network.key is not None
    for t in range(steps):
        key = network.key(x[t] * masks.predict.key_input[t]) * masks.predict.key[t]
        weights = attend(scores(tape, key), predict_gate[t])
        joined.append(torch.cat((x[t], remembered(weights, tape)), -1))
        tape = torch.cat((x[t][:, None], tape[:, :-1]), 1)
    rows = network.rows(torch.stack(joined), masks.predict)
    return cross_entropy(rows, model.decoder_weight, model.decoder_bias, targets.flatten())


def products(config: PrpnConfig, words: int, steps: int, batch: int) -> Callable[[], None]:
    """Matrix products of a training step, forward and backward: the minimal work of any implementation."""
    units, size, slots = config.hidden_size, config.embedding_size, config.slots
    rows = steps * batch
    large = [(size * (config.lookback + 1), units)]  # rows times (in, out), for all steps at once
    large += [(inputs, 5 * units) for inputs in (size, *[units] * (config.reading_layers - 1))]
    large += [(units, units), (2 * units, size), (size, words)]
    known = [(torch.randn(rows, below), torch.randn(above, below), torch.randn(rows, above)) for below, above in large]
    few, key, state = torch.randn(batch, units), torch.randn(units, units), torch.randn(4 * units, units)
    many, back = torch.randn(rows, 5 * units), torch.randn(batch, 4 * units)
    tape, weights = torch.randn(batch, slots, 2 * units), torch.randn(batch, 1, slots)
    both = torch.randn(batch, 1, 2 * units)

    def run() -> None:
        for x, weight, gradient in known:
            x @ weight.t()
            gradient @ weight
            gradient.t() @ x
        for _ in range(config.reading_layers):
            for _ in range(steps):
                few @ key.t()  # forward: key, scores, summary, gates
                torch.bmm(both[..., :units], tape[..., :units].mT)
                torch.bmm(weights, tape)
                few @ state.t()
                few @ key  # backward: the same to their inputs
                torch.bmm(both, tape.mT)
                torch.bmm(weights, tape[..., :units])
                torch.bmm(weights, tape)
                torch.bmm(weights, tape[..., :units])
                back @ state
            many.t() @ many[:, :units]

    return run


def same(model: Prpn, tokens: Tensor, targets: Tensor) -> float:
    """Largest difference of losses and gradients in double precision, relative to the largest gradient."""
    model = Prpn(model.config, model.embedding.num_embeddings).double().train()
    torch.manual_seed(2)
    masks = drawn(model, *tokens.shape)
    results = []
    losses = model.loss(StreamBatch(tokens, targets), masks=masks).objective, plain_loss(model, tokens, targets, masks)
    for loss in losses:
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        results.append([loss.detach(), *gradients])
    largest = max(float(gradient.abs().max()) for gradient in results[0][1:])
    return max(float((left - right).abs().max()) for left, right in zip(*results, strict=True)) / largest


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


def training(size: str, rounds: int) -> dict[str, float]:
    """Forward and backward pass over one batch of full length, by this implementation, the plain loop, products."""
    preset, steps, words = SIZES[size]
    config, batch = load_preset(preset), load_preset(preset).loader.batch_size
    torch.manual_seed(1)
    model = Prpn(PrpnConfig(**config.model), words).train()
    tokens, targets = torch.randint(words, (2, steps, batch))
    difference = same(model, tokens[:, :4], targets[:, :4])
    if difference > 1e-9:
        raise SystemExit(f"{size}: the plain loop computes something else (gradients differ by {difference:.1e})")
    segment = StreamBatch(tokens, targets)
    library = choose_library(lambda: model.loss(segment).objective.backward())  # as training would choose
    with multiplying(library):
        seconds = by_turns(
            {
                "prpn": lambda: model.loss(segment, masks=drawn(model, steps, batch)).objective.backward(),
                "plain": lambda: plain_loss(model, tokens, targets, drawn(model, steps, batch)).backward(),
                "products": products(model.config, words, steps, batch),
            },
            rounds,
        )
    print(f"{size}: products by {library}")
    return {
        "prpn words/s": steps * batch / seconds["prpn"],
        "plain loop words/s": steps * batch / seconds["plain"],
        "products words/s": steps * batch / seconds["products"],
        "prpn / plain loop": seconds["plain"] / seconds["prpn"],
        "prpn / products": seconds["products"] / seconds["prpn"],
        "difference of gradients": difference,
    }


def main() -> None:
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
        figures = result[f"train {size}"] = training(size, options.rounds)
        print(f"train, {size}: " + ", ".join(f"{key} {value:,.3g}" for key, value in figures.items()), flush=True)
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "prpn.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
