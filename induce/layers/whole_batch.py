"""What a loss takes from all of a batch, where each of several processes has a part: sums, means, the largest, columns.

Within `shared` the processes of a group go through the same model at the same time, each with its own part, and meet
wherever one of these functions is called. Outside they are what they are for one process. Gradients come back as those
of the sum of all losses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from induce.training.process_group import ALONE, ProcessGroup

_group = ALONE


@contextmanager
def shared(group: ProcessGroup) -> Iterator[None]:
    """Within, each process of ``group`` has a part of one batch."""
    global _group
    _group = group
    try:
        yield
    finally:
        _group = ALONE


def is_shared() -> bool:
    """Whether other processes wait for what this one computes, so that it cannot begin a batch again."""
    return _group.size > 1


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        total = values.clone()
        group.add(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        total = gradient.clone(memory_format=torch.contiguous_format)
        ctx.group.add(total)
        return total, None


def total(values: Tensor) -> Tensor:
    """The sum of ``values`` over all parts."""
    return cast(Tensor, _Sum.apply(values, _group)) if is_shared() else values


def mean(values: Tensor) -> Tensor:
    """The mean of the ``values`` in all parts."""
    return total(values.sum()) / _group.sums(values.numel())[0] if is_shared() else values.mean()


def largest(values: Tensor) -> Tensor:
    """The largest of the ``values`` in all parts; its gradient goes to where it is, in equal shares if in several."""
    own = values.max()
    if not is_shared():
        return own
    (found,) = _group.largest(float(own.detach()))
    mine = float(own.detach()) == found
    return total(own * mine) / _group.sums(mine)[0]


def columns(values: Tensor) -> Tensor:
    """The ``values`` (T, B) of all parts side by side, as they stand in the batch."""
    if not is_shared():
        return values
    counts = [int(count) for count in _group.sums(*(values.shape[1] * (k == _group.rank) for k in range(_group.size)))]
    before, behind = sum(counts[: _group.rank]), sum(counts[_group.rank + 1 :])
    return total(torch.cat((values.new_zeros(len(values), before), values, values.new_zeros(len(values), behind)), 1))


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation (Ioffe and Szegedy 2015) of (B, C) or (B, C, T) by the statistics of all parts."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not is_shared():
            return super().forward(x)
        places, shape = [0, *range(2, x.dim())], (1, -1, *[1] * (x.dim() - 2))
        (count,) = _group.sums(x.numel() / x.shape[1])
        middle = total(x.sum(places)) / count
        centred = x - middle.view(shape)
        variance = total(centred.square().sum(places)) / count
        self._remember(middle.detach(), variance.detach() * (count / max(1.0, count - 1)))
        scale = self.weight * (variance + self.eps).rsqrt()
        return centred * scale.view(shape) + self.bias.view(shape)

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        """Bring the statistics that are used in testing up to date."""
        rate = cast(float, self.momentum)
        cast(Tensor, self.num_batches_tracked).add_(1)
        cast(Tensor, self.running_mean).lerp_(mean, rate)
        cast(Tensor, self.running_var).lerp_(variance, rate)
