"""Patterns over Unicode properties, compiled on first use."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=64)
def compiled(pattern: str) -> Any:
    """``pattern`` in the syntax of the package regex (version 1 sets), in which spaces and comments are ignored."""
    import regex  # imported here, since only raw text needs it

    return regex.compile(pattern, regex.V1 | regex.X)
