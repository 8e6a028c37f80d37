"""Text for people: control characters shown instead of sent, width on a terminal, numbers with nouns."""

from __future__ import annotations

_UNPRINTABLE = frozenset(
    map(chr, [*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xDC80)])
)


def printable(text: str) -> str:
    """``text`` in one line and without control characters: a space for a line end, ``\\x1b`` for an escape character.

    Characters that change the direction of writing and halves of characters are escaped as well. Letters of all
    scripts stay.
    """
    return "".join(f"\\x{ord(c):02x}" if c in _UNPRINTABLE else c for c in text.replace("\n", " "))


def columns(text: str) -> int:
    """Number of terminal columns of ``text``: 2 for a Chinese character, 0 for a combining mark."""
    from rich.cells import cell_len

    return cell_len(text) if text.isprintable() else len(text)


def quantity(count: int, noun: str) -> str:
    """A count with its noun in the singular or plural.

    >>> quantity(1, "shard"), quantity(2000, "shard")
    ('1 shard', '2,000 shards')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
