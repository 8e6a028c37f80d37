"""Products whose factors are rounded to bfloat16 and whose sums are taken in float32 (``train.precision``).

torch's autocast does so for the layers of a model. Functions with gradients by hand are not seen by it: they compute in
float32 (`in_float32`), and multiply by `product` where that is what they spend their time on.
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
    """Within its ``with`` the layers of a model multiply in `FLOAT32` or `BFLOAT16`; nothing without gradients does."""
    if precision == FLOAT32 or not torch.is_grad_enabled():
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)


def rounds(x: Tensor) -> bool:
    """Whether products are rounded where ``x`` is."""
    device = x.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def product(x: Tensor, y: Tensor, *, rounded: bool) -> Tensor:
    """x y (M, N) in the type of ``x``, of factors ``rounded`` to bfloat16 or not."""
    return (x.bfloat16() @ y.bfloat16()).to(x.dtype) if rounded else x @ y


def in_float32(forward: Forward) -> Forward:
    """The ``forward`` of a Function, without autocast, and what came rounded from it in float32."""

    @wraps(forward)
    def wrapped(*args: Any) -> Any:
        tensors = [one for one in args if isinstance(one, Tensor)]
        if not any(rounds(one) for one in tensors[:1]):
            return forward(*args)
        full = [one.float() if isinstance(one, Tensor) and one.dtype == torch.bfloat16 else one for one in args]
        with torch.autocast(tensors[0].device.type, enabled=False):
            return forward(*full)

    return wrapped  # type: ignore[return-value]
