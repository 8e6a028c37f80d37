"""ON-LSTM: ordered neurons (Shen, Tan, Sordoni & Courville 2019), as in the released program.

Read from the top: the settings, the recurrence over a whole segment with its hand-written backward pass, one layer,
the language model. ``docs/models/onlstm.md`` maps the paper's equations to these functions and lists every place
where the released program, which is followed here, departs from the paper.

Shapes: T steps, B sentences or streams, E embedding, H units of a layer, C units a chunk, n = H / C chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from induce.models.base import SegmentLoss
from induce.models.layers import LanguageOutput, Masks, draw_masks, run_layers
from induce.objectives import activation_penalty, cross_entropy, temporal_activation_penalty
from induce.structures import Distances

CACHED = 2**16  # entries of one factor of the backward pass computed at a time, so that they stay in the cache
POSITIONS = 2**10  # words of a batch that go through all layers before the next ones, in parsing, to use memory again
LARGE = 2**20  # entries from which a matrix no longer fits into the cache


@dataclass(frozen=True, kw_only=True)
class OnLstmConfig:
    """Sizes and dropout rates of an ON-LSTM language model; the defaults are the paper's (section 5.1)."""

    embedding_size: int = 400
    hidden_size: int = 1150
    layers: int = 3
    chunk_size: int = 10
    embedding_dropout: float = 0.1  # whole rows of the embedding table
    input_dropout: float = 0.5  # the embedded words, one mask for all steps
    hidden_dropout: float = 0.3  # between layers, one mask for all steps
    output_dropout: float = 0.45  # after the last layer, one mask for all steps
    weight_dropout: float = 0.45  # entries of the hidden-to-hidden matrices
    activation_penalty: float = 2.0  # AR, on the last layer before dropout
    temporal_activation_penalty: float = 1.0  # TAR

    def check(self) -> None:
        """Raises ValueError where the numbers do not fit together."""
        for name in ("embedding_size", "hidden_size"):
            if getattr(self, name) % self.chunk_size:
                raise ValueError(f"{name} = {getattr(self, name)} is not a multiple of chunk_size = {self.chunk_size}")


class LayerState(NamedTuple):
    """Hidden state ``h`` (B, H) and cell state ``c`` (B, n, C)."""

    h: Tensor
    c: Tensor


class SegmentOutput(NamedTuple):
    """What one layer computes over a segment."""

    hidden: Tensor  # (T, B, H)
    state: LayerState
    distance_forget: Tensor  # (T, B): 1 - mean master forget gate, the syntactic distance (eq. 15, up to a constant)
    distance_input: Tensor  # (T, B): mean master input gate
    input: Tensor  # (T, B, input): what it read
    before: Tensor  # (B, H): the hidden state that it began with


def cumax(x: Tensor) -> Tensor:
    """Running sum of a softmax over the last axis, rising from near 0 to 1 (eq. 6)."""
    return x.softmax(-1).cumsum(-1)


