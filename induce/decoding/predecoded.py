"""Decoders for models that return trees or heads directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treebank.core.dependency import Heads


def brackets(spans: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Unchanged spans, ``(start, end)`` or ``(start, end, label)``."""
    return list(spans)


def arcs(heads: Sequence[int]) -> Heads:
    """Unchanged heads."""
    return tuple(heads)
