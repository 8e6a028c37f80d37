"""A fake device for machines without a GPU, which computes on the CPU.

Its tensors report the device "meta". As on a GPU, they cannot be combined with CPU tensors, except for scalars, indices
and copies, and cannot be converted to numpy arrays. Therefore code that forgets a device fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = "meta"
aten = torch.ops.aten
MIXING = {
    aten.index.Tensor,
    aten.index_put_.default,
    aten.index_put.default,
    aten.copy_.default,
    aten._index_put_impl_.default,
}
PACKING = {aten._pack_padded_sequence.default, aten._pad_packed_sequence.default}  # take lengths on the CPU
RESHAPING = {aten.squeeze_.dim, aten.squeeze_.default, aten.unsqueeze_.default, aten.t_.default}


class Elsewhere(torch.Tensor):
    """A tensor on the fake device, whose values are in the CPU tensor ``inner``."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Elsewhere:
        made: Elsewhere = torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, device=DEVICE
        )
        made.inner = inner
        return made

    def __repr__(self, **_: Any) -> str:
        return f"Elsewhere({self.inner!r})"

    def __getitem__(self, index: Any) -> torch.Tensor:
        """Convert list indices to tensors, since torch does not read their values on the device "meta"."""
        return super().__getitem__(torch.tensor(index) if isinstance(index, list) else index)

    def tolist(self) -> Any:
        """The values as a nested list."""
        return self.inner.tolist()

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        return compute(function, args, kwargs or {})


class Device(TorchDispatchMode):
    """Context in which tensors can be created on the fake device."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        return compute(function, args, kwargs or {})


def compute(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Result of ``function``, on the device of its arguments or on the device that it names."""
    flat, _ = tree_flatten((args, kwargs))
    tensors = [item for item in flat if isinstance(item, torch.Tensor)]
    away = [item for item in tensors if isinstance(item, Elsewhere)]
    near = [item for item in tensors if not isinstance(item, Elsewhere) and item.dim()]
    named = kwargs.get("device")
    goes = bool(away) if named is None else torch.device(named).type == DEVICE
    if away and near and function not in MIXING | PACKING:
        raise RuntimeError(f"{function}: expected all tensors on the same device, but found cpu and another")
    if named is not None and goes:
        kwargs = {**kwargs, "device": "cpu"}
    if function in RESHAPING and away:
        with torch._C._DisableTorchDispatch():
            function(*args, **kwargs)
    owner = {id(item.inner): item for item in away}
    args, kwargs = tree_map(lambda item: item.inner if isinstance(item, Elsewhere) else item, (args, kwargs))
    result = function(*args, **kwargs)
    if function is aten.copy_.default:
        return tensors[0]
    if function in PACKING and goes:
        return Elsewhere(result[0]), result[1]

    def back(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in owner:
            return owner[id(value)]
        return Elsewhere(value) if goes else value

    return tree_map(back, result)
