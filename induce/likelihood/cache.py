"""The continuous cache (Grave, Joulin & Usunier 2017): words that followed similar states lately are likelier now."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True, kw_only=True)
class Cache:
    """What the cache remembers and how much it counts; the defaults are the README's of AWD-LSTM for the Penn Treebank.

    (The paper of AWD-LSTM has 2,000 words there.)
    """

    size: int = 500  # words remembered
    theta: float = 1.0  # how much likeness of states counts: 0 for all words of the cache alike
    share: float = 0.1  # lambda: the cache's part in the probability of a word

    def __str__(self) -> str:
        return f"{self.size},theta:{self.theta:g},lambda:{self.share:g}"


def cached_nll(model: Any, pieces: Iterable[tuple[Tensor, Tensor]], cache: Cache) -> float:
    """Sum of -log((1 - lambda) p_model + lambda p_cache) over the targets of consecutive ``pieces`` of a stream.

    A piece is tokens and targets (T, B); the columns have a cache each. The first word, before which there is
    nothing to remember, has the probability that the model gives it.
    """
    total, state = 0.0, None
    keys = nexts = None
    for tokens, targets in pieces:
        x, state = model.predictions(tokens, state)
        keys = x if keys is None else torch.cat((keys[-cache.size :], x))
        nexts = targets if nexts is None else torch.cat((nexts[-cache.size :], targets))
        logits = functional.linear(x, model.decoder_weight, model.decoder_bias)  # (T, B, V)
        by_model = -functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
        by_model = by_model.double().exp().view(targets.shape)
        by_cache, known = cache_probability(x, keys, nexts, targets, cache)
        mixed = torch.lerp(by_model, by_cache.double(), cache.share)
        total -= float(torch.where(known, mixed, by_model).log().sum())
    return total


def cache_probability(x: Tensor, keys: Tensor, nexts: Tensor, wanted: Tensor, cache: Cache) -> tuple[Tensor, Tensor]:
    """Probability (T, B) of the words ``wanted`` (T, B) by the cache alone, and (T, 1) whether it holds anything.

    ``x`` (T, B, E) are the states now, the last T of ``keys`` (S + T, B, E); ``nexts`` (S + T, B) the word that
    followed each. A step sees the ``cache.size`` states before it: p(w) is in proportion to the sum of
    exp(theta x · x_i) over those that w followed (section 3).
    """
    place = torch.arange(len(keys), device=x.device)
    now = place[len(keys) - len(x) :, None]
    seen = (place < now) & (place >= now - cache.size)  # (T, S + T)
    scores = cache.theta * (x.transpose(0, 1) @ keys.permute(1, 2, 0))  # (B, T, S + T)
    weights = scores.masked_fill(~seen, -math.inf).softmax(-1)
    same = nexts.t()[:, None] == wanted.t()[..., None]
    return (weights * same).sum(-1).t(), seen.any(-1, keepdim=True)
