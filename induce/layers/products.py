"""Thin products: a few rows times one large matrix, over and over, which is the heart of a recurrence.

What is fastest differs by processor, number of threads and shape, often by a factor of two and more, and follows no
rule that could be written down. So the few ways there are get timed, once for each shape, and the fastest is taken.
Ways differ in the last bits of their results: a run that must repeat another takes over its ``choices``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, cast

import torch
from torch import Tensor, nn

from treebank.base.errors import SynparseError

LARGE = 2**20  # entries from which a matrix no longer fits into the cache; below, the right factor is as good as any
MARGIN = 0.85  # share of the time of the rule's way below which another way is taken: chance must not decide
REPEATS = 3  # products timed for each way

Product = Callable[[Tensor, Tensor], Tensor]  # adds x @ matrix to its first argument (rows, M), in place


def _right(matrix: Tensor, rows: int) -> Product:
    """The matrix as the right factor, stored row by row."""
    right = matrix.contiguous()
    return lambda out, x: out.addmm_(x, right)


def _left(matrix: Tensor, rows: int) -> Product:
    """The matrix as the left factor, read from front to back once a product: at memory speed where others are not."""
    left = matrix.t().contiguous()
    return lambda out, x: out.add_(torch.mm(left, x.t().contiguous()).t())


def _mkl(matrix: Tensor, rows: int) -> Product:
    """The matrix packed by MKL for so many rows; other numbers of rows use it unpacked."""
    weight = matrix.t().contiguous()
    packed = torch.ops.mkl._mkl_reorder_linear_weight(weight, rows)
    return lambda out, x: out.add_(torch.ops.mkl._mkl_linear(x.contiguous(), packed, weight, None, rows))


def _onednn(matrix: Tensor, rows: int) -> Product:
    """The matrix packed by oneDNN."""
    packed = torch.ops.mkldnn._reorder_linear_weight(matrix.t().contiguous(), None)
    linear = torch.ops.mkldnn._linear_pointwise
    return lambda out, x: out.add_(linear(x.contiguous(), packed, None, "none", [], ""))


def _bfloat16(matrix: Tensor, rows: int) -> Product:
    """Both factors rounded to bfloat16; sums are taken in float32 and the result is rounded once."""
    if matrix.device.type != "cpu":
        right = matrix.bfloat16().contiguous()
        return lambda out, x: out.add_(x.bfloat16() @ right)
    packed = torch.ops.mkldnn._reorder_linear_weight(matrix.t().bfloat16().contiguous(), None)
    linear = torch.ops.mkldnn._linear_pointwise
    return lambda out, x: out.add_(linear(x.bfloat16().contiguous(), packed, None, "none", [], ""))


WAYS: dict[str, Callable[[Tensor, int], Product]] = {
    "right": _right,
    "left": _left,
    "mkl": _mkl,
    "onednn": _onednn,
    "bfloat16": _bfloat16,
}
SETTINGS = ("auto", *WAYS)


def rule(matrix: Tensor) -> str:
    """The way that needs no measuring: "left" for a large matrix on a processor, else "right"."""
    return "left" if matrix.device.type == "cpu" and matrix.numel() > LARGE else "right"


def possible(matrix: Tensor) -> list[str]:
    """The ways to multiply by ``matrix`` in its own precision on its device."""
    ways = ["right", "left"]
    if matrix.device.type == "cpu" and matrix.dtype == torch.float32:
        ways += ["mkl"] * (torch.backends.mkl.is_available() and hasattr(torch.ops.mkl, "_mkl_linear"))
        ways += ["onednn"] * (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise"))
    return ways


def seconds(matrix: Tensor, rows: int, steps: int) -> dict[str, float]:
    """What ``steps`` products of ``rows`` rows cost each possible way, the preparation of the matrix included."""
    x, out = matrix.new_zeros(rows, matrix.shape[0]), matrix.new_zeros(rows, matrix.shape[1])
    times = {}
    for way in possible(matrix):
        start = time.perf_counter()
        product = WAYS[way](matrix, rows)
        prepared = time.perf_counter() - start
        product(out, x)
        best = float("inf")
        for _ in range(REPEATS):
            start = time.perf_counter()
            product(out, x)
            best = min(best, time.perf_counter() - start)
        times[way] = prepared + steps * best
    return times


class Products:
    """How a model computes its thin products: by one way for all, or "auto", the fastest for each shape.

    ``choices`` maps shapes, "rows x K x M", to ways. It begins with those of a run that is to be repeated, given as
    `record` writes them, and grows. Only large matrices are measured, so that small models compute the same bits
    whatever else the machine does; and only in learning: what a trained model gives does not depend on the clock, nor
    on products that were rounded to bfloat16.
    """

    def __init__(self, setting: str = "auto", record: Iterable[str] = (), *, measure: bool = True) -> None:
        """Without ``measure`` "auto" means the rule, for processes that must choose alike."""
        if setting not in SETTINGS:
            raise ValueError(f"products = {setting!r} is none of {', '.join(SETTINGS)}")
        self.setting, self.measure = setting, measure
        self.choices = {shape: way for shape, _, way in (line.partition(": ") for line in record) if way in WAYS}

    def rounded(self) -> Products:
        """The same, all by bfloat16, unless a way was asked for."""
        return Products("bfloat16") if self.setting == "auto" else self

    def record(self) -> list[str]:
        """The choices as lines "rows x K x M: way", for the facts of a run."""
        return [f"{shape}: {way}" for shape, way in self.choices.items()]

    def way(self, matrix: Tensor, rows: int, steps: int, *, learning: bool = True) -> str:
        """The way for ``steps`` products of ``rows`` rows with ``matrix`` (K, M); by the rule if not ``learning``."""
        choice = self.measure and rule(matrix) == "left" and matrix.dtype == torch.float32
        if not learning or (self.setting == "auto" and not choice):
            return rule(matrix)
        if self.setting != "auto":
            return self.setting
        shape = f"{rows} x {matrix.shape[0]} x {matrix.shape[1]}"
        if shape not in self.choices:
            times = seconds(matrix, rows, steps)
            best = min(times, key=times.__getitem__)
            self.choices[shape] = best if times[best] < MARGIN * times["left"] else "left"
        return self.choices[shape]

    def product(self, matrix: Tensor, rows: int, steps: int, *, learning: bool = True) -> Product:
        """Function that adds ``x @ matrix`` to its first argument, for the few rows x of one time step.

        SynparseError: the way that was asked for does not exist for this matrix on this machine.
        """
        way = self.way(matrix, rows, steps, learning=learning)
        if way not in (*possible(matrix), "bfloat16"):
            raise SynparseError(f"products = {way!r} is not possible here, only {', '.join(possible(matrix))}")
        return WAYS[way](matrix, rows)


def use(products: Products, model: nn.Module) -> None:
    """Let every layer of ``model`` that has thin products compute them as ``products`` says."""
    for module in model.modules():
        if isinstance(getattr(module, "products", None), Products):
            cast(Any, module).products = products
