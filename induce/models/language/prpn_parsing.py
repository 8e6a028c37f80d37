"""PRPN's parsing network: distances from a convolution over the last words, and gates from distances (section 4).

Shapes: T steps, B sentences or streams, E embedding, H hidden units, S slots of memory, the newest first, L words of
look-back. Each ``config`` is a `PrpnConfig`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.layers.dropout import dropped, scaled_mask


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


def parsing_start(config: Any, batch: int, like: Tensor) -> ParsingState:
    """The state before any word, of the type and on the device of ``like``."""
    embeddings = like.new_zeros(config.lookback, batch, config.embedding_size)
    return ParsingState(embeddings, like.new_full((batch, config.slots), math.inf))


class ParsingMasks(NamedTuple):
    """Dropout masks of the parsing network."""

    window: Tensor | None  # (B, E, L + T), words of the segment before included
    hidden: Tensor | None  # (B, H, T)
    guess: ParsingMasks | None = None  # of the convolution for the guess, if it has one for itself


class Convolution(nn.Module):
    """Convolution over the last words whose units are divided among ``outputs`` values per word (eq. 7, 8, 13)."""

    def __init__(self, config: Any, outputs: int) -> None:
        super().__init__()
        self.config = config
        hidden = config.hidden_size
        self.convolution = nn.Conv1d(config.embedding_size, hidden, config.lookback + 1)
        self.normalization = nn.BatchNorm1d(hidden)
        self.projection = nn.Conv1d(hidden, outputs, 1, groups=outputs)

    def convolve(self, words: Tensor, masks: ParsingMasks | None) -> Tensor:
        """Values (B, outputs, T) of the last T of ``words`` (L + T, B, E)."""
        x = dropped(words.permute(1, 2, 0), masks and masks.window)
        hidden = self.normalization(self.convolution(x)).relu()  # eq. 7
        values = self.projection(dropped(hidden, masks and masks.hidden))  # eq. 8, 13
        return values.sigmoid() if self.config.distance == "sigmoid" else values.relu()

    def draw_masks(self, steps: int, batch: int) -> ParsingMasks:
        """Fresh masks for one segment."""
        config, weight, rate = self.config, self.convolution.weight, self.config.inner_dropout
        return ParsingMasks(
            scaled_mask(weight, rate, batch, config.embedding_size, config.lookback + steps),
            scaled_mask(weight, rate, batch, config.hidden_size, steps),
        )


class ParsingNetwork(Convolution):
    """Distances from a convolution over the last words, and gates from distances (section 4.2).

    Distance and guess each see half of the units, as in the released program, or have a convolution each.
    """

    def __init__(self, config: Any) -> None:
        super().__init__(config, 1 if config.separate_guess else 2)
        self.guess = Convolution(config, 1) if config.separate_guess else None

    def distances(self, words: Tensor, masks: ParsingMasks | None = None) -> tuple[Tensor, Tensor]:
        """Distances and guesses (B, T) of the last T of ``words`` (L + T, B, E)."""
        values = self.convolve(words, masks)
        guesses = values if self.guess is None else self.guess.convolve(words, masks and masks.guess)
        return values[:, 0], guesses[:, -1]

    def initial_state(self, batch: int) -> ParsingState:
        """Before any word: zeros, and distances that close every gate."""
        return parsing_start(self.config, batch, self.convolution.weight)

    def draw_masks(self, steps: int, batch: int) -> ParsingMasks:
        """Fresh masks for one segment."""
        masks = super().draw_masks(steps, batch)
        return masks._replace(guess=self.guess.draw_masks(steps, batch)) if self.guess else masks

    def forward(self, words: Tensor, state: ParsingState, masks: ParsingMasks | None = None) -> Parsing:
        """Distances and gates of the embedded ``words`` (T, B, E)."""
        words = torch.cat((state.embeddings, words))
        distance, guess = self.distances(words, masks)
        last = words[len(words) - self.config.lookback :]
        kind = gate_kind(self.config, training=self.training)
        return parsing_from_distances(distance, guess, last, state, kind, self.config.resolution)


def gate_kind(config: Any, *, training: bool) -> str:
    """The gates in use: those of the settings, or gates of 0 and 1 outside of training if the settings request them."""
    return "binary" if config.binary_test and not training else config.gate


def parsing_from_distances(
    distance: Tensor, guess: Tensor, last: Tensor, state: Any, kind: str, resolution: float
) -> Parsing:
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
