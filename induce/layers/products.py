"""Products of matrices: their precision (``train.precision``), and the library that computes them on a CPU.

Factors can be rounded to bfloat16, with sums in float32. Torch's autocast rounds in the layers of a model, but not in
functions with hand-written gradients: these compute in float32 (`in_float32`), and call `product` for large products.

On processors of other vendors than Intel, MKL, the default of torch, takes about twice as long as oneDNN for products
in float32. Torch calls oneDNN if factors may be rounded to bfloat16. Only processors with matrix units for bfloat16 do
round; the others compute in float32. Each call of oneDNN costs some hundredths of a millisecond more, so it pays for
large products only. The choice follows from the vendor, an exactness check and the sizes of the products, never from
timing: the same call gives the same bits.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

FLOAT32, BFLOAT16 = "float32", "bfloat16"
MKL, ONEDNN = "mkl", "onednn"
MIN_MULTIPLICATIONS = 5 * 2**20  # in a model's mean product of one training step; smaller ones are faster by MKL
PRODUCTS = frozenset(("mm", "addmm", "addmm_", "bmm", "baddbmm", "baddbmm_"))  # the last two arguments are the factors
Forward = TypeVar("Forward", bound=Callable[..., Any])


def computing(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Block in which the layers of a model multiply in ``precision``, or in `FLOAT32` without gradients."""
    if precision == FLOAT32 or not torch.is_grad_enabled():
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)


def rounds(x: Tensor) -> bool:
    """Whether products are rounded on the device of ``x``."""
    device = x.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def product(x: Tensor, y: Tensor, *, rounded: bool) -> Tensor:
    """x y (M, N) in the type of ``x``, with factors ``rounded`` to bfloat16 or not."""
    return (x.bfloat16() @ y.bfloat16()).to(x.dtype) if rounded else x @ y


def in_float32(forward: Forward) -> Forward:
    """Decorator of the ``forward`` of a Function: no autocast inside, and bfloat16 arguments become float32."""

    @wraps(forward)
    def wrapped(*args: Any) -> Any:
        tensors = [argument for argument in args if isinstance(argument, Tensor)]
        if not any(map(rounds, tensors[:1])):
            return forward(*args)
        full = [x.float() if isinstance(x, Tensor) and x.dtype == torch.bfloat16 else x for x in args]
        with torch.autocast(tensors[0].device.type, enabled=False):
            return forward(*full)

    return wrapped  # type: ignore[return-value]


def _switch() -> Any:
    """Torch's setting `torch.backends.mkldnn.matmul`, or None if this version lacks it or was built without oneDNN."""
    switch = getattr(torch.backends.mkldnn, "matmul", None)
    return switch if torch.backends.mkldnn.is_available() and hasattr(switch, "fp32_precision") else None


@contextmanager
def multiplying(library: str) -> Iterator[None]:
    """Multiply by ``library`` inside the block, in all threads. If oneDNN would round, MKL is used instead.

    Numbers below 1.2e-38 are 0 (`flushing_denormals`).
    """
    switch = _switch()
    with flushing_denormals():
        if switch is None or (library == ONEDNN and not exact()):
            yield
            return
        before, switch.fp32_precision = switch.fp32_precision, "bf16" if library == ONEDNN else "ieee"
        try:
            yield
        finally:
            switch.fp32_precision = before


@contextmanager
def flushing_denormals() -> Iterator[None]:
    """Inside the block, numbers below 1.2e-38 are 0 in this thread and in those that it starts.

    A CPU computes with them so slowly that some trained grammars parsed at a sixth of their speed.
    """
    before = bool(torch.tensor(torch.finfo(torch.float32).tiny) / 2 == 0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


@cache
def exact() -> bool:
    """Whether oneDNN computes products of float32 matrices in float32 on this processor."""
    switch = _switch()
    if switch is None:
        return False
    before, switch.fp32_precision = switch.fp32_precision, "bf16"
    try:
        rows, factor = torch.full((128, 512), 1 + 2.0**-12), 1 + 2.0**-11  # 8 bits would round both to 1
        return bool((rows @ (factor * torch.eye(512)) == rows * factor).all())
    finally:
        switch.fp32_precision = before


@cache
def is_intel() -> bool:
    """Whether the processor is Intel's, for which MKL is made."""
    info = Path("/proc/cpuinfo")
    return "Intel" in (info.read_text("utf-8", "replace") if info.exists() else platform.processor())


class ProductSizes(TorchDispatchMode):
    """Count of matrix products inside its ``with`` block and of their multiplications, backward passes included."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = self.multiplications = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keep torch from loading its compiler, which takes a second or more."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket.__name__ in PRODUCTS:
            left, right = args[-2:]
            self.calls += 1
            self.multiplications += left.numel() * right.shape[-1]
            return func(*args, **(kwargs or {}))
        with self:  # in inference mode, composite operations such as linear arrive undecomposed
            parts = func.decompose(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {})) if parts is NotImplemented else parts


def choose_library(compute: Callable[[], object], min_multiplications: int = MIN_MULTIPLICATIONS) -> str:
    """The library for a model: oneDNN if it is exact, the processor is not Intel's, and the mean matrix product that
    ``compute`` executes has ``min_multiplications`` or more. ``compute`` is called at most once."""
    if is_intel() or not exact():
        return MKL
    with ProductSizes() as sizes:
        compute()
    return ONEDNN if sizes.multiplications >= min_multiplications * max(1, sizes.calls) else MKL
