"""What a model takes for a token: the words of a sentence, their classes, or its characters (PRPN section 6.1)."""

from __future__ import annotations

import math
from collections.abc import Iterable

TOKENS = {"word": "words", "class": "classes", "character": "characters"}  # and several of them
SPACE = "\u2423"  # the open box, which shows a space


def characters(words: Iterable[str]) -> tuple[str, ...]:
    """The code points of ``words``, a `SPACE` between each two words and in the place of any white space within.

    A `SPACE` in the text itself reads as a space.
    """
    return tuple(SPACE if character.isspace() else character for character in " ".join(words))


def leaf(token: str) -> str:
    """What the leaves of trees are, word or character: there is one class for each word."""
    return "character" if token == "character" else "word"


def split(words: tuple[str, ...], token: str) -> tuple[str, ...]:
    """The tokens of a sentence of ``words``."""
    return characters(words) if token == "character" else words


def bits(loss: float, token: str) -> float | None:
    """``loss`` (nats a token) in bits per character, sentence ends included; None where tokens are words."""
    return loss / math.log(2) if token == "character" else None
