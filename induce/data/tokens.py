"""Tokens of a model: the words of a sentence, their classes, or its characters (PRPN section 6.1)."""

from __future__ import annotations

import math
from collections.abc import Iterable

TOKENS = {"word": "words", "class": "classes", "character": "characters"}  # singular and plural
SPACE = "\u2423"  # the open box, which shows a space


def characters(words: Iterable[str]) -> tuple[str, ...]:
    """Code points of ``words``, with a `SPACE` between words and for white space within words.

    A `SPACE` in the text itself is not distinguished from a space.
    """
    return tuple(SPACE if character.isspace() else character for character in " ".join(words))


def leaf(token: str) -> str:
    """Type of the leaves of trees: ``character``, or ``word`` for words and their classes."""
    return "character" if token == "character" else "word"


def split(words: tuple[str, ...], token: str) -> tuple[str, ...]:
    """The tokens of a sentence of ``words``."""
    return characters(words) if token == "character" else words


def bits(loss: float, token: str) -> float | None:
    """``loss`` (nats per token) in bits per character, with sentence ends, or None if tokens are words."""
    return loss / math.log(2) if token == "character" else None
