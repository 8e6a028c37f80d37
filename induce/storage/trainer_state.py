"""The state of a trainer as tensors and JSON values, from which it is restored bit for bit.

States are nested dictionaries, lists and tuples of tensors, numbers and texts. In JSON, a dictionary, a tuple, a tensor
or a number that is not finite is an object with one key, because JSON has no other way to keep their types: keys of
optimizers are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

PLAIN = (bool, int, float, str, type(None))


def split_tensors(state: Any) -> tuple[Any, dict[str, Tensor]]:
    """The ``state`` as JSON values, and its tensors, on the CPU, by the names that the values refer to."""
    tensors: dict[str, Tensor] = {}

    def encoded(value: Any) -> Any:
        if isinstance(value, Tensor):
            name = str(len(tensors))
            tensors[name] = value.detach().cpu().contiguous().clone()  # safetensors refuses shared memory
            return {"tensor": name}
        if isinstance(value, Mapping):
            return {"items": [[encoded(key), encoded(part)] for key, part in value.items()]}
        if isinstance(value, list | tuple):
            parts = [encoded(part) for part in value]
            return parts if isinstance(value, list) else {"tuple": parts}
        if isinstance(value, float) and not abs(value) < float("inf"):
            return {"float": repr(value)}
        if type(value) not in PLAIN:
            raise TypeError(f"the state of a trainer cannot contain {type(value).__name__}")
        return value

    return encoded(state), tensors


def join_tensors(values: Any, tensors: Mapping[str, Tensor]) -> Any:
    """The state that `split_tensors` took apart. Raises ValueError, KeyError or TypeError for other values."""
    if isinstance(values, list):
        return [join_tensors(value, tensors) for value in values]
    if not isinstance(values, dict):
        return values
    ((kind, value),) = values.items()
    if kind == "items":
        return {join_tensors(key, tensors): join_tensors(part, tensors) for key, part in value}
    if kind == "tuple":
        return tuple(join_tensors(part, tensors) for part in value)
    if kind == "float":
        return float(value)
    if kind == "tensor":
        return tensors[value]
    raise ValueError(f"unknown type {kind!r}")
