"""Numbers with nouns in messages."""

from __future__ import annotations


def quantity(count: int, noun: str) -> str:
    """A count with its noun in the singular or plural.

    >>> quantity(1, "shard"), quantity(2000, "shard")
    ('1 shard', '2,000 shards')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
