"""The recurrence of ON-LSTM over a segment, and its gradients by hand.

Shapes: T steps, B sentences or streams, H units of a layer, C units a chunk, n = H / C chunks, m entries of a master
gate. The rows of a projection z = W x + U h + b, (…, 2m + 4H), are in this order: master input and master forget gate
(m each), output gate, candidate, input gate and forget gate (H each). In the paper, m is n. With m = n + 1 (Stratos,
section 2.0.1), the last entry has a share of the softmax but no chunk, so the last chunk can receive input and be
forgotten.

**Forward** (Shen et al. 2019), with cumax(z) = cumsum(softmax(z)) (eq. 6), a master gate standing for its whole chunk::

    ~i = 1 - cumax(z_master_input)    ~f = cumax(z_master_forget)             (eq. 10, 9)
    w  = ~f ~i                                                                (eq. 11)
    ^f = f w + (~f - w)               ^i = i w + (~i - w)                     (eq. 12, 13)
    c' = ^f c + ^i candidate          h' = output tanh(c')                    (eq. 14)

**Backward**, from dh, which comes from the layer above and from the next step, and dc, which comes from the next step::

    dc            += dh output (1 - tanh(c')²)
    dz_output      = dh tanh(c') output (1 - output)
    dz_candidate   = dc ^i (1 - candidate²)
    dz_input       = dc candidate w i (1 - i)
    dz_forget      = dc c w f (1 - f)
    d~i            = sum over the chunk of dc (candidate + ~f k)              k = candidate (i - 1) + c (f - 1)
    d~f            = sum over the chunk of dc (c + ~i k)
    dcumax_j = ±d~ ,  dsoftmax_k = sum of dcumax_j over j >= k,  dz_k = softmax_k (dsoftmax_k - sum of softmax dsoftmax)
    dh (of the step before) = dz U        dc (of the step before) = dc ^f     dU = sum over the steps of dzᵀ h

What is saved: U (2m + 4H, H), the h before the segment (B, H), the gates after their non-linearities (T, B, 2m + 4H),
where the master rows hold softmax, h (T, B, H), c (T + 1, B, n, C), tanh(c') (T, B, H), and both cumax (T, B, 2, m).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from induce.layers.products import in_float32, product, rounds

CACHED_ENTRIES = 2**20  # a larger matrix does not fit into the cache of current processors
CACHED = 2**16  # entries of one factor of the backward pass computed at a time, so that they stay in the cache

AddProduct = Callable[[Tensor, Tensor], Tensor]  # adds x @ matrix to its first argument (rows, M), in place


def add_product(matrix: Tensor, *, rounded: bool = False) -> AddProduct:
    """Function that adds ``x @ matrix`` to its first argument, for the rows x (rows, K) of one time step.

    A matrix (K, M) that exceeds the cache of a CPU is the left factor, which is read once from front to back. With
    ``rounded`` both factors are rounded to bfloat16; sums are taken in float32, and the result is rounded once.
    """
    if rounded and (matrix.device.type != "cpu" or not torch.ops.mkldnn._is_mkldnn_bf16_supported()):
        narrow = matrix.bfloat16().contiguous()
        return lambda out, x: out.add_(x.bfloat16() @ narrow)
    if rounded:  # oneDNN packs the matrix once for all steps
        packed = torch.ops.mkldnn._reorder_linear_weight(matrix.t().bfloat16().contiguous(), None)
        linear = torch.ops.mkldnn._linear_pointwise
        return lambda out, x: out.add_(linear(x.bfloat16().contiguous(), packed, None, "none", [], ""))
    if matrix.device.type == "cpu" and matrix.numel() > CACHED_ENTRIES:
        left = matrix.t().contiguous()
        return lambda out, x: out.add_(torch.mm(left, x.t().contiguous()).t())
    right = matrix.contiguous()
    return lambda out, x: out.addmm_(x, right)


def cumax(x: Tensor) -> Tensor:
    """Running sum of a softmax over the last axis, rising from near 0 to 1 (eq. 6)."""
    return x.softmax(-1).cumsum(-1)


def recurrence(projected: Tensor, weight: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Hidden states (T, B, H), last cell state (B, n, C), distances by the master forget and input gates (T, B).

    ``projected`` (T, B, 2m + 4H): W x + biases; ``weight`` (2m + 4H, H); ``h`` (B, H) and ``c`` (B, n, C) before.
    """
    return _Recurrence.apply(projected, weight, h, c, rounds(projected))


