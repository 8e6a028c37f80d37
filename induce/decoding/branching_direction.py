"""Frequent words at the edges of sentences: to which side a language branches, read off a text without any tree.

Where heads come first, function words (articles, prepositions, conjunctions) stand at the left edge of phrases, and
trees branch to the right; where heads come last, they stand at the right edge (Gervain, Nespor, Mazuka, Horie & Mehler
2008, Bootstrapping word order in prelexical infants, Cognitive Psychology 57). The frequent words are mostly function
words, and the edges of sentences are edges of phrases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from induce.data.vocabulary import UNKNOWN

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus

FACT = "edges"  # in checkpoint.json
FREQUENT = 50  # words
CLEARLY = 10.0  # points between both edges; see docs/decoding.md
SHORTEST = 3  # words of a sentence that is looked at: two words have one tree
LOOKED_AT = 5_000  # sentences


@dataclass(frozen=True)
class Edges:
    """How many sentences begin with a frequent word, and how many end with one."""

    first: float  # percent
    last: float
    sentences: int

    @property
    def side(self) -> str:
        """``right`` or ``left``; empty where it is not clear."""
        if abs(self.first - self.last) < CLEARLY:
            return ""
        return "right" if self.first > self.last else "left"

    @property
    def decoder(self) -> str:
        """The decoder of distances that fits: `biased` leans to the right, `unbiased` nowhere."""
        return "biased" if self.side == "right" else "unbiased"

    def __str__(self) -> str:
        branches = "branches to the right" if self.decoder == "biased" else "does not clearly branch to the right"
        return (
            f"decoder {self.decoder}: the text {branches} ({self.first:.0f}% of its sentences begin with one of its "
            f"{FREQUENT} most frequent words, {self.last:.0f}% end with one)"
        )

    @classmethod
    def in_facts(cls, facts: Mapping[str, Any]) -> Edges | None:
        """What checkpoint.json says, if anything."""
        value = facts.get(FACT)
        return value and cls(value["first"], value["last"], value["sentences"])

    def fact(self) -> dict[str, Any]:
        """What checkpoint.json is to say."""
        return {FACT: asdict(self)}


def edges_of(corpus: EncodedCorpus) -> Edges:
    """The edges of the first sentences of a text. What stands for rare words is not frequent itself."""
    offsets = np.asarray(corpus.offsets[: LOOKED_AT + 1])
    ids = np.asarray(corpus.ids[: offsets[-1]])
    counts = np.bincount(ids, minlength=len(corpus.vocabulary))
    counts[[index for index, word in enumerate(corpus.vocabulary.words) if word.startswith(UNKNOWN[:-1])]] = 0
    counts[0] = 0  # the ends of sentences
    frequent = np.zeros(len(counts), dtype=bool)
    frequent[np.argsort(-counts, kind="stable")[:FREQUENT]] = True
    frequent &= counts > 0
    long = np.diff(offsets) - 1 >= SHORTEST
    first, last = frequent[ids[offsets[:-1][long]]], frequent[ids[offsets[1:][long] - 2]]
    share = [round(100 * float(edge.mean()), 2) if edge.size else 0.0 for edge in (first, last)]
    return Edges(share[0], share[1], int(long.sum()))
