"""PRPN: parsing, reading and predict networks (Shen, Lin, Huang & Courville 2018), as in the released program.

Read from the top: the settings, the gates that distances open and close, the parsing network that computes the
distances, the reading network that remembers through them, the predict network, the language model. Where the paper's
formulas differ from the program they are settings; ``docs/models/prpn.md`` lists them and maps equations to functions.

Shapes: T steps, B sentences or streams, E embedding, H hidden units, S slots of memory, L words of look-back. Slot k
of a step at time t is the state of time t - 1 - k: the newest first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from induce.models.base import SegmentLoss
from induce.models.layers import keep
from induce.objectives import cross_entropy
from induce.structures import Distances
from treebank.errors import SynparseError

TINY = 1e-8  # added to the sum of attention weights: all gates may be closed
SPREAD = 1e-6  # added to a standard deviation
CHOICES = {
    "gate": ("hard", "soft", "paper"),
    "distance": ("sigmoid", "relu"),
    "attention": ("masked", "modulated"),
}


@dataclass(frozen=True, kw_only=True)
class PrpnConfig:
    """Sizes, formulas and dropout rates; the defaults are the paper's word-level model as the program computes it."""

    embedding_size: int = 800
    hidden_size: int = 1200
    reading_layers: int = 2
    slots: int = 15  # states that can be remembered, N_m
    lookback: int = 5  # words before the current one that its distance depends on, L
    resolution: float = 0.1  # difference of distances over which a gate closes, 1 / tau
    residual_blocks: int = 0  # of the predict network
    gate: str = "hard"  # hard, soft: the program's two; paper: eq. 6
    distance: str = "sigmoid"  # sigmoid: the program's; relu: eq. 8, 13
    attention: str = "masked"  # masked: the program's softmax over open slots; modulated: eq. 10, 11
    parsing_network: bool = True  # the ablations of table 3: without it all gates stay open
    reading_attention: bool = True  # without it the reading network is a plain LSTM
    predict_attention: bool = True  # without it the next word depends on the last state alone
    tied_embeddings: bool = True
    outer_dropout: float = 0.7  # the embedded words that are read, and before the output layer
    inner_dropout: float = 0.5  # everywhere else
    recurrent_dropout: float = 0.5  # the remembered h, one mask for all steps and sentences

    def check(self) -> None:
        """Raises ValueError where the values do not fit together."""
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} = {getattr(self, name)!r} is none of {', '.join(known)}")
        if self.hidden_size % 2:
            raise ValueError(f"hidden_size = {self.hidden_size} must be even: each half sees one of two distances")
        if not self.resolution > 0:
            raise ValueError(f"resolution = {self.resolution} must be above 0")
        if self.parsing_network and not (self.reading_attention or self.predict_attention):
            raise ValueError("without attention nothing depends on distances: set parsing_network = false, too")


def gates(now: Tensor, window: Tensor, kind: str, resolution: float, *, reading: bool) -> Tensor:
    """How far each slot can be seen (B, T, S), from 0 to 1: the products of eq. 5, newest slot first.

    ``now`` (B, T) is the distance of the word that looks back, ``window`` (B, T, S) those of the words up to time t,
    newest first, +inf before the start. For ``reading`` the word at t looks, so that the first factor compares its
    distance with itself; else the next word does, with a guessed distance.
    """
    difference = (now[..., None] - window) / resolution
    if kind == "hard":
        factors = (functional.hardtanh(2 * difference + 1) + 1) / 2
    elif kind == "soft":
        factors = torch.sigmoid(10 * difference + 5)
    else:
        factors = (functional.hardtanh(difference) + 1) / 2  # eq. 6
        if reading:  # the product of eq. 5 ends before the word's own distance
            factors = torch.cat((torch.ones_like(factors[..., :1]), factors[..., 1:]), -1)
    return factors.cumprod(-1)


def attend(scores: Tensor, gate: Tensor, kind: str = "masked") -> Tensor:
    """Weight of each slot (…, S): softmax of ``scores`` under ``gate``; all 0 where every gate is closed."""
    if kind == "modulated":
        return scores.softmax(-1) * gate / (gate.sum(-1, keepdim=True) + TINY)  # eq. 10, 11: not normalised
    weights = (scores - scores.amax(-1, keepdim=True)).exp() * gate
    return weights / (weights.sum(-1, keepdim=True) + TINY)