class _Recurrence(torch.autograd.Function):
    """The recurrence over a segment, as the module's docstring states it: one node of the graph.

    One node, because a graph of some twenty nodes a step costs more than the arithmetic of small models; and because dU
    is then one product for all steps, where a graph would add up one (2m + 4H, H) matrix a step.
    """

    @staticmethod
    @in_float32
    def forward(ctx: Any, projected: Tensor, weight: Tensor, h0: Tensor, c0: Tensor, rounded: bool) -> Any:
        """Hidden states, last cell state and both distances, as `recurrence` says.

        The gates of all steps are computed in place of the projection's copy, and every result is written to where the
        backward pass finds it. Where no gradient is asked for, all steps share the memory of one: an input of any
        length then needs no more than its hidden states.
        """
        steps, batch, _ = projected.shape
        chunks, chunk_size = c0.shape[1:]
        units = chunks * chunk_size
        learning = any(ctx.needs_input_grad)

        def room(count: int, *shape: int) -> Tensor:
            """Memory for ``count`` steps."""
            return projected.new_empty(count if learning else 1, *shape).expand(count, *shape)

        add = add_product(weight.t(), rounded=rounded and learning)
        gates = projected.clone() if learning else projected  # becomes the activated gates, step by step
        hidden = projected.new_empty(steps, batch, units)
        cells = room(steps + 1, batch, chunks, chunk_size)
        cells[0] = c0
        squashed = room(steps, batch, units)  # tanh(c)
        parts = _split(gates, chunks, chunk_size)
        masters = torch.empty_like(parts[0], memory_format=torch.contiguous_format)  # cumax of the master rows
        views = [gates, *parts, masters, squashed, hidden, cells[1:]]
        h, c = h0, cells[0]
        for step in zip(*(v.unbind() for v in views), strict=True):
            z, master, output, candidate, pair, rising, s, h_next, c_next = step
            add(z, h)
            _advance(master, output, candidate, pair, rising, s, h_next, c_next, c)
            h, c = h_next, c_next
        if learning:
            ctx.save_for_backward(weight, h0, gates, hidden, cells, squashed, masters)
            ctx.rounded = rounded
        means = masters[..., :chunks].mean(-1)  # (T, B, 2)
        return hidden, cells[-1].clone(), 1 - means[..., 1], 1 - means[..., 0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_hidden: Tensor, d_cell: Tensor, d_forget: Tensor, d_input: Tensor) -> Any:
        """Gradients of the projection (T, B, 2m + 4H), the weight, and h and c before the segment.

        Two tricks. The factors that do not wait for later steps come from `_local_factors` for a block of steps at
        once, so large that they stay in the cache: a step is left with eight element-wise products and the matrix
        product. And dsoftmax is one product with a triangle of ones, which beats a flipped running sum.
        """
        weight, h0, gates, hidden, cells, squashed, masters = ctx.saved_tensors
        steps, batch, units = hidden.shape
        chunks, chunk_size = cells.shape[2:]
        probability, *activated = _split(gates, chunks, chunk_size)
        rising = masters[..., :chunks]
        known = [part.split(max(1, CACHED // (batch * units))) for part in (*activated, cells[:-1], squashed, rising)]
        # The master gates are 1 - cumax and cumax, hence the sign; a distance is one minus their mean.
        d_rising = torch.stack((-d_input, -d_forget), -1)[..., None] / chunks  # (T, B, 2, 1)
        shape = chunks, masters.shape[-1]
        triangle = torch.ones(shape, dtype=weight.dtype, device=weight.device).tril()  # x @ it sums j >= k

        d_z = torch.empty_like(gates)
        dc = d_cell.reshape(batch, units).clone()
        dh = torch.zeros_like(h0)
        add = add_product(weight, rounded=ctx.rounded)
        candidate_and_pair = d_z[..., -3 * chunks * chunk_size :].unflatten(-1, (3, -1))  # (T, B, 3, H)
        views = [d_z, *_split(d_z, chunks, chunk_size)[:2], candidate_and_pair]
        by_step = list(zip(*(v.unbind() for v in (*views, probability, d_hidden, d_rising)), strict=True))
        for block in reversed(list(zip(*known, strict=True))):
            factors = list(zip(*(factor.unbind() for factor in _local_factors(*block)), strict=True))
            while factors:
                d_row, d_master, d_output, d_rest, p, d_above, d_distance = by_step.pop()
                dh += d_above
                _retreat(dh, dc, d_master, d_output, d_rest, p, d_distance, triangle, factors.pop())
                add(dh.zero_(), d_row)
        before = torch.cat((h0[None], hidden[:-1])).view(steps * batch, units)
        rows = d_z.view(steps * batch, -1).t()
        d_weight = product(rows, before, rounded=ctx.rounded) if ctx.needs_input_grad[1] else None
        return d_z, d_weight, dh, dc.view(batch, chunks, chunk_size), None


def _advance(
    master: Tensor,
    output: Tensor,
    candidate: Tensor,
    pair: Tensor,
    rising: Tensor,
    squashed: Tensor,
    h: Tensor,
    c: Tensor,
    c_before: Tensor,
) -> None:
    """One step: the rows of z become the activated gates. ``rising``, ``squashed``, ``h`` and ``c`` are written.

    ``master`` and ``rising`` (B, 2, m), ``output``, ``squashed`` and ``h`` (B, H), ``pair`` (B, 2, n, C), the others
    (B, n, C).
    """
    torch.cumsum(torch.softmax(master, -1, out=master), -1, out=rising)
    output.sigmoid_()
    candidate.tanh_()
    pair.sigmoid_()
    chunks = c.shape[1]
    master_input, master_forget = 1 - rising[:, 0, :chunks], rising[:, 1, :chunks]  # eq. 10, 9
    overlap = (master_input * master_forget)[:, None]  # eq. 11
    outside = torch.stack((master_input, master_forget), 1).sub_(overlap)
    final = torch.addcmul(outside[..., None], pair, overlap[..., None])  # ^i, ^f (eq. 13, 12)
    torch.mul(final[:, 1], c_before, out=c).addcmul_(final[:, 0], candidate)  # eq. 14
    torch.mul(output, torch.tanh(c.view_as(h), out=squashed), out=h)


def _retreat(
    dh: Tensor,
    dc: Tensor,
    d_master: Tensor,
    d_output: Tensor,
    d_rest: Tensor,
    probability: Tensor,
    d_distance: Tensor,
    triangle: Tensor,
    factors: tuple[Tensor, ...],
) -> None:
    """One step back: the rows of dz are written, and ``dc`` (B, H) becomes that of the step before.

    ``d_master`` and ``probability`` (B, 2, m), ``d_output`` (B, H), ``d_rest`` (B, 3, H), ``d_distance`` (B, 2, 1);
    ``factors`` are those of `_local_factors` at this step.
    """
    for_dh, for_gates, for_masters, final_forget = factors
    dc.addcmul_(dh, for_dh[0])
    torch.mul(dh, for_dh[1], out=d_output)
    torch.mul(dc[:, None], for_gates, out=d_rest)
    by_chunk = dc.view(len(dc), 1, *for_masters.shape[2:])
    d_cumax = torch.mul(by_chunk, for_masters).sum(-1).add_(d_distance)  # (B, 2, n)
    d_softmax = d_cumax @ triangle  # (B, 2, m)
    d_softmax -= (d_softmax * probability).sum(-1, keepdim=True)
    torch.mul(d_softmax, probability, out=d_master)
    dc *= final_forget


def _split(z: Tensor, chunks: int, chunk_size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Views of rows (…, 2m + 4H): master gates (…, 2, m), output (…, H), candidate (…, n, C), the pair (…, 2, n, C)."""
    units = chunks * chunk_size
    masters, output, candidate, pair = z.split([z.shape[-1] - 4 * units, units, units, 2 * units], -1)
    return (
        masters.unflatten(-1, (2, -1)),
        output,
        candidate.unflatten(-1, (chunks, chunk_size)),
        pair.unflatten(-1, (2, chunks, chunk_size)),
    )


def _local_factors(
    output: Tensor, candidate: Tensor, pair: Tensor, c_before: Tensor, squashed: Tensor, masters: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Derivatives at every step that do not wait for the gradient from later steps.

    Returns dc/dh and d(output row)/dh (T, 2, B, H); d(candidate, input, forget rows)/dc (T, B, 3, H); d(master sums)/dc
    (T, B, 2, n, C), still to be summed over the chunk; and d(previous c)/dc (T, B, H), the final forget gate.
    """
    i, f = pair.unbind(2)
    master_input, master_forget = (1 - masters[:, :, 0])[..., None], masters[:, :, 1][..., None]
    overlap = master_input * master_forget
    final_forget = overlap * (f - 1) + master_forget
    final_input = overlap * (i - 1) + master_input
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
    for_masters = torch.stack((-candidate - master_forget * for_overlap, c_before + master_input * for_overlap), 2)
    return through, for_gates.flatten(3), for_masters, final_forget.flatten(2)
