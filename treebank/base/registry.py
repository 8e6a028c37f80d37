"""Objects by name, with an error for an unknown name that suggests the nearest one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Generic, TypeVar

from treebank.base.errors import UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """A table of objects by name. ``noun`` names their type in messages.

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
            raise UnknownNameError(f"there is no {self.noun} {name!r}; {nearest(name, self.entries)}")
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
