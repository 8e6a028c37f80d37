"""Endings of words in a fixed number of buckets, by which the distilled parsers know rare words."""

from __future__ import annotations

from zlib import crc32

ENDINGS = (1, 2, 3)  # lengths in letters
BUCKETS = 4096  # for the endings of one length, some of which share a bucket


def buckets(word: str) -> list[int]:
    """Bucket of the ending of each length of ``word``, whose case does not matter."""
    lower = word.lower()
    return [crc32(lower[-count:].encode("utf-8", "replace")) % BUCKETS for count in ENDINGS]
