"""PRPN's parsing network: distances from words, and gates from distances (Shen et al. 2018, section 4).

Shapes: T steps, B sentences or streams, E embedding, H hidden units, S slots of memory, L words of look-back. Slot k
of a step at time t is the state of time t - 1 - k: the newest first.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.layers.dropout import dropped, scaled_mask


class ParsingSettings(Protocol):
    """The settings of a model that its parsing network depends on."""

    @property
    def embedding_size(self) -> int: ...
    @property
    def hidden_size(self) -> int: ...
    @property
    def slots(self) -> int: ...
    @property
    def lookback(self) -> int: ...
    @property
    def resolution(self) -> float: ...
    @property
    def gate(self) -> str: ...
    @property
    def binary_test(self) -> bool: ...
    @property
    def distance(self) -> str: ...
    @property
    def inner_dropout(self) -> float: ...


def gates(now: Tensor, window: Tensor, kind: str, resolution: float, *, reading: bool) -> Tensor:
    """Gate of each slot (B, T, S), from 0 to 1: the products of eq. 5, newest slot first.

    ``now`` (B, T) is the distance of the word that looks back, ``window`` (B, T, S) those of the words up to time t,
    newest first, +inf before the start. For ``reading`` the word at t looks, so that the first factor compares its
    distance with itself; else the next word does, with a guessed distance.
    """
    difference = (now[..., None] - window) / resolution
    if kind == "binary":  # the limits of "hard" and "soft": open up to a larger distance
        factors = (difference >= 0).to(now)
    elif kind == "hard":
        factors = (functional.hardtanh(2 * difference + 1) + 1) / 2
    elif kind == "soft":
        factors = torch.sigmoid(10 * difference + 5)
    else:
        factors = (functional.hardtanh(difference) + 1) / 2  # eq. 6
        if reading:  # the product of eq. 5 ends before the word's own distance
            factors = torch.cat((torch.ones_like(factors[..., :1]), factors[..., 1:]), -1)
    return factors.cumprod(-1)


class ParsingState(NamedTuple):
    """State from which the distances of the next segment follow."""

    embeddings: Tensor  # (L, B, E): of the last words, zeros before the start
    distances: Tensor  # (B, S): the last ones, oldest first, +inf before the start


class Parsing(NamedTuple):
    """Output of the parsing network over a segment."""

    distance: Tensor  # (B, T): d_t, the gap before word t
    guess: Tensor  # (B, T): d'_{t+1}, that of the gap after it, computed before word t + 1 is seen
    read_gate: Tensor  # (B, T, S)
    predict_gate: Tensor  # (B, T, S)
    state: Any  # ParsingState, or that of another parsing network
    supervised: Tensor | None = None  # (B, T): a second set of distances, if the model has one


def parsing_start(config: ParsingSettings, batch: int, like: Tensor) -> ParsingState:
    """The state before any word, of the type and on the device of ``like``."""
    embeddings = like.new_zeros(config.lookback, batch, config.embedding_size)
    return ParsingState(embeddings, like.new_full((batch, config.slots), math.inf))


class ParsingMasks(NamedTuple):
    """Dropout masks of the parsing network."""

    window: Tensor | None  # (B, E, L + T), words of the segment before included
    hidden: Tensor | None  # (B, H, T)


class ParsingNetwork(nn.Module):
    """Distances from a convolution over the last words, and gates from distances (section 4.2)."""

    def __init__(self, config: ParsingSettings) -> None:
        super().__init__()
        self.config = config
        hidden = config.hidden_size
        self.convolution = nn.Conv1d(config.embedding_size, hidden, config.lookback + 1)
        self.normalization = nn.BatchNorm1d(hidden)
        self.projection = nn.Conv1d(hidden, 2, 1, groups=2)  # distance and guess: each sees half of the units

    def distances(self, words: Tensor, masks: ParsingMasks | None = None) -> tuple[Tensor, Tensor]:
        """Distances and guesses (B, T) of the last T of ``words`` (L + T, B, E)."""
        x = dropped(words.permute(1, 2, 0), masks and masks.window)
        hidden = self.normalization(self.convolution(x)).relu()  # eq. 7
        both = self.projection(dropped(hidden, masks and masks.hidden))  # eq. 8, 13
        both = both.sigmoid() if self.config.distance == "sigmoid" else both.relu()
        return both[:, 0], both[:, 1]

    def initial_state(self, batch: int) -> ParsingState:
        """Before any word: zeros, and distances that close every gate."""
        return parsing_start(self.config, batch, self.convolution.weight)

    def draw_masks(self, steps: int, batch: int) -> ParsingMasks:
        """Fresh masks for one segment."""
        config, weight, rate = self.config, self.convolution.weight, self.config.inner_dropout
        return ParsingMasks(
            scaled_mask(weight, rate, batch, config.embedding_size, config.lookback + steps),
            scaled_mask(weight, rate, batch, config.hidden_size, steps),
        )

    def forward(self, words: Tensor, state: ParsingState, masks: ParsingMasks | None = None) -> Parsing:
        """Distances and gates of the embedded ``words`` (T, B, E)."""
        words = torch.cat((state.embeddings, words))
        distance, guess = self.distances(words, masks)
        last = words[len(words) - self.config.lookback :]
        kind = gate_kind(self.config, training=self.training)
        return looked_back(distance, guess, last, state, kind, self.config.resolution)


def gate_kind(config: ParsingSettings, *, training: bool) -> str:
    """The gates in use: those of the settings, or gates of 0 and 1 outside of training if the settings request them."""
    return "binary" if config.binary_test and not training else config.gate


def looked_back(distance: Tensor, guess: Tensor, last: Tensor, state: Any, kind: str, resolution: float) -> Parsing:
    """The gates that ``distance`` and ``guess`` (B, T) give, and the state after them. ``last`` are its words."""
    slots = state.distances.shape[1]
    known = torch.cat((state.distances, distance), 1)
    window = known.unfold(1, slots, 1)[:, 1:].flip(-1)  # (B, T, S)
    return Parsing(
        distance,
        guess,
        gates(distance, window, kind, resolution, reading=True),
        gates(guess, window, kind, resolution, reading=False),
        ParsingState(last, known[:, -slots:]),
    )
