"""Speed of a training step of PRPN against a plain loop over the same equations, whose loss and gradients agree."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from bench.common import best_seconds
from induce.data.batches import StreamBatch
from induce.layers.cross_entropy import cross_entropy
from induce.layers.products import choose_library, multiplying
from induce.models.language.prpn import Prpn, PrpnConfig, PrpnMasks
from induce.models.language.prpn_kernel import attend, scores
from induce.settings.presets import load_preset
from tests.support.twins import recurrences as plain

SIZES = {"small": ("prpn-small", 27, 5_000), "paper": ("prpn-lm-ptb", 35, 10_000)}  # preset, steps, words


def drawn(model: Prpn, steps: int, batch: int) -> PrpnMasks:
    """Dropout masks as the model draws them, completed by masks of ones, which the plain loop needs."""
    masks = model.draw_masks(steps, batch)
    full_mask = torch.ones(model.config.hidden_size)
    reading = [layer if layer.recurrent is not None else layer._replace(recurrent=full_mask) for layer in masks.reading]
    return masks._replace(reading=reading)


def plain_loss(model: Prpn, tokens: Tensor, targets: Tensor, masks: PrpnMasks) -> Tensor:
    """Loss by the paper's equations, step by step, for automatic differentiation."""
    steps, batch = tokens.shape
    parsing_state, *tapes = model.initial_state(batch)
    words = functional.embedding(tokens, model.embedding.weight)
    assert model.parsing is not None
    parsing = model.parsing(words, parsing_state, masks.parsing)
    x, read_gate, predict_gate = words, parsing.read_gate.transpose(0, 1), parsing.predict_gate.transpose(0, 1)
    for layer, tape, layer_masks in zip(model.reading, tapes, masks.reading, strict=True):
        x, *_ = plain.prpn_layer(layer, x, read_gate, tape, layer_masks)
    network, tape, joined = model.predict, tapes[-1].h, []
    assert network.key is not None
    for t in range(steps):
        key = network.key(x[t] * masks.predict.key_input[t]) * masks.predict.key[t]
        weights = attend(scores(tape, key), predict_gate[t])
        summary = (weights[..., None, :] @ tape)[..., 0, :]
        joined.append(torch.cat((x[t], summary), -1))
        tape = torch.cat((x[t][:, None], tape[:, :-1]), 1)
    rows = network.rows(torch.stack(joined), masks.predict)
    return cross_entropy(rows, model.decoder_weight, model.decoder_bias, targets.flatten())


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


def training(size: str, rounds: int) -> dict[str, float]:
    """Forward and backward pass over one batch of full length, by this implementation and by the plain loop."""
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
        seconds = best_seconds(
            {
                "prpn": lambda: model.loss(segment, masks=drawn(model, steps, batch)).objective.backward(),
                "plain": lambda: plain_loss(model, tokens, targets, drawn(model, steps, batch)).backward(),
            },
            rounds,
        )
    return {
        "prpn words/s": steps * batch / seconds["prpn"],
        "plain loop words/s": steps * batch / seconds["plain"],
        "prpn / plain loop": seconds["plain"] / seconds["prpn"],
        "difference of gradients": difference,
    }


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """Figures of the small model, and unless ``quick`` of that of the paper."""
    return {f"train {size}": training(size, 3) for size in (("small",) if quick else SIZES)}
