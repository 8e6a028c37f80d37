"""Networks of PRPN: the parsing network, the reading network and the predict network (Shen et al. 2018).

The parsing network computes distances from a convolution over the last words, and gates from distances (section 4). The
reading network is an LSTM that attends to earlier states through the gates, and the predict network predicts the next
word (section 5).

Shapes: T steps, B sentences or streams, E embedding, H hidden units, S slots of memory, L words of look-back. Slot k
of a step at time t is the state of time t - 1 - k: the newest first. Each ``config`` is a `PrpnConfig`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.layers.layer_norm import LayerNorm
from induce.layers.masks import dropped, scaled_mask
from induce.models.language.prpn_kernel import StepInputs, StepMasks, attend, band, recurrence, unband


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


class Cell(nn.Module):
    """LSTM cell with layer normalization of both products and of the cell state inside the last tanh."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input, self.input_norm = nn.Linear(input_size, 4 * hidden_size), LayerNorm(4 * hidden_size)
        self.recurrent, self.recurrent_norm = nn.Linear(hidden_size, 4 * hidden_size), LayerNorm(4 * hidden_size)
        self.cell_norm = LayerNorm(hidden_size)

    def from_input(self, x: Tensor) -> Tensor:
        """The input's part of the gates (…, 4H), which does not wait for the step before."""
        return self.input_norm(self.input(x))

    def forward(self, from_input: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden and cell state (B, H) after one step from the states ``h`` and ``c`` (B, H).

        ``from_input`` (B, 4 H) is the output of the method of the same name.
        """
        z = from_input + self.recurrent_norm(self.recurrent(h))
        i, f, candidate, o = z.chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * candidate.tanh()
        return o.sigmoid() * self.cell_norm(c).tanh(), c


class Tapes(NamedTuple):
    """Memory of a reading layer: the hidden and cell states of the last S steps, newest first (section 5.1)."""

    h: Tensor  # (B, S, H)
    c: Tensor  # (B, S, H)


class LayerMasks(NamedTuple):
    """Dropout masks of a reading layer."""

    key_input: Tensor | None  # (T, B, input): x as the key depends on it
    key_state: Tensor | None  # (T, B, H): the last h as the key depends on it
    key: Tensor | None  # (T, B, H)
    input: Tensor | None  # (T, B, input): x as the cell reads it
    recurrent: Tensor | None  # (H,): one for all steps and sentences


class LayerReading(NamedTuple):
    """Output of a reading layer over a segment."""

    hidden: Tensor  # (T, B, H)
    attention: Tensor  # (T, B, S)
    tapes: Tapes  # after the segment


class ReadingLayer(nn.Module):
    """An LSTM that continues from a sum of the last states, weighted by attention (section 5.1)."""

    def __init__(self, config: Any, input_size: int) -> None:
        super().__init__()
        self.kind, self.units = config.attention, config.hidden_size
        self.cell = Cell(input_size, self.units)
        self.key = nn.Linear(input_size + self.units, self.units) if config.reading_attention else None

    def forward(self, x: Tensor, gate: Tensor, tapes: Tapes, masks: LayerMasks | None = None) -> LayerReading:
        """Hidden states, attention and memory after reading ``x`` (T, B, input) with the ``gate`` (T, B, S)."""
        cell, kind, from_input = self.cell, self.kind, self.cell.from_input(dropped(x, masks and masks.input))
        if self.key is not None:
            for_input, for_state = self.key.weight.tensor_split([x.shape[-1]], 1)
            key_from_input = functional.linear(dropped(x, masks and masks.key_input), for_input, self.key.bias)
        else:  # only the newest state can be seen
            kind, gate = "masked", torch.zeros_like(gate).index_fill_(-1, gate.new_zeros(1, dtype=torch.long), 1)
            key_from_input, for_state = x.new_zeros(*x.shape[:2], self.units), x.new_zeros(self.units, self.units)
        inputs = StepInputs(
            from_input + cell.recurrent_norm.bias,
            key_from_input,
            gate,
            *tapes,
            key_weight=for_state,
            weight=cell.recurrent.weight,
            bias=cell.recurrent.bias,
            gain=cell.recurrent_norm.gain,
            cell_gain=cell.cell_norm.gain,
            cell_bias=cell.cell_norm.bias,
        )
        step_masks = StepMasks(masks.key_state, masks.key, masks.recurrent) if masks else StepMasks()
        hidden, attention, h, c = recurrence(kind, inputs, step_masks)
        return LayerReading(hidden, attention, Tapes(h, c))


class PredictMasks(NamedTuple):
    """Dropout masks of the predict network."""

    key_input: Tensor | None  # (T, B, H)
    key: Tensor | None  # (T, B, H)
    residual: Sequence[Tensor | None]  # (T B, width) of each block
    joined: Tensor | None  # (T B, width)
    output: Tensor | None  # (T B, E)


class ResidualBlock(nn.Module):
    """Two normalized linear layers with a residual connection."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.lower, self.lower_norm = nn.Linear(size, size), nn.BatchNorm1d(size)
        self.upper, self.upper_norm = nn.Linear(size, size), nn.BatchNorm1d(size)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Output (R, size) for rows ``x`` (R, size)."""
        inner = dropped(self.lower_norm(self.lower(x)).relu(), mask)
        return (x + self.upper_norm(self.upper(inner))).relu()


class PredictNetwork(nn.Module):
    """Prediction of the next word from the last state and the states that the next word can attend to (section 5.2)."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        hidden = config.hidden_size
        self.kind = config.attention
        self.key = nn.Linear(hidden, hidden) if config.predict_attention else None
        width = 2 * hidden if config.predict_attention else hidden
        self.blocks = nn.ModuleList(ResidualBlock(width) for _ in range(config.residual_blocks))
        self.output, self.output_norm = nn.Linear(width, config.embedding_size), nn.BatchNorm1d(config.embedding_size)

    def forward(
        self, hidden: Tensor, tape: Tensor, gate: Tensor, masks: PredictMasks | None = None
    ) -> tuple[Tensor, Tensor]:
        """Rows (T B, E) for the output layer, and the attention (T, B, S).

        ``hidden`` (T, B, H) are the states of the top reading layer, ``tape`` (B, S, H) those before, ``gate`` (T, B,
        S). A state is compared with those before it; it is itself always seen.
        """
        attention = gate[..., :0]
        joined = hidden
        if self.key is not None:
            states = torch.cat((tape.flip(1), hidden.transpose(0, 1)), 1)  # (B, S + T, H), oldest first
            key = dropped(self.key(dropped(hidden, masks and masks.key_input)), masks and masks.key)
            fit = band(key.transpose(0, 1) @ states.mT, tape.shape[1]).flip(-1) / math.sqrt(key.shape[-1])
            attention = attend(fit.transpose(0, 1), gate, self.kind)
            summary = unband(attention.transpose(0, 1).flip(-1)) @ states
            joined = torch.cat((hidden, summary.transpose(0, 1)), -1)  # eq. 14
        return self.rows(joined, masks), attention

    def rows(self, joined: Tensor, masks: PredictMasks | None = None) -> Tensor:
        """Rows (T B, E) for the output layer from the states and what attention adds to them, ``joined`` (T, B, …)."""
        rows = joined.flatten(0, 1)
        for k, block in enumerate(self.blocks):
            rows = block(rows, masks and masks.residual[k])
        rows = self.output_norm(self.output(dropped(rows, masks and masks.joined))).tanh()
        return dropped(rows, masks and masks.output)