class _Segment(torch.autograd.Function):
    """The recurrence over a segment: one graph node, one weight gradient, whatever the number of steps.

    The backward pass first computes, for a block of steps at once, every factor that does not depend on the incoming
    gradient; what is left for each step is a few products with dc and dh, and the matrix product.
    """

    @staticmethod
    def forward(ctx: Any, projected: Tensor, weight: Tensor, h0: Tensor, c0: Tensor) -> Any:
        """``projected`` (T, B, 2n + 4H): W x + biases; ``weight`` (2n + 4H, H). Returns hidden, last c, both distances.

        Rows of both: master input (n), master forget (n), output, candidate, input, forget gate (H each).
        """
        steps, batch, _ = projected.shape
        chunks, chunk_size = c0.shape[1:]
        units = chunks * chunk_size
        learning = any(ctx.needs_input_grad)

        def room(count: int, *shape: int) -> Tensor:
            """Memory for ``count`` steps; where no gradient is asked for, all of them share that of one."""
            return projected.new_empty(count if learning else 1, *shape).expand(count, *shape)

        add_product = _thin_product(weight.t())
        gates = projected.clone() if learning else projected  # becomes the activated gates, step by step
        hidden = projected.new_empty(steps, batch, units)
        cells = room(steps + 1, batch, chunks, chunk_size)
        cells[0] = c0
        squashed = room(steps, batch, units)  # tanh(c)
        masters = projected.new_empty(steps, batch, 2, chunks)  # cumax of the master rows
        views = [gates, *_split(gates, chunks, chunk_size), masters, squashed, hidden, cells[1:]]
        h, c = h0, cells[0]
        for z, master, output, candidate, pair, rising, s, h_next, c_next in zip(
            *(v.unbind() for v in views), strict=True
        ):
            add_product(z, h)
            torch.cumsum(torch.softmax(master, -1, out=master), -1, out=rising)
            output.sigmoid_()
            candidate.tanh_()
            pair.sigmoid_()
            open_input, open_forget = 1 - rising[:, 0], rising[:, 1]  # ~i, ~f (eq. 10, 9)
            overlap = (open_input * open_forget)[:, None]  # w (eq. 11)
            outside = torch.stack((open_input, open_forget), 1).sub_(overlap)
            both = torch.addcmul(outside[..., None], pair, overlap[..., None])  # ^i, ^f (eq. 13, 12)
            c = torch.mul(both[:, 1], c, out=c_next).addcmul_(both[:, 0], candidate)  # eq. 14
            h = torch.mul(output, torch.tanh(c.view(batch, units), out=s), out=h_next)
        if learning:
            ctx.save_for_backward(weight, h0, gates, hidden, cells, squashed, masters)
        means = masters.mean(-1)  # (T, B, 2)
        return hidden, cells[-1].clone(), 1 - means[..., 1], 1 - means[..., 0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_hidden: Tensor, d_cell: Tensor, d_forget: Tensor, d_input: Tensor) -> Any:
        weight, h0, gates, hidden, cells, squashed, masters = ctx.saved_tensors
        steps, batch, units = hidden.shape
        chunks, chunk_size = cells.shape[2:]
        probability, *activated = _split(gates, chunks, chunk_size)
        known = [part.split(max(1, CACHED // (batch * units))) for part in (*activated, cells[:-1], squashed, masters)]
        # The master gates are 1 - cumax and cumax, hence the sign; a distance is one minus their mean.
        d_rising = torch.stack((-d_input, -d_forget), -1)[..., None] / chunks  # (T, B, 2, 1)
        reverse = torch.ones(
            chunks, chunks, dtype=weight.dtype, device=weight.device
        ).tril()  # y = x @ reverse sums j >= k

        d_z = torch.empty_like(gates)
        dc = d_cell.reshape(batch, units).clone()
        dh = torch.zeros_like(h0)
        add_product = _thin_product(weight)
        views = [d_z, *_split(d_z, chunks, chunk_size)[:2], _candidate_and_pair(d_z, chunks, chunk_size)]
        by_step = list(zip(*(v.unbind() for v in (*views, probability, d_hidden, d_rising)), strict=True))
        for block in reversed(list(zip(*known, strict=True))):
            factors = list(zip(*(factor.unbind() for factor in _local_factors(*block)), strict=True))
            while factors:
                dz, d_master, d_output, d_rest, p, dh_above, dr = by_step.pop()
                for_dh, for_gates, for_masters, for_cell = factors.pop()
                dh += dh_above
                dc.addcmul_(dh, for_dh[0])
                torch.mul(dh, for_dh[1], out=d_output)
                torch.mul(dc[:, None], for_gates, out=d_rest)
                d_both = torch.mul(dc.view(batch, 1, chunks, chunk_size), for_masters).sum(-1).add_(dr)  # (B, 2, n)
                d_softmax = d_both @ reverse
                d_softmax -= (d_softmax * p).sum(-1, keepdim=True)
                torch.mul(d_softmax, p, out=d_master)
                add_product(dh.zero_(), dz)
                dc *= for_cell
        before = torch.cat((h0[None], hidden[:-1])).view(steps * batch, units)
        d_weight = d_z.view(steps * batch, -1).t() @ before if ctx.needs_input_grad[1] else None
        return d_z, d_weight, dh, dc.view(batch, chunks, chunk_size)


def _thin_product(matrix: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """Function that adds ``x @ matrix`` to its first argument, for the few rows x of one time step.

    A large matrix on a CPU is read at memory speed only as the left factor, stored row by row; a small one, or one on a
    GPU, is faster as the right factor.
    """
    if matrix.device.type == "cpu" and matrix.numel() > LARGE:
        left = matrix.t().contiguous()
        return lambda out, x: out.add_(torch.mm(left, x.t().contiguous()).t())
    right = matrix.contiguous()
    return lambda out, x: out.addmm_(x, right)


def _split(z: Tensor, chunks: int, chunk_size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Views of rows (…, 2n + 4H): master gates (…, 2, n), output (…, H), candidate (…, n, C), the pair (…, 2, n, C)."""
    units = chunks * chunk_size
    lead = z.shape[:-1]
    return (
        z[..., : 2 * chunks].unflatten(-1, (2, chunks)),
        z[..., 2 * chunks : 2 * chunks + units],
        z[..., 2 * chunks + units : 2 * chunks + 2 * units].unflatten(-1, (chunks, chunk_size)),
        z[..., 2 * chunks + 2 * units :].view(*lead, 2, chunks, chunk_size),
    )


def _candidate_and_pair(z: Tensor, chunks: int, chunk_size: int) -> Tensor:
    """View (…, 3, H) of the candidate, input and forget rows."""
    units = chunks * chunk_size
    return z[..., 2 * chunks + units :].view(*z.shape[:-1], 3, units)


def _local_factors(
    output: Tensor, candidate: Tensor, pair: Tensor, c_before: Tensor, squashed: Tensor, masters: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Derivatives at every step that do not wait for the gradient from later steps.

    Returns dc/dh and d(output row)/dh (T, 2, B, H); d(candidate, input, forget rows)/dc (T, B, 3, H); d(master sums)/dc
    (T, B, 2, n, C), still to be summed over the chunk; and d(previous c)/dc (T, B, H), the final forget gate.
    """
    i, f = pair.unbind(2)
    open_input, open_forget = (1 - masters[:, :, 0])[..., None], masters[:, :, 1][..., None]
    overlap = open_input * open_forget
    final_forget = overlap * (f - 1) + open_forget
    final_input = overlap * (i - 1) + open_input
    through = torch.stack((output * (1 - squashed * squashed), squashed * output * (1 - output)), 1)
    for_gates = torch.stack(
        (
            final_input * (1 - candidate * candidate),
            candidate * overlap * (i * (1 - i)),
            c_before * overlap * (f * (1 - f)),
        ),
        2,
    )
    for_overlap = candidate * (i - 1) + c_before * (f - 1)
    # The first master gate is one minus its running sum.
    for_masters = torch.stack((-candidate - open_forget * for_overlap, c_before + open_input * for_overlap), 2)
    return through, for_gates.flatten(3), for_masters, final_forget.flatten(2)


class OnLstmLayer(nn.Module):
    """One layer; its hidden-to-hidden matrix is ``recurrent.weight``, the one that weight dropout acts on."""

    def __init__(self, input_size: int, units: int, chunk_size: int) -> None:
        super().__init__()
        self.units, self.chunk_size, self.chunks = units, chunk_size, units // chunk_size
        rows = 2 * self.chunks + 4 * units
        self.input = nn.Linear(input_size, rows)
        self.recurrent = nn.Linear(units, rows)

    def initial_state(self, batch: int) -> LayerState:
        """Zeros."""
        weight = self.recurrent.weight
        return LayerState(weight.new_zeros(batch, self.units), weight.new_zeros(batch, self.chunks, self.chunk_size))

    def forward(self, x: Tensor, state: LayerState, recurrent_weight: Tensor | None = None) -> SegmentOutput:
        """Run over ``x`` (T, B, input); ``recurrent_weight`` stands in for the layer's own (dropped or scaled)."""
        weight = self.recurrent.weight if recurrent_weight is None else recurrent_weight
        projected = functional.linear(x, self.input.weight, self.input.bias + self.recurrent.bias)
        hidden, c, distance_forget, distance_input = _Segment.apply(projected, weight, *state)
        return SegmentOutput(hidden, LayerState(hidden[-1], c), distance_forget, distance_input, x, state.h)

    def forget_logits(self, output: SegmentOutput, recurrent_weight: Tensor) -> Tensor:
        """The master forget gate before its cumax (T, B, n), once more, for who wants to learn through it."""
        rows = slice(self.chunks, 2 * self.chunks)
        states = torch.cat((output.before[None], output.hidden[:-1]))
        bias = self.input.bias[rows] + self.recurrent.bias[rows]
        return functional.linear(output.input, self.input.weight[rows], bias) + states @ recurrent_weight[rows].t()


class OnLstm(nn.Module):
    """ON-LSTM language model with tied input and output embeddings (Shen et al. 2019, section 5.1)."""

    Config = OnLstmConfig
    reads = ("stream",)
    gives = ("distances",)

    def __init__(self, config: OnLstmConfig, vocabulary_size: int) -> None:
        super().__init__()
        config.check()
        self.config = config
        sizes = [config.embedding_size] + [config.hidden_size] * (config.layers - 1) + [config.embedding_size]
        self.embedding = nn.Embedding(vocabulary_size, config.embedding_size)
        self.layers = nn.ModuleList(OnLstmLayer(below, units, config.chunk_size) for below, units in pairwise(sizes))
        self.decoder_bias = nn.Parameter(torch.zeros(vocabulary_size))
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)

    @property
    def stack(self) -> list[OnLstmLayer]:
        """The layers, lowest first."""
        return cast("list[OnLstmLayer]", list(self.layers))

    def initial_state(self, batch: int) -> list[LayerState]:
        """Zeros for every layer."""
        return [layer.initial_state(batch) for layer in self.stack]

    def draw_masks(self, batch: int) -> Masks:
        """Fresh masks for one segment of ``batch`` streams."""
        recurrent = [layer.recurrent.weight for layer in self.stack]
        return draw_masks(self.config, self.embedding.weight, recurrent, batch)

    def recurrent_weights(self, masks: Masks | None = None, *, layers: int | None = None) -> list[Tensor]:
        """The matrices in use in the first ``layers`` layers (all by default): with the masks' dropout or scaled."""
        kept = [None] * len(self.layers) if masks is None else masks.weights
        return [
            dropped_weight(layer.recurrent.weight, self.config.weight_dropout, mask)
            for layer, mask in zip(self.stack[:layers], kept, strict=False)
        ]

    def forward(
        self,
        tokens: Tensor,
        state: list[LayerState],
        *,
        masks: Masks | None = None,
        weights: list[Tensor] | None = None,
    ) -> LanguageOutput:
        """Run over ``tokens`` (T, B) as many layers as there are ``weights`` (all by default).

        With ``masks`` every dropout acts; without, none does. ``weights`` saves computing `recurrent_weights` again.
        """
        return run_layers(
            self.stack, tokens, self.embedding.weight, state, weights or self.recurrent_weights(masks), masks
        )

    @property
    def decoder_weight(self) -> Tensor:
        """Output embeddings (V, E)."""
        return self.embedding.weight

    def predictions(self, tokens: Tensor, state: list[LayerState] | None = None) -> tuple[Tensor, list[LayerState]]:
        """Vectors (T, B, E) that the output layer reads after each of ``tokens`` (T, B), and the state to carry on."""
        output, layers = self(tokens, state or self.initial_state(tokens.shape[1]))
        return output, [layer.state for layer in layers]

    def loss(
        self, tokens: Tensor, targets: Tensor, state: list[LayerState] | None = None, *, masks: Masks | None = None
    ) -> SegmentLoss:
        """Objective and mean negative log-likelihood of ``targets`` (T, B); masks are drawn in training mode."""
        batch = tokens.shape[1]
        if masks is None and self.training:
            masks = self.draw_masks(batch)
        return self.language_loss(self(tokens, state or self.initial_state(batch), masks=masks), targets)

    def language_loss(self, found: LanguageOutput, targets: Tensor) -> SegmentLoss:
        """What ``found`` costs where ``targets`` (T, B) follow, activation penalties included."""
        output, layers = found
        nll = cross_entropy(output.flatten(0, 1), self.embedding.weight, self.decoder_bias, targets.flatten())
        last = layers[-1].hidden  # before the output dropout, as in the released program
        objective = (
            nll
            + activation_penalty(last, self.config.activation_penalty)
            + temporal_activation_penalty(last, self.config.temporal_activation_penalty)
        )
        return SegmentLoss(objective, nll, [layer.state for layer in layers])

    def structure(self, tokens: Tensor, lengths: Tensor, *, layer: int) -> Distances:
        """Forget distances of layer ``layer`` (from 1) for ``tokens`` (B, N + 2), boundary marks on either side.

        Sentences are padded behind their second mark; no layer above ``layer`` is computed. ``lengths`` (B,) counts
        words.
        """
        return self.read_distances(tokens, lengths, layer, lambda output, _: output.distance_forget)

    def read_distances(
        self, tokens: Tensor, lengths: Tensor, layer: int, read: Callable[[SegmentOutput, Tensor], Tensor]
    ) -> Distances:
        """What ``read`` makes (T, B) of each piece of layer ``layer`` and its recurrent matrix, marks cut off."""
        batch = len(tokens)
        state, weights = self.initial_state(batch), self.recurrent_weights(layers=layer)
        distances = []
        for steps in tokens.t().split(max(1, POSITIONS // batch)):
            _, outputs = self(steps, state, weights=weights)
            state = [output.state for output in outputs]
            distances.append(read(outputs[-1], weights[-1]))
        return Distances(torch.cat(distances).t()[:, 1:-1], lengths)


def dropped_weight(weight: Tensor, rate: float, kept: Tensor | None) -> Tensor:
    """``weight`` with the entries that are not ``kept`` set to 0; without a mask, ``weight`` times 1 - ``rate``.

    As in the released program: AWD-LSTM divides by 1 - rate in training instead, so that trained matrices of the two
    differ by that factor.
    """
    if kept is not None:
        return weight * kept
    return weight * (1 - rate) if rate else weight
