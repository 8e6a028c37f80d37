"""The continuous cache of Grave, Joulin and Usunier (2017): words that followed similar states become more probable."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Cache:
    """Settings of a continuous cache. The defaults are those of the AWD-LSTM program for the Penn Treebank.

    The paper of AWD-LSTM has a cache of 2,000 words.
    """

    size: int = 500  # words that the cache holds
    theta: float = 1.0  # weight of the similarity of states; 0 makes all words of the cache equally probable
    share: float = 0.1  # lambda, the share of the cache in the probability of a word

    def __str__(self) -> str:
        return f"{self.size},theta:{self.theta:g},lambda:{self.share:g}"


class CacheMemory:
    """The states and words that the cache of each column of a stream holds."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self._states: Tensor | None = None  # (S, B, E)
        self._followers: Tensor | None = None  # (S, B), the word after each state

    def mix(self, states: Tensor, targets: Tensor, log_probabilities: Tensor) -> Tensor:
        """log((1 - lambda) p_model + lambda p_cache) of ``targets`` (T, B), and add them to the cache.

        ``states`` (T, B, E) precede the targets; ``log_probabilities`` (T, B) are the model's. The first word of a
        column, when its cache is empty, has the probability that the model assigns.
        """
        size = self.cache.size
        self._states = states if self._states is None else torch.cat((self._states[-size:], states))
        self._followers = targets if self._followers is None else torch.cat((self._followers[-size:], targets))
        by_cache, filled = cache_probability(states, self._states, self._followers, targets, self.cache)
        mixed = torch.lerp(log_probabilities.exp(), by_cache.double(), self.cache.share)
        return torch.where(filled, mixed.log(), log_probabilities)


def cache_probability(
    states: Tensor, memory: Tensor, followers: Tensor, targets: Tensor, cache: Cache
) -> tuple[Tensor, Tensor]:
    """Probability (T, B) of the words ``targets`` (T, B) by the cache alone, and whether the cache is filled (T, 1).

    ``states`` (T, B, E) are the last T of ``memory`` (S + T, B, E); ``followers`` (S + T, B) are the words after the
    states in memory. A step reads the ``cache.size`` states before it: p(w) is proportional to the sum of
    exp(theta x · x_i) over the states that w followed (Grave et al. 2017, section 3).
    """
    position = torch.arange(len(memory), device=states.device)
    current = position[len(memory) - len(states) :, None]
    in_cache = (position < current) & (position >= current - cache.size)  # (T, S + T)
    scores = cache.theta * (states.transpose(0, 1) @ memory.permute(1, 2, 0))  # (B, T, S + T)
    weights = scores.masked_fill(~in_cache, -math.inf).softmax(-1)
    is_target = followers.t()[:, None] == targets.t()[..., None]
    return (weights * is_target).sum(-1).t(), in_cache.any(-1, keepdim=True)
