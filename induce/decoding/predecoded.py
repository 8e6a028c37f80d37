"""For models that decode themselves: what they give is the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treebank.core.dependency import Heads


def brackets(spans: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The spans as they are, ``(start, end)`` or ``(start, end, label)``."""
    return list(spans)


def arcs(heads: Sequence[int]) -> Heads:
    """The heads as they are."""
    return tuple(heads)
