"""Which library multiplies matrices of float32 on a processor: MKL, which torch asks by itself, or oneDNN.

On processors that are not Intel's MKL may take twice as long and more. torch asks oneDNN where factors may be rounded
to bfloat16; only processors that have matrix units for that do round, others compute in float32 all the same. So oneDNN
is taken where it is exact, where measuring finds it much faster, and for a model whose products are large enough: each
call of it costs some hundredths of a millisecond.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import TracebackType
from typing import Any, TypeVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode

MKL, ONEDNN = "mkl", "onednn"
MARGIN = 0.7  # share of MKL's time below which oneDNN is taken: chance must not decide
ROUNDS = 5  # in which both are timed, by turns
ROWS, SIZE = 128, 512  # of the products timed
LEAST = 5 * 2**20  # multiplications of a model's mean product from which oneDNN's speed outweighs what calls cost
PRODUCTS = frozenset(("mm", "addmm", "addmm_", "bmm", "baddbmm", "baddbmm_"))  # of which the last two factors count

Result = TypeVar("Result")


def _switch() -> Any:
    """torch's switch, `torch.backends.mkldnn.matmul`; None where this version has none, or no oneDNN."""
    switch = getattr(torch.backends.mkldnn, "matmul", None)
    return switch if torch.backends.mkldnn.is_available() and hasattr(switch, "fp32_precision") else None


@contextmanager
def multiplying(backend: str) -> Iterator[None]:
    """Products are those of a library from here to the end, in all threads; of MKL's where oneDNN would round."""
    switch = _switch()
    if switch is None or (backend == ONEDNN and not exact()):
        yield
        return
    before, switch.fp32_precision = switch.fp32_precision, "bf16" if backend == ONEDNN else "ieee"
    try:
        yield
    finally:
        switch.fp32_precision = before


@cache
def exact() -> bool:
    """Whether oneDNN computes products of float32 in float32 here."""
    switch = _switch()
    if switch is None:
        return False
    before, switch.fp32_precision = switch.fp32_precision, "bf16"
    try:
        one, factor = torch.full((ROWS, SIZE), 1 + 2.0**-12), 1 + 2.0**-11  # 8 bits would round both to 1
        return bool((one @ (factor * torch.eye(SIZE)) == one * factor).all())
    finally:
        switch.fp32_precision = before


@cache
def faster() -> bool:
    """Whether oneDNN is exact, and much faster than MKL at large products."""
    if not exact():
        return False
    one, other = torch.ones(ROWS, SIZE), torch.ones(SIZE, SIZE)
    best = dict.fromkeys((MKL, ONEDNN), float("inf"))
    for _ in range(1 + ROUNDS):
        for name in best:
            with multiplying(name):
                began = time.perf_counter()
                one @ other
                best[name] = min(best[name], time.perf_counter() - began)
    return best[ONEDNN] < MARGIN * best[MKL]


class Sizes(TorchDispatchMode):
    """How many products there are within its ``with`` and how many multiplications, those of gradients included."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = self.multiplications = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """torch would load its compiler, a second and more, to keep it away from here."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket.__name__ in PRODUCTS:
            one, other = args[-2:]
            self.calls += 1
            self.multiplications += one.numel() * other.shape[-1]
            return func(*args, **(kwargs or {}))
        with self:  # of inference, operations come whole, such as linear
            parts = func.decompose(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {})) if parts is NotImplemented else parts


def backend_for(work: Callable[[], Result], least: int = LEAST) -> tuple[str, Result]:
    """The library for a model, by ``work``, which is done here once, and its result; ``least`` as `LEAST`."""
    if not faster():
        return MKL, work()
    with Sizes() as sizes:
        result = work()
    return ONEDNN if sizes.multiplications >= least * max(1, sizes.calls) else MKL, result


class Backend:
    """The library of a training, from entering this to leaving it."""

    def __init__(self, name: str = "") -> None:
        """Without a name (`MKL` or `ONEDNN`) the first step decides."""
        self.name = name
        self._used: Any = None

    def __enter__(self) -> Backend:
        self._used = multiplying(self.name or MKL)
        self._used.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._used.__exit__(kind, error, at)

    def step(self, work: Callable[[], Result]) -> Result:
        """Do a step of the training; the first one by MKL, while its products are counted."""
        if self.name:
            return work()
        self.name, result = backend_for(work)
        self.__exit__(None, None, None)
        self.__enter__()
        return result
