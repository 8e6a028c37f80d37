"""Masks of dropout and of padding: dropout masks that cost little to draw, the dropouts and activation penalties of
AWD-LSTM (Merity et al. 2017), padded batches and recurrences over them, and pieces of long sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

LONGEST_PIECE = 400  # words; grammars parse longer sentences in pieces


def keep_mask(shape: tuple[int, ...], rate: float, device: torch.device) -> Tensor:
    """Boolean mask, true with probability 1 - ``rate`` (to the nearest 1/65536).

    Four entries come from each 64-bit draw: for a matrix of five million entries `torch.bernoulli` takes longer than
    a training step on a small model.
    """
    count = torch.Size(shape).numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64, device=device).random_(-(2**63), None)
    return (draws.view(torch.int16)[:count] >= round(rate * 65536) - 32768).view(shape)


def scaled_mask(like: Tensor, rate: float, *shape: int) -> Tensor | None:
    """A dropout mask, divided by the share kept, of the type and on the device of ``like``, or None if all are kept."""
    return keep_mask(shape, rate, like.device).to(like.dtype).div_(1 - rate) if rate else None


def dropped(x: Tensor, mask: Tensor | None) -> Tensor:
    """``x`` under a dropout mask, if there is one."""
    return x if mask is None else x * mask


def dropped_at(step: int, x: Tensor, mask: Tensor | None) -> Tensor:
    """``x`` of one step under the mask of all."""
    return x if mask is None else x * mask[step]


class FastDropout(nn.Module):
    """Dropout with these masks, for layers that draw one at every step."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """``x``, with dropout in training."""
        return dropped(x, scaled_mask(x, self.rate, *x.shape)) if self.training else x


class Masks(NamedTuple):
    """The dropout masks of one segment. All but ``weights`` are already divided by the share kept."""

    embedding: Tensor  # (V, 1)
    input: Tensor  # (1, B, E)
    hidden: list[Tensor]  # (1, B, H) for every layer but the last
    output: Tensor  # (1, B, units of the last layer)
    weights: list[Tensor]  # the shape of each layer's hidden-to-hidden matrix, true where an entry stays


def draw_masks(rates: Any, embedding: Tensor, recurrent: Sequence[Tensor], batch: int) -> Masks:
    """Fresh masks for one segment of ``batch`` streams (Merity et al. 2017, sections 2, 4.2 and 4.3).

    ``rates`` has the rates of the dropouts, such as ``input_dropout``. ``embedding`` (V, E) is the embedding table,
    ``recurrent`` (rows, H) the hidden-to-hidden matrix of each layer.
    """

    def scaled(shape: tuple[int, ...], rate: float) -> Tensor:
        return keep_mask(shape, rate, embedding.device).to(embedding.dtype) / (1 - rate)

    words, size = embedding.shape
    return Masks(
        embedding=scaled((words, 1), rates.embedding_dropout),
        input=scaled((1, batch, size), rates.input_dropout),
        hidden=[scaled((1, batch, weight.shape[1]), rates.hidden_dropout) for weight in recurrent[:-1]],
        output=scaled((1, batch, recurrent[-1].shape[1]), rates.output_dropout),
        weights=[keep_mask(weight.shape, rates.weight_dropout, embedding.device) for weight in recurrent],
    )


def dropped_weight(weight: Tensor, rate: float, mask: Tensor | None) -> Tensor:
    """``weight`` with the entries set to 0 where ``mask`` is false. Without a mask, ``weight`` times 1 - ``rate``.

    As in the released program: AWD-LSTM divides by 1 - rate in training instead, so that trained matrices of the two
    differ by that factor.
    """
    if mask is not None:
        return weight * mask
    return weight * (1 - rate) if rate else weight


def activation_penalty(last: Tensor, alpha: float) -> Tensor:
    """``alpha`` times the mean square of ``last`` (T, B, H) (AR. Merity et al. 2017, section 4.6)."""
    return alpha * last.pow(2).mean()


def temporal_activation_penalty(last: Tensor, beta: float) -> Tensor:
    """``beta`` times the mean square step of ``last`` (T, B, H) in time (TAR. Merity et al. 2017, section 4.6).

    0 for a segment of one step, which has no differences.
    """
    return beta * (last[1:] - last[:-1]).pow(2).mean() if len(last) > 1 else last.new_zeros(())


def real_words(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Boolean mask (B, N), false at padding."""
    return torch.arange(tokens.shape[1], device=tokens.device) < lengths.to(tokens.device)[:, None]


def last_real(output: Tensor, lengths: Tensor) -> Tensor:
    """The outputs (R, D) of ``output`` (T, R, D) at the last of ``lengths`` (R,) steps."""
    rows = torch.arange(len(lengths), device=output.device)
    return output[lengths.to(output.device) - 1, rows]


def lstm_states(lstm: nn.LSTM, x: Tensor, lengths: Tensor) -> Tensor:
    """States (B, N, H) of an LSTM over the words ``x`` (B, N, E) of padded sentences. An empty one counts as a word."""
    packed = pack_padded_sequence(x, lengths.cpu().clamp(min=1), batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=x.shape[1])[0]


def pieces(count: int) -> list[tuple[int, int]]:
    """Start and end of pieces of similar length and at most `LONGEST_PIECE` words that cover ``count`` words."""
    number = -(-count // LONGEST_PIECE)
    ends = [count * k // number for k in range(number + 1)]
    return list(pairwise(ends))
