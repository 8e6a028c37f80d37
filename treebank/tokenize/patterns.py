"""Patterns over Unicode properties, compiled when they are first needed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=64)
def compiled(pattern: str) -> Any:
    """``pattern`` in the syntax of the package regex (version 1 sets), spaces and comments in it left out."""
    import regex  # here, because only raw text needs it

    return regex.compile(pattern, regex.V1 | regex.X)
