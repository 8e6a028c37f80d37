"""CRvNN, a continuous recursive network (Chowdhury and Caragea 2021): all words merge at once, each to some degree.

Read from the top: the settings, the soft neighbors, the degree of merging, the encoder with its recurrence.
``docs/reference/models/crvnn.md`` maps the paper to these functions.

Shapes: R expressions, N words of the longest one, M = N + 2 positions, with a
vector before and one after the words, D units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.layers.masks import real_words
from induce.models.language.ordered_memory import RecursiveCell
from induce.setting import count, weight
from induce.structures import Distances
from induce.tasks.encoders.base import Encoder, EncoderConfig, Encoding
from induce.tasks.examples import Side

EPSILON = 1e-8  # in the denominator of the degree of merging, and in the logarithm of the penalty
MIN_EXISTENCE = 0.01  # a word with a smaller value has been absorbed


@dataclass(frozen=True, kw_only=True)
class CrvnnConfig(EncoderConfig):
    """Sizes and rates."""

    transition_size: int = count(64, "units of the feature that says whether the left neighbor has merged")
    halt_penalty: float = weight(0.01, "weight of the penalty on expressions that do not end in one node")


class Neighbors(NamedTuple):
    """Probability that position j is the next existing one of position i, on each side: (R, M, M)."""

    left: Tensor
    right: Tensor


def neighbors(existence: Tensor) -> Neighbors:
    """Soft neighbors of all positions, given the ``existence`` (R, M) of each, from 0 to 1.

    Starting next to position i, positions receive their existence as probability until the sum is 1.
    """
    until = existence.cumsum(-1)
    before = until - existence  # existence of the positions before each
    size = existence.shape[-1]
    after = torch.ones(size, size, dtype=torch.bool, device=existence.device).triu(1)  # j > i
    between_right = before[:, None, :] - until[:, :, None]  # existence between i and a later j
    between_left = before[:, :, None] - until[:, None, :]  # and an earlier j
    right, left = (
        torch.minimum(existence[:, None], (1 - between).relu()) * allowed
        for between, allowed in ((between_right, after), (between_left, after.t()))
    )
    return Neighbors(left, right)


def merge_probability(scores: Tensor, near: Neighbors, mergeable: Tensor) -> Tensor:
    """Probability (R, M) that each position merges with its right neighbor: the modulated sigmoid.

    The score competes with those of both neighbors and with 0. Only ``mergeable`` positions have a probability.
    """
    shift = scores.detach().masked_fill(~mergeable, 0.0).amax(-1, keepdim=True).clamp(min=0.0)
    terms = (scores - shift).exp() * mergeable
    around = ((near.left + near.right) @ terms[..., None]).squeeze(-1)
    return terms / (terms + (-shift).exp() + around + EPSILON)


class MergedWords(NamedTuple):
    """Result of the recurrence."""

    vectors: Tensor  # (R, D): content of the last word
    existence: Tensor  # (R, M) at the end
    lifetimes: Tensor  # (R, N): expected number of steps before each word merges with its right neighbor


class Crvnn(Encoder):
    """CRvNN. The vector is the content of the last word, with which all others merge."""

    Config = CrvnnConfig
    gives = (Distances,)
    length_groups = 8

    def __init__(self, config: CrvnnConfig, symbols: int) -> None:
        super().__init__()
        self.config = config
        size = self.size = config.hidden_size
        self.embedding = nn.Embedding(symbols, size)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.input, self.input_norm = nn.Linear(size, size), nn.LayerNorm(size)
        self.ends = nn.Parameter(torch.randn(2, size))  # before the first and after the last word
        self.transitions = nn.Parameter(torch.randn(2, config.transition_size))  # left neighbor has merged; has not
        self.decision = nn.Sequential(nn.Linear(5 * size + config.transition_size, size), nn.GELU(), nn.Linear(size, 1))
        self.cell, self.cell_norm = RecursiveCell(size, config.dropout, functional.gelu), nn.LayerNorm(size)

    def encode(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Encoding:
        """Vectors (R, D), and the penalty of expressions that do not end in one node."""
        merged = self.merge(tokens, lengths.to(tokens.device))
        return Encoding(merged.vectors, self.penalty(merged.existence, lengths.to(tokens.device)))

    def merge(self, tokens: Tensor, lengths: Tensor) -> MergedWords:
        """Merge words with their right neighbors until one is left, for at most N - 1 steps."""
        content, existence = self.start(tokens, lengths)
        real = functional.pad(real_words(tokens, lengths), (1, 1))
        mergeable = real & real.roll(-1, 1)  # all words but the last one
        last_merge, lifetimes = torch.zeros_like(existence), torch.zeros_like(existence)
        for step in range(tokens.shape[1] - 1):
            active = (step < lengths - 1) & ((existence * real > MIN_EXISTENCE).sum(-1) > 1)
            if not active.any():
                break
            near = neighbors(existence)
            scores = self.scores(content, near, last_merge)
            merging = merge_probability(scores, near, mergeable) * active[:, None]
            lifetimes = lifetimes + existence * active[:, None]
            absorbing = near.left @ merging[..., None]
            joined = self.cell(content, near.left @ content, self.cell_norm)
            content = torch.where(active[:, None, None], absorbing * joined + (1 - absorbing) * content, content)
            existence, last_merge = existence * (1 - merging), merging
        last = content[torch.arange(len(content), device=content.device), lengths]
        return MergedWords(last, existence, lifetimes[:, 1:-1])

    def start(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Content (R, M, D) and existence (R, M) of the words between the vectors of both ends."""
        words = self.input_norm(self.input(self.dropout(self.embedding(tokens))))
        content = functional.pad(words, (0, 0, 1, 1))
        position = torch.arange(content.shape[1], device=content.device)
        is_end = torch.stack(((position == 0).expand(len(lengths), -1), position == lengths[:, None] + 1))
        for vector, mask in zip(self.ends, is_end, strict=True):
            content = torch.where(mask[..., None], vector, content)
        return content, (position <= lengths[:, None] + 1).to(content)

    def scores(self, content: Tensor, near: Neighbors, last_merge: Tensor) -> Tensor:
        """Score (R, M) of merging each position with its right neighbor, given two neighbors on each side."""
        left, right = near.left @ content, near.right @ content
        window = [near.left @ left, left, content, right, near.right @ right]
        merged = near.left @ last_merge[..., None]
        transition = merged * self.transitions[0] + (1 - merged) * self.transitions[1]
        return self.decision(torch.cat((*window, transition), -1)).squeeze(-1)

    def penalty(self, existence: Tensor, lengths: Tensor) -> Tensor:
        """Weighted negative logarithm (R,) of the share of the last word in all existence, 0 for one node."""
        real = functional.pad(real_words(existence[:, 2:], lengths), (1, 1))
        remaining = existence * real
        share = remaining.gather(1, lengths[:, None]).squeeze(1) / remaining.sum(-1)
        is_open = (remaining > MIN_EXISTENCE).sum(-1) > 1
        return -self.config.halt_penalty * (share + EPSILON).log() * is_open

    def structure(self, tokens: Tensor, lengths: Tensor) -> Distances:
        """Distances of the gaps: the expected number of steps before the word on the left merges with the right one.

        The gap before the first word has the largest possible number.
        """
        lifetimes = self.merge(tokens, lengths.to(tokens.device)).lifetimes
        first = lengths.to(lifetimes)[:, None] - 1
        return Distances(torch.cat((first, lifetimes[:, :-1]), 1), lengths)
