"""Text for people: control characters shown instead of sent, width on a terminal, numbers with nouns."""

from __future__ import annotations

_UNPRINTABLE = (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xDC80))
_PRINTABLE = {code: f"\\x{code:02x}" for code in _UNPRINTABLE} | {ord("\n"): " "}
_PRINTABLE_LINES = {code: text for code, text in _PRINTABLE.items() if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    """``text`` in one line and without control characters: a space for a line end, ``\\x1b`` for an escape character.

    Characters that change the direction of writing and halves of characters are escaped as well. Letters of all
    scripts stay.
    """
    return text.translate(_PRINTABLE)


def printable_lines(text: str) -> str:
    """Lines of text with control characters spelled out as in `printable`, except line ends and tabs."""
    return text.translate(_PRINTABLE_LINES)


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
