"""Masks of padded batches, recurrences over them, and pieces of long sentences."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

LONGEST_PIECE = 400  # words; grammars parse longer sentences in pieces


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
