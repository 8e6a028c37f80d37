"""The recurrence of ON-LSTM over a segment (Shen et al. 2019, eq. 3 to 15), with its backward pass.

Shapes: T steps, B sentences or streams, H units of a layer, C units a chunk, n = H / C chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

CACHED = 2**16  # entries of one factor of the backward pass computed at a time, so that they stay in the cache
LARGE = 2**20  # entries from which a matrix no longer fits into the cache


def cumax(x: Tensor) -> Tensor:
    """Running sum of a softmax over the last axis, rising from near 0 to 1 (eq. 6)."""
    return x.softmax(-1).cumsum(-1)


def recurrence(projected: Tensor, weight: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Hidden states (T, B, H), last cell state (B, n, C), distances by the master forget and input gates (T, B).

    ``projected`` (T, B, 2n + 4H): W x + biases; ``weight`` (2n + 4H, H); ``h`` (B, H) and ``c`` (B, n, C) before.
    """
    outputs: tuple[Tensor, Tensor, Tensor, Tensor] = _Recurrence.apply(projected, weight, h, c)
    return outputs


class _Recurrence(torch.autograd.Function):
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
