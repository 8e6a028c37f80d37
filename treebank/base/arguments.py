"""Arguments of the Python interface: single strings where a list is expected, paths for strings, and numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from operator import index
from typing import Any

from treebank.base.errors import SynparseError

#: names of options that are lists
LISTS = frozenset({"text", "dev", "teachers", "settings", "conventions", "baselines", "by", "labels"})


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """``options`` with strings for paths, and with a list for a single value of each of the `LISTS`.

    >>> plain_options({"labels": "NP", "title": "NP"})
    {'labels': ['NP'], 'title': 'NP'}
    """
    return {name: as_list(value) if name in LISTS else _without_path(value) for name, value in options.items()}


def as_list(value: Any) -> list[Any]:
    """The elements of ``value``, or ``value`` itself as the only element if it is a string or path, as strings."""
    return [_without_path(item) for item in ([value] if isinstance(value, str | os.PathLike) else value)]


def _without_path(value: Any) -> Any:
    """The string of a path, and any other value unchanged."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def check_count(name: str, value: Any, *, low: int = 0) -> None:
    """Raise SynparseError if ``value`` is neither None nor a whole number from ``low``."""
    try:
        if value is None or index(value) >= low:
            return
    except TypeError:
        pass
    raise SynparseError(f"{name} cannot be {value!r}; give a whole number from {low}")
