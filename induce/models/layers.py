"""What two models or more share unchanged: the dropouts of AWD-LSTM around and between recurrent layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from induce.objectives import ranking_loss


def keep(shape: tuple[int, ...], rate: float, device: torch.device) -> Tensor:
    """Boolean mask, true with probability 1 - ``rate`` (to the nearest 1/65536).

    Four entries come from each 64-bit draw: for a matrix of five million entries `torch.bernoulli` takes longer than
    a training step on a small model.
    """
    count = torch.Size(shape).numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64, device=device).random_(-(2**63), None)
    return (draws.view(torch.int16)[:count] >= round(rate * 65536) - 32768).view(shape)


RANKINGS = ("sentence", "column", "batch")


def rank(distances: Tensor, gold: Tensor, tokens: Tensor, ranking: str, margin: float) -> Tensor:
    """How far ``distances`` (T, B) are from the order of ``gold``, NaN where there is none (Du et al. 2020, eq. 18).

    The pairs that are compared lie in one ``sentence`` (the paper), anywhere in one ``column`` of the stream, or side
    by side in the ``batch``, at the same step of different columns (the released program). A sentence ends at token 0.
    """
    if ranking == "batch":
        return ranking_loss(distances, gold, margin=margin)
    groups = (tokens == 0).cumsum(0).t() if ranking == "sentence" else None
    return ranking_loss(distances.t(), gold.t(), groups=groups, margin=margin)


class DropoutRates(Protocol):
    """The five dropouts of AWD-LSTM (Merity et al. 2017, sections 2, 4.2 and 4.3), as settings of a model."""

    @property
    def embedding_dropout(self) -> float: ...
    @property
    def input_dropout(self) -> float: ...
    @property
    def hidden_dropout(self) -> float: ...
    @property
    def output_dropout(self) -> float: ...
    @property
    def weight_dropout(self) -> float: ...


class Masks(NamedTuple):
    """The dropout masks of one segment; all but ``weights`` are already divided by the share kept."""

    embedding: Tensor  # (V, 1)
    input: Tensor  # (1, B, E)
    hidden: list[Tensor]  # (1, B, H) for every layer but the last
    output: Tensor  # (1, B, E)
    weights: list[Tensor]  # the shape of each layer's hidden-to-hidden matrix, true where an entry is kept


def draw_masks(rates: DropoutRates, embedding: Tensor, recurrent: Sequence[Tensor], batch: int) -> Masks:
    """Fresh masks for one segment of ``batch`` streams.

    ``embedding`` (V, E) is the embedding table, ``recurrent`` (rows, H) the hidden-to-hidden matrix of each layer; the
    last layer has E units.
    """

    def scaled(shape: tuple[int, ...], rate: float) -> Tensor:
        return keep(shape, rate, embedding.device).to(embedding.dtype) / (1 - rate)

    words, size = embedding.shape
    return Masks(
        embedding=scaled((words, 1), rates.embedding_dropout),
        input=scaled((1, batch, size), rates.input_dropout),
        hidden=[scaled((1, batch, weight.shape[1]), rates.hidden_dropout) for weight in recurrent[:-1]],
        output=scaled((1, batch, size), rates.output_dropout),
        weights=[keep(weight.shape, rates.weight_dropout, embedding.device) for weight in recurrent],
    )


class LanguageOutput(NamedTuple):
    """What a recurrent language model computes over a segment."""

    output: Tensor  # (T, B, E), after the output dropout
    layers: list[Any]  # what each layer returned: ``hidden`` (T, B, H), ``state`` and more


def run_layers(
    layers: Iterable[Any],
    tokens: Tensor,
    embedding: Tensor,
    state: Sequence[Any],
    weights: Iterable[Tensor],
    masks: Masks | None,
) -> LanguageOutput:
    """The words ``tokens`` (T, B) through as many of the ``layers`` as there are ``weights``, with or without dropout.

    A layer is called with its input, its ``state`` and the hidden-to-hidden matrix that it is to use, and returns what
    has ``hidden`` and ``state``.
    """
    x = functional.embedding(tokens, embedding)
    if masks is not None:
        x = x * masks.embedding[tokens] * masks.input
    outputs: list[Any] = []
    for k, (layer, weight) in enumerate(zip(layers, weights, strict=False)):
        outputs.append(layer(x, state[k], weight))
        x = outputs[-1].hidden
        if masks is not None:
            x = x * (masks.hidden[k] if k < len(masks.hidden) else masks.output)
    return LanguageOutput(x, outputs)
