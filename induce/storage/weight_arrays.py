"""Weights in a safetensors file as arrays, for models that parse without torch."""

from __future__ import annotations

import numpy as np


def parse_arrays(data: bytes) -> dict[str, np.ndarray]:
    """The arrays in the content of a file. Raises ValueError if it is damaged or a weight is not finite."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays: dict[str, np.ndarray] = load(data)
    except (KeyError, SafetensorError, MemoryError) as error:
        raise ValueError(str(error) or "too large") from None
    if not all(np.isfinite(value).all() for value in arrays.values()):
        raise ValueError("it contains weights that are not finite numbers")
    return arrays