class ParsingState(NamedTuple):
    """What distances of the next segment depend on."""

    embeddings: Tensor  # (L, B, E): of the last words, zeros before the start
    distances: Tensor  # (B, S): the last ones, oldest first, +inf before the start


class Parsing(NamedTuple):
    """What the parsing network says of a segment."""

    distance: Tensor  # (B, T): d_t, the gap before word t
    guess: Tensor  # (B, T): d'_{t+1}, that of the gap after it, computed before word t + 1 is seen
    read_gate: Tensor  # (B, T, S)
    predict_gate: Tensor  # (B, T, S)
    state: Any  # ParsingState, or that of another parsing network
    supervised: Tensor | None = None  # (B, T): a second set of distances, where there is one


def parsing_start(config: PrpnConfig, batch: int, like: Tensor) -> ParsingState:
    """The state before any word, of the type and on the device of ``like``."""
    embeddings = like.new_zeros(config.lookback, batch, config.embedding_size)
    return ParsingState(embeddings, like.new_full((batch, config.slots), math.inf))


class ParsingMasks(NamedTuple):
    """Dropout masks of the parsing network."""

    window: Tensor | None  # (B, E, L + T), words of the segment before included
    hidden: Tensor | None  # (B, H, T)


class ParsingNetwork(nn.Module):
    """Distances from a convolution over the last words, and gates from distances (section 4.2)."""

    def __init__(self, config: PrpnConfig) -> None:
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
        return looked_back(distance, guess, last, state, self.config.gate, self.config.resolution)


def looked_back(distance: Tensor, guess: Tensor, last: Tensor, state: Any, kind: str, resolution: float) -> Parsing:
    """The gates that ``distance`` and ``guess`` (B, T) give, and the state after them; ``last`` are its words."""
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


