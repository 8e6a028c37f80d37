"""Patterns over Unicode properties, compiled on first use."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=64)
def compiled(pattern: str) -> Any:
    r"""Compile ``pattern`` with the package regex, in verbose mode (spaces and comments are ignored).

    Character sets follow version 1 of its syntax, with operations such as ``[\p{L}--\p{Lu}]``.
    """
    import regex  # imported here, since only raw text needs it

    return regex.compile(pattern, regex.V1 | regex.X)
