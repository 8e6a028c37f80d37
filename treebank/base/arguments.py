"""Arguments of functions: objects by name (an error suggests the nearest one), lists, paths, numbers, callbacks."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from numbers import Real
from operator import index
from typing import Any, Generic, TypeVar

from treebank.base.errors import SynparseError, UnknownNameError

# --- names

T = TypeVar("T")


class Registry(Generic[T]):
    """A table of objects by name. ``noun`` names their type in messages. The name "" is that of a default.

    >>> colors = Registry("color", {"red": 1, "blue": 2})
    >>> colors.get("red"), "green" in colors, list(colors)
    (1, False, ['red', 'blue'])
    """

    def __init__(self, noun: str, entries: Mapping[str, T]) -> None:
        self.noun, self.entries = noun, dict(entries)

    def add(self, name: str, entry: T) -> None:
        """Add an object, or replace the one called ``name``."""
        self.entries[name] = entry

    def get(self, name: str) -> T:
        """The object called ``name``. Raises UnknownNameError that suggests the nearest name."""
        if name not in self.entries:
            raise UnknownNameError(f"there is no {self.noun} {name!r}; {nearest(name, filter(None, self.entries))}")
        return self.entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def items(self) -> Iterable[tuple[str, T]]:
        """Names and objects."""
        return self.entries.items()

    def values(self) -> Iterable[T]:
        """All objects."""
        return self.entries.values()


def nearest(name: str, known: Iterable[object]) -> str:
    """``did you mean 'x'?`` for the known name most similar to ``name``, else the list of all names."""
    names = sorted(map(str, known))
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(each or "''" for each in names)


def canonical(table: Iterable[str], name: str) -> str:
    """The key of ``table`` that equals ``name`` except for capitals, hyphens and underscores, or ``name`` itself."""
    if name in table:
        return name
    bare = {key: key.lower().replace("-", "").replace("_", "") for key in (*table, name)}
    matches = [key for key in table if bare[key] == bare[name]]
    return matches[0] if len(matches) == 1 else name


# --- lists, paths and numbers

#: names of options that are lists, of texts or of strings
TEXTS = frozenset({"text", "dev"})
LISTS = TEXTS | {"teachers", "settings", "conventions", "baselines", "predicted", "by", "labels"}
#: names of options that are strings
STRINGS = frozenset({"model", "preset", "task", "trees", "title", "decoder", "normalization", "head_rules"})
STRING = "a string or path"
_NAMED = re.compile(r"([^=@/\\*?\[\]]+)=(.+)", re.DOTALL)


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """``options`` with strings for paths, and with a list for a single value of each of the `LISTS`.

    Raises SynparseError for other types of the `STRINGS` and `LISTS`.

    >>> plain_options({"labels": "NP", "title": "NP"})
    {'labels': ['NP'], 'title': 'NP'}
    """
    for name in STRINGS & options.keys():
        check_type(name, options[name], (str, os.PathLike, type(None)), STRING)
    return {name: as_list(value, name) if name in LISTS else _without_path(value) for name, value in options.items()}


def as_list(value: Any, name: str) -> list[Any]:
    """The elements of ``value``, or ``value`` itself as the only element if it is a string or path, as strings.

    Raises SynparseError, with the ``name`` of the argument, for values that are not lists, and for elements that are
    not strings unless they are `TEXTS`.
    """
    check_type(name, value, (str, os.PathLike, Iterable), f"{STRING}, or a list of them")
    items = [value] if isinstance(value, str | os.PathLike) else list(value)
    for item in items if name not in TEXTS else ():
        check_type(name, item, (str, os.PathLike), STRING)
    return [_without_path(item) for item in items]


def _without_path(value: Any) -> Any:
    """The string of a path, and any other value unchanged."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def split_name(text: str) -> tuple[str, str]:
    """Name and path of a system in ``NAME=PATH``, or "" and the path without a name.

    A path or pattern that exists has no name, even if it contains ``=``.

    >>> split_name("ours=runs/a@layer=2"), split_name("runs/lr=0.1")
    (('ours', 'runs/a@layer=2'), ('', 'runs/lr=0.1'))
    """
    match = _NAMED.fullmatch(text)
    for path in (text, text.rpartition("@")[0]) if match else ():
        if os.path.lexists(path) or (glob.has_magic(path) and glob.glob(path)):
            return "", text
    return (match[1], match[2]) if match else ("", text)


def check_names(names: Iterable[str]) -> None:
    """Raise SynparseError if two systems have the same name, which tables and comparisons could not tell apart."""
    if repeated := next((name for name, count in Counter(names).items() if count > 1), ""):
        raise SynparseError(f"two systems are called {repeated!r}; choose different names, as NAME=PATH")


def check_type(name: str, value: Any, types: tuple[type, ...], expected: str) -> None:
    """Raise SynparseError if ``value`` has none of the ``types``, which ``expected`` describes."""
    if not isinstance(value, types):
        raise SynparseError(f"{name} cannot be {value!r}; give {expected}")


def check_count(name: str, value: Any, *, low: int = 0) -> None:
    """Raise SynparseError if ``value`` is neither None nor a whole number from ``low``."""
    try:
        if value is None or index(value) >= low:
            return
    except TypeError:
        pass
    raise SynparseError(f"{name} cannot be {value!r}; give a whole number from {low}")


def check_minutes(name: str, value: Any) -> None:
    """Raise SynparseError if ``value`` is neither None nor a number above 0."""
    if value is not None and not (isinstance(value, Real) and float(value) > 0):
        raise SynparseError(f"{name} cannot be {value!r}; give a number of minutes above 0")


# --- callbacks


def ignore(*arguments: object) -> None:
    """Callback without effect. Unlike a lambda, it can be sent to another process."""