class _LayerNorm(torch.autograd.Function):
    """`LayerNorm` as one node of the graph: `torch.std_mean` takes ten times as long as a norm."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        norm = _centred(x, -1)
        spread = _spread(norm)
        norm.div_(spread)
        ctx.save_for_backward(norm, spread, gain)
        return torch.addcmul(bias, norm, gain)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_y: Tensor) -> Any:
        norm, spread, gain = ctx.saved_tensors
        d_gain, d_bias = (d_y * norm).flatten(0, -2).sum(0), d_y.flatten(0, -2).sum(0)
        d_x = d_y * gain
        along = (d_x * norm).sum(-1, keepdim=True) * _along(spread, norm.shape[-1])
        return _centred(d_x.addcmul_(norm, along, value=-1), -1).div_(spread), d_gain, d_bias


def _centred(x: Tensor, dim: int) -> Tensor:
    """``x`` less its mean along an axis: what layer normalisation does first, and to its gradient last."""
    return torch.sub(x, x.sum(dim, keepdim=True), alpha=1 / x.shape[dim])


def _spread(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """What `LayerNorm` divides by: the standard deviation of ``x`` (…, size), which has no mean, plus `SPREAD`."""
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return torch.add(x.new_full((), SPREAD), norm, alpha=1 / math.sqrt(x.shape[-1] - 1), out=out)


def _along(spread: Tensor, size: int) -> Tensor:
    """By how much the gradient of a standard deviation exceeds that of what is divided by it, ``spread``."""
    return spread / ((spread - SPREAD).clamp_min(1e-30) * (size - 1))


class LayerNorm(nn.Module):
    """Layer normalisation with the unbiased standard deviation, the small number added to it and not to its square."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        """Over the last axis."""
        return _LayerNorm.apply(x, self.gain, self.bias)


class Cell(nn.Module):
    """LSTM cell with layer normalisation of both products and of the cell state inside the last tanh."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input, self.input_norm = nn.Linear(input_size, 4 * hidden_size), LayerNorm(4 * hidden_size)
        self.recurrent, self.recurrent_norm = nn.Linear(hidden_size, 4 * hidden_size), LayerNorm(4 * hidden_size)
        self.cell_norm = LayerNorm(hidden_size)

    def from_input(self, x: Tensor) -> Tensor:
        """The input's part of the gates (…, 4H), which does not wait for the step before."""
        return self.input_norm(self.input(x))

    def forward(self, from_input: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """One step from what is remembered, ``h`` and ``c`` (B, H)."""
        z = from_input + self.recurrent_norm(self.recurrent(h))
        i, f, candidate, o = z.chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * candidate.tanh()
        return o.sigmoid() * self.cell_norm(c).tanh(), c


class Tapes(NamedTuple):
    """The last states of a reading layer, newest first."""

    h: Tensor  # (B, S, H)
    c: Tensor  # (B, S, H)


class LayerMasks(NamedTuple):
    """Dropout masks of a reading layer."""

    key_input: Tensor | None  # (T, B, input): x as the key depends on it
    key_state: Tensor | None  # (T, B, H): the last h as the key depends on it
    key: Tensor | None  # (T, B, H)
    input: Tensor | None  # (T, B, input): x as the cell reads it
    recurrent: Tensor | None  # (H,): one for all steps and sentences


class Reading(NamedTuple):
    """What a reading layer computes over a segment."""

    hidden: Tensor  # (T, B, H)
    attention: Tensor  # (T, B, S)
    tapes: Tapes  # after the segment


class _Recurrence(torch.autograd.Function):
    """The steps of a reading layer over a segment: one graph node, weight gradients by one product for all steps.

    States are kept side by side, oldest first, so that the tapes of a step are a view of S of them. The recurrent
    matrix is centred over its outputs, so that normalising its product has no mean to subtract at each step.
    """

    @staticmethod
    def forward(
        ctx: Any,
        kind: str,
        from_input: Tensor,
        key_from_input: Tensor,
        gate: Tensor,
        tape_h: Tensor,
        tape_c: Tensor,
        key_weight: Tensor,
        weight: Tensor,
        bias: Tensor,
        gain: Tensor,
        cell_gain: Tensor,
        cell_bias: Tensor,
        masks: tuple[Tensor | None, Tensor | None, Tensor | None],
    ) -> Any:
        """``from_input`` (T, B, 4H), ``key_from_input`` (T, B, H), ``gate`` (T, B, S): what needs no step before.

        ``masks`` are those of the last h and of the key (T, B, H), and of the h remembered (H,). Returns h (T, B, H),
        the attention (T, B, S) and the tapes after the segment.
        """
        steps, batch, units = key_from_input.shape
        slots, of_state, of_key = tape_h.shape[1], masks[0], masks[1]
        open_ = gate.flip(-1)  # oldest slot first
        states = from_input.new_empty(batch, slots + steps, 2 * units)
        states[:, :slots] = torch.cat((tape_h, tape_c), -1).flip(1)
        keys, z = torch.empty_like(key_from_input), torch.empty_like(from_input)
        both = key_from_input.new_empty(steps, batch, 1, 2 * units)
        attention, ratio = torch.empty_like(open_), torch.empty_like(open_)
        norm, total, spread = torch.empty_like(z), *z.new_empty(2, steps, batch, 1)
        cell_norm, cell_spread = torch.empty_like(keys), torch.empty_like(total)
        squashed = torch.empty_like(keys)
        from_key, key_turned = dropped(key_from_input, of_key) / math.sqrt(units), key_weight.t() / math.sqrt(units)
        turned, bias = dropped(_centred(weight, 0), masks[2]).t(), _centred(bias, 0)
        for t, tape in enumerate(states.unfold(1, slots, 1).unbind(1)[:-1]):  # (B, 2H, S)
            before = _dropped_at(t, tape[:, :units, -1], of_state)
            key = torch.add(from_key[t], _dropped_at(t, before @ key_turned, of_key), out=keys[t])  # eq. 9
            fit = torch.bmm(key[:, None], tape[:, :units])[:, 0]  # eq. 10
            weights = _attend(fit, open_[t], kind, out=(attention[t], ratio[t], total[t]))
            h, c = torch.bmm(weights[:, None], tape.mT, out=both[t])[:, 0].split(units, -1)  # eq. 12
            x = torch.addmm(bias, h, turned)
            torch.div(x, _spread(x, out=spread[t]), out=norm[t])
            now = torch.addcmul(from_input[t], norm[t], gain, out=z[t])
            now[:, : 2 * units].sigmoid_()
            now[:, 2 * units : 3 * units].tanh_()
            now[:, 3 * units :].sigmoid_()
            i, f, candidate, o = now.chunk(4, -1)
            c = torch.addcmul(f * c, i, candidate, out=states[:, slots + t, units:])
            x = _centred(c, -1)
            torch.div(x, _spread(x, out=cell_spread[t]), out=cell_norm[t])
            torch.tanh(torch.addcmul(cell_bias, cell_norm[t], cell_gain), out=squashed[t])
            torch.mul(o, squashed[t], out=states[:, slots + t, :units])
        ctx.kind, ctx.masks = kind, masks
        ctx.save_for_backward(
            open_, states, keys, both, attention, ratio, total, z, norm, spread, cell_norm, cell_spread, squashed,
            key_weight, weight, gain, cell_gain,
        )  # fmt: skip
        hidden = states[:, slots:, :units].transpose(0, 1).contiguous()
        last_h, last_c = states[:, steps:].flip(1).split(units, -1)
        seen = attention.flip(-1)
        ctx.mark_non_differentiable(seen)
        return hidden, seen, last_h.contiguous(), last_c.contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_hidden: Tensor, _: Tensor, d_last_h: Tensor, d_last_c: Tensor) -> Any:
        (
            open_, states, keys, both, attention, ratio, total, z, norm, spread, cell_norm, cell_spread, squashed,
            key_weight, weight, gain, cell_gain,
        ) = ctx.saved_tensors  # fmt: skip
        of_state, of_key, of_past = ctx.masks
        steps, batch, units = keys.shape
        slots = open_.shape[-1]
        i, f, candidate, o = z.chunk(4, -1)
        # What does not wait for later steps, for all steps at once.
        to_norm = o * (1 - squashed * squashed)
        to_output = squashed * o * (1 - o)
        to_gates = torch.stack(
            (candidate * i * (1 - i), both[:, :, 0, units:] * f * (1 - f), i * (1 - candidate * candidate)), 2
        )
        to_cell = to_norm * cell_gain / cell_spread
        cell_along = cell_norm * _along(cell_spread, units)
        along = _along(spread, 4 * units)
        beside = _attend_beside(attention, ratio, total, ctx.kind)
        matrix, scaled = dropped(_centred(weight, 0), of_past), key_weight / math.sqrt(units)

        # A state is read in the S steps after it. What these send back stands side by side, zeros on either side.
        def padded(size: int, values: Tensor | None = None) -> Tensor:
            found = states.new_zeros(batch, slots + steps + slots, size)
            if values is not None:
                found[:, slots:-slots] = values.transpose(0, 1)
            return found

        d_both, d_fit, near_keys = padded(2 * units), padded(slots), padded(units, keys)
        by_attention, by_fit = _by_state(padded(slots, attention)).contiguous(), _by_state(d_fit)
        d_states = states.new_zeros(slots + steps, batch, 1, 2 * units)
        d_states[steps:, :, 0] = torch.cat((d_last_h, d_last_c), -1).flip(1).transpose(0, 1)
        d_states[slots:, :, 0, :units] += d_hidden
        d_z, d_sum, d_key = torch.empty_like(z), torch.empty_like(z), torch.empty_like(keys)
        d_weights, mean = torch.empty_like(open_), torch.empty_like(total)
        d_before = keys.new_zeros(batch, units)  # of the h of the step before, by the key
        tapes = states.unfold(1, slots, 1).unbind(1)  # (B, 2H, S)

        def sent_back(n: int) -> tuple[Tensor, Tensor]:
            """Gradients of the h and c of state ``n``, where the steps that read it are done."""
            d_state, later = d_states[n], slice(n + 1, n + 1 + slots)
            d_state += torch.bmm(by_attention[n][:, None], d_both[:, later])
            d_h, d_c = d_state[:, 0].split(units, -1)
            d_h += torch.bmm(by_fit[n].contiguous()[:, None], near_keys[:, later])[:, 0]
            return d_h, d_c

        for t in reversed(range(steps)):
            d_h, d_c = sent_back(slots + t)
            d_h += d_before
            d_normal = d_h * to_cell[t]
            along_cell = (d_normal * cell_norm[t]).sum(-1, keepdim=True)
            d_c += d_normal
            d_c.sub_(d_normal.sum(-1, keepdim=True), alpha=1 / units).addcmul_(cell_along[t], along_cell, value=-1)
            torch.mul(d_c[:, None], to_gates[t], out=d_z[t, :, : 3 * units].view(batch, 3, units))
            torch.mul(d_h, to_output[t], out=d_z[t, :, 3 * units :])
            x = d_z[t] * gain
            torch.addcmul(x, norm[t], (x * norm[t]).sum(-1, keepdim=True) * along[t], value=-1, out=d_sum[t])
            d_now = d_both[:, slots + t]
            torch.div(d_sum[t] @ matrix, spread[t], out=d_now[:, :units])
            torch.mul(d_c, f[t], out=d_now[:, units:])
            weighed = torch.bmm(d_now[:, None], tapes[t], out=d_weights[t][:, None])[:, 0] * attention[t]
            torch.sum(weighed, -1, keepdim=True, out=mean[t])
            d_fit[:, slots + t] = fit = torch.addcmul(weighed, beside[t], mean[t], value=-1)
            past_h = tapes[t][:, :units].mT
            d_key[t] = _dropped_at(t, torch.bmm(fit[:, None], past_h)[:, 0], of_key)
            d_before = _dropped_at(t, d_key[t] @ scaled, of_state)

        if any(ctx.needs_input_grad[4:6]):
            for n in range(slots):
                sent_back(n)
            d_states[slots - 1, :, 0, :units] += d_before

        rows = steps * batch
        d_key /= math.sqrt(units)
        d_sum = d_sum.div_(spread).view(rows, 4 * units)
        before = dropped(states[:, slots - 1 : -1, :units].transpose(0, 1), of_state).reshape(rows, units)
        h = dropped(both[:, :, 0, :units], of_past).reshape(rows, units)
        d_squash = d_states[slots:, :, 0, :units] * to_norm
        d_first_h, d_first_c = d_states[:slots, :, 0].flip(0).transpose(0, 1).split(units, -1)
        return (
            None, d_z, d_key, _attend_gate(d_weights, mean, ratio, total, ctx.kind).flip(-1), d_first_h, d_first_c,
            d_key.view(rows, -1).t() @ before, _centred(d_sum.t() @ h, 0), _centred(d_sum.sum(0), 0),
            (d_z * norm).sum((0, 1)), (d_squash * cell_norm).sum((0, 1)), d_squash.sum((0, 1)), None,
        )  # fmt: skip


