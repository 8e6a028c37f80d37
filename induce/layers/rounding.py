"""Products of factors rounded to bfloat16, with sums in float32 (``train.precision``).

Torch's autocast rounds in the layers of a model, but not in functions with hand-written gradients: these compute in
float32 (`in_float32`), and call `product` for large products.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

FLOAT32, BFLOAT16 = "float32", "bfloat16"
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
