"""Products of a few rows with one large matrix, repeated at every time step of a recurrence.

The order of the factors follows from the size of the matrix alone, so that the same model gives the same bits on one
machine, whatever else the machine does.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

CACHED_ENTRIES = 2**20  # a larger matrix does not fit into the cache of current processors

AddProduct = Callable[[Tensor, Tensor], Tensor]  # adds x @ matrix to its first argument (rows, M), in place


def add_product(matrix: Tensor, *, rounded: bool = False) -> AddProduct:
    """Function that adds ``x @ matrix`` to its first argument, for the rows x (rows, K) of one time step.

    A matrix (K, M) that exceeds the cache of a CPU is the left factor, which is read once from front to back. With
    ``rounded`` both factors are rounded to bfloat16; sums are taken in float32, and the result is rounded once.
    """
    if rounded:
        return _rounded(matrix)
    if matrix.device.type == "cpu" and matrix.numel() > CACHED_ENTRIES:
        left = matrix.t().contiguous()
        return lambda out, x: out.add_(torch.mm(left, x.t().contiguous()).t())
    right = matrix.contiguous()
    return lambda out, x: out.addmm_(x, right)


def _rounded(matrix: Tensor) -> AddProduct:
    """`add_product` in bfloat16, on a CPU with a matrix that oneDNN packs once for all steps."""
    if matrix.device.type != "cpu":
        right = matrix.bfloat16().contiguous()
        return lambda out, x: out.add_(x.bfloat16() @ right)
    packed = torch.ops.mkldnn._reorder_linear_weight(matrix.t().bfloat16().contiguous(), None)
    linear = torch.ops.mkldnn._linear_pointwise
    return lambda out, x: out.add_(linear(x.bfloat16().contiguous(), packed, None, "none", [], ""))