def _by_state(by_step: Tensor) -> Tensor:
    """Of numbers for each step and slot (B, S + T + S, S), oldest first, those for each state (S + T, B, S): what the
    steps that saw it have for it, the earliest first. A view."""
    batch, length, slots = by_step.shape
    strides = (slots, length * slots, slots - 1)
    return by_step.as_strided((length - slots, batch, slots), strides, 2 * slots - 1)


def _attend(fit: Tensor, gate: Tensor, kind: str, *, out: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """`attend`, written to ``out`` together with its numerator without the gate, and its denominator."""
    weights, ratio, total = out
    if kind == "modulated":
        torch.softmax(fit, -1, out=ratio)
        torch.sum(gate, -1, keepdim=True, out=total).add_(TINY)
        return torch.mul(ratio, gate, out=weights).div_(total)
    torch.exp(fit - fit.amax(-1, keepdim=True), out=ratio)
    torch.mul(ratio, gate, out=weights)
    torch.sum(weights, -1, keepdim=True, out=total).add_(TINY)
    return weights.div_(total)


def _attend_beside(weights: Tensor, ratio: Tensor, total: Tensor, kind: str) -> Tensor:
    """``beside`` in the gradient of the scores, weights · d_weights - beside · sum(weights · d_weights)."""
    if kind == "modulated":
        return ratio
    top = ratio.argmax(-1, keepdim=True)  # the maximum was subtracted, which leaves a trace beside the constant TINY
    return weights.scatter_add(-1, top, TINY / total)


def _attend_gate(d_weights: Tensor, mean: Tensor, ratio: Tensor, total: Tensor, kind: str) -> Tensor:
    """Gradient of the gate; ``mean`` is sum(weights · d_weights)."""
    return (d_weights * ratio - mean if kind == "modulated" else ratio * (d_weights - mean)) / total


class ReadingLayer(nn.Module):
    """An LSTM that goes on from what attention gathers among the last states (section 5.1)."""

    def __init__(self, config: PrpnConfig, input_size: int) -> None:
        super().__init__()
        self.kind, self.units = config.attention, config.hidden_size
        self.cell = Cell(input_size, self.units)
        self.key = nn.Linear(input_size + self.units, self.units) if config.reading_attention else None

    def forward(self, x: Tensor, gate: Tensor, tapes: Tapes, masks: LayerMasks | None = None) -> Reading:
        """Over ``x`` (T, B, input) with ``gate`` (T, B, S)."""
        cell, kind, from_input = self.cell, self.kind, self.cell.from_input(dropped(x, masks and masks.input))
        if self.key is not None:
            for_input, for_state = self.key.weight.tensor_split([x.shape[-1]], 1)
            key_from_input = functional.linear(dropped(x, masks and masks.key_input), for_input, self.key.bias)
        else:  # only the newest state can be seen
            kind, gate = "masked", torch.zeros_like(gate).index_fill_(-1, gate.new_zeros(1, dtype=torch.long), 1)
            key_from_input, for_state = x.new_zeros(*x.shape[:2], self.units), x.new_zeros(self.units, self.units)
        hidden, attention, h, c = _Recurrence.apply(
            kind, from_input + cell.recurrent_norm.bias, key_from_input, gate, *tapes, for_state,
            cell.recurrent.weight, cell.recurrent.bias, cell.recurrent_norm.gain, cell.cell_norm.gain,
            cell.cell_norm.bias, (masks.key_state, masks.key, masks.recurrent) if masks else (None,) * 3,
        )  # fmt: skip
        return Reading(hidden, attention, Tapes(h, c))


def scores(tape: Tensor, key: Tensor) -> Tensor:
    """How well each state on ``tape`` (…, S, H) fits ``key`` (…, H), scaled as in eq. 10."""
    return (tape @ key[..., None])[..., 0] / math.sqrt(key.shape[-1])


def remembered(weights: Tensor, tape: Tensor) -> Tensor:
    """Weighted sum (…, H) of the states on ``tape`` (…, S, H)."""
    return (weights[..., None, :] @ tape)[..., 0, :]


def _band(x: Tensor, slots: int) -> Tensor:
    """Of ``x`` (B, T, S + T) the entries t to t + S - 1 of each row t: (B, T, S)."""
    batch, steps, length = x.shape
    return functional.pad(x.flatten(1), (0, steps)).view(batch, steps, length + 1)[..., :slots]


def _unband(x: Tensor) -> Tensor:
    """``x`` (B, T, S) where `_band` would find it among zeros (B, T, S + T)."""
    batch, steps, slots = x.shape
    return functional.pad(x, (0, steps + 1)).flatten(1)[:, :-steps].view(batch, steps, slots + steps)


class PredictMasks(NamedTuple):
    """Dropout masks of the predict network."""

    key_input: Tensor | None  # (T, B, H)
    key: Tensor | None  # (T, B, H)
    residual: Sequence[Tensor | None]  # (T B, width) of each block
    joined: Tensor | None  # (T B, width)
    output: Tensor | None  # (T B, E)


class ResidualBlock(nn.Module):
    """Two normalised linear layers beside which the input goes by."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.lower, self.lower_norm = nn.Linear(size, size), nn.BatchNorm1d(size)
        self.upper, self.upper_norm = nn.Linear(size, size), nn.BatchNorm1d(size)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Of rows ``x`` (R, size)."""
        inner = dropped(self.lower_norm(self.lower(x)).relu(), mask)
        return (x + self.upper_norm(self.upper(inner))).relu()


class PredictNetwork(nn.Module):
    """What to expect of the next word, from the last state and those that it will be able to see (section 5.2)."""

    def __init__(self, config: PrpnConfig) -> None:
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
            fit = _band(key.transpose(0, 1) @ states.mT, tape.shape[1]).flip(-1) / math.sqrt(key.shape[-1])
            attention = attend(fit.transpose(0, 1), gate, self.kind)
            summary = _unband(attention.transpose(0, 1).flip(-1)) @ states
            joined = torch.cat((hidden, summary.transpose(0, 1)), -1)  # eq. 14
        return self.rows(joined, masks), attention

    def rows(self, joined: Tensor, masks: PredictMasks | None = None) -> Tensor:
        """Rows (T B, E) for the output layer from the states and what attention adds to them, ``joined`` (T, B, …)."""
        rows = joined.flatten(0, 1)
        for k, block in enumerate(self.blocks):
            rows = block(rows, masks and masks.residual[k])
        rows = self.output_norm(self.output(dropped(rows, masks and masks.joined))).tanh()
        return dropped(rows, masks and masks.output)


class Masks(NamedTuple):
    """The dropout masks of one segment, divided by the share kept; None where nothing is dropped."""

    parsing: Any  # ParsingMasks, or those of another parsing network; None without any
    reading: Sequence[LayerMasks]
    predict: PredictMasks


class LanguageOutput(NamedTuple):
    """What the language model computes over a segment."""

    output: Tensor  # (T B, E), rows for the output layer
    parsing: Parsing
    reading: list[Reading]
    predict_attention: Tensor  # (T, B, S)
    state: list[Any]


class Prpn(nn.Module):
    """PRPN language model: a ParsingNetwork steers a reading and a predict network.

    The state carried between segments is a list: ParsingState, then the Tapes of each reading layer. The memory of the
    predict network is the tape of h of the top layer.
    """

    Config = PrpnConfig
    reads = ("stream", "sentences")
    gives = ("distances",)
    parsing_network: ClassVar[Any] = ParsingNetwork

    def __init__(self, config: PrpnConfig, vocabulary_size: int) -> None:
        super().__init__()
        config.check()
        self.config = config
        self.embedding = nn.Embedding(vocabulary_size, config.embedding_size)
        self.parsing = self.parsing_network(config) if config.parsing_network else None
        sizes = [config.embedding_size] + [config.hidden_size] * (config.reading_layers - 1)
        self.reading = nn.ModuleList(ReadingLayer(config, size) for size in sizes)
        self.predict = PredictNetwork(config)
        self.decoder_bias = nn.Parameter(torch.zeros(vocabulary_size))
        tables = [self.embedding.weight]
        if not config.tied_embeddings:
            tables.append(nn.Parameter(torch.empty_like(self.embedding.weight)))
            self.decoder_table = tables[1]
        for table in tables:
            nn.init.uniform_(table, -0.01, 0.01)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm1d):  # as torch did when the program was written
                nn.init.uniform_(module.weight)

    @property
    def decoder_weight(self) -> Tensor:
        """Output embeddings (V, E)."""
        return self.embedding.weight if self.config.tied_embeddings else self.decoder_table

    def initial_state(self, batch: int) -> list[Any]:
        """Before any word: zeros, and distances that close every gate."""
        config, weight = self.config, self.embedding.weight
        tape = weight.new_zeros(batch, config.slots, config.hidden_size)
        start = self.parsing.initial_state(batch) if self.parsing else parsing_start(config, batch, weight)
        return [start, *(Tapes(tape, tape) for _ in self.reading)]

    def draw_masks(self, steps: int, batch: int) -> Masks:
        """Fresh masks for one segment."""
        config, weight = self.config, self.embedding.weight
        words, units = config.embedding_size, config.hidden_size
        width = self.predict.output.in_features
        inner, outer = config.inner_dropout, config.outer_dropout

        def scaled(rate: float, *shape: int) -> Tensor | None:
            return scaled_mask(weight, rate, *shape)

        return Masks(
            parsing=self.parsing.draw_masks(steps, batch) if self.parsing else None,
            reading=[
                LayerMasks(
                    key_input=scaled(inner, steps, batch, size),
                    key_state=scaled(inner, steps, batch, units),
                    key=scaled(inner, steps, batch, units),
                    input=scaled(inner if k else outer, steps, batch, size),
                    recurrent=scaled(config.recurrent_dropout, units),
                )
                for k, size in enumerate([words] + [units] * (len(self.reading) - 1))
            ],
            predict=PredictMasks(
                key_input=scaled(inner, steps, batch, units),
                key=scaled(inner, steps, batch, units),
                residual=[scaled(inner, steps * batch, width) for _ in self.predict.blocks],
                joined=scaled(inner, steps * batch, width),
                output=scaled(outer, steps * batch, words),
            ),
        )

    def forward(self, tokens: Tensor, state: list[Any], *, masks: Masks | None = None) -> LanguageOutput:
        """Run over ``tokens`` (T, B). With ``masks`` every dropout acts; without, none does."""
        words = functional.embedding(tokens, self.embedding.weight)
        if self.parsing is None:
            parsing = self._unparsed(words, state[0])
        else:
            parsing = self.parsing(words, state[0], masks and masks.parsing)
        x, gate = words, parsing.read_gate.transpose(0, 1).contiguous()
        reading: list[Reading] = []
        for k, layer in enumerate(self.reading):
            reading.append(layer(x, gate, state[1 + k], masks and masks.reading[k]))
            x = reading[-1].hidden
        predict_gate = parsing.predict_gate.transpose(0, 1)
        output, attention = self.predict(x, state[-1].h, predict_gate, masks and masks.predict)
        return LanguageOutput(output, parsing, reading, attention, [parsing.state, *(layer.tapes for layer in reading)])

    def predictions(self, tokens: Tensor, state: list[Any] | None = None) -> tuple[Tensor, list[Any]]:
        """Vectors (T, B, E) that the output layer reads after each of ``tokens`` (T, B), and the state to carry on."""
        found = self(tokens, state or self.initial_state(tokens.shape[1]))
        return found.output.unflatten(0, tokens.shape), found.state

    def _unparsed(self, words: Tensor, state: ParsingState) -> Parsing:
        """No distances, and every gate open: attention as usual (the first ablation of table 3)."""
        flat = words.new_zeros(words.shape[1], len(words))
        last = torch.cat((state.embeddings, words))[len(words) :]
        return looked_back(flat, flat, last, state, "hard", self.config.resolution)

    def loss(
        self,
        tokens: Tensor,
        targets: Tensor,
        state: list[Any] | None = None,
        *,
        counted: Tensor | None = None,
        masks: Masks | None = None,
    ) -> SegmentLoss:
        """Mean negative log-likelihood of ``targets`` (T, B), or of those that are ``counted`` (T, B).

        Padding behind a sentence still takes part in the batch statistics, as in the program. Masks are drawn in
        training mode.
        """
        steps, batch = tokens.shape
        if masks is None and self.training:
            masks = self.draw_masks(steps, batch)
        found = self(tokens, state or self.initial_state(batch), masks=masks)
        return self.language_loss(found, targets, counted)

    def language_loss(self, found: LanguageOutput, targets: Tensor, counted: Tensor | None) -> SegmentLoss:
        """What ``found`` costs where ``targets`` (T, B) follow, those that are ``counted``."""
        rows, wanted = found.output, targets.flatten()
        if counted is not None:
            rows, wanted = rows[counted.flatten()], wanted[counted.flatten()]
        nll = cross_entropy(rows, self.decoder_weight, self.decoder_bias, wanted)
        return SegmentLoss(nll, nll, found.state)

    def structure(self, tokens: Tensor, lengths: Tensor, *, layer: int) -> Distances:
        """Distances of ``tokens`` (B, N + 2), boundary marks on either side; there is one set of them, layer 1.

        Nothing but the parsing network is computed.
        """
        if self.parsing is None:
            raise SynparseError("this model was trained with parsing_network = false, so it has no distances")
        words = functional.embedding(tokens.t(), self.embedding.weight)
        start = self.initial_state(len(tokens))[0].embeddings
        distance, _ = self.parsing.distances(torch.cat((start, words)))
        return Distances(distance[:, 1:-1], lengths)


def scaled_mask(like: Tensor, rate: float, *shape: int) -> Tensor | None:
    """A dropout mask, divided by the share kept, of the type and on the device of ``like``; None if all are kept."""
    return keep(shape, rate, like.device).to(like.dtype).div_(1 - rate) if rate else None


def dropped(x: Tensor, mask: Tensor | None) -> Tensor:
    """``x`` under a dropout mask, if there is one."""
    return x if mask is None else x * mask


def _dropped_at(step: int, x: Tensor, mask: Tensor | None) -> Tensor:
    """``x`` of one step under the mask of all."""
    return x if mask is None else x * mask[step]
