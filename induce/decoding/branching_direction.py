"""Branching direction of a language, estimated from the frequent words at the edges of sentences.

In head-initial languages function words (articles, prepositions, conjunctions) are at the left edge of phrases, and
trees branch to the right; in head-final languages they are at the right edge (Gervain, Nespor, Mazuka, Horie & Mehler
2008, Bootstrapping word order in prelexical infants, Cognitive Psychology 57). The frequent words are mostly function
words, and the edges of sentences are edges of phrases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from induce.data.corpus import EncodedCorpus
from induce.data.vocabulary import UNKNOWN

FACT = "edges"  # key in checkpoint.json
FREQUENT_WORDS = 50
CLEAR_DIFFERENCE = 10.0  # percentage points between both edges; see docs/reference/decoders.md
EVIDENCE_SCALE = 8.0  # points beyond twice the standard error at which priors have 63 % of their strength
MIN_LENGTH = 3  # words of a sentence that counts: two words have only one tree
MAX_SENTENCES = 5_000


@dataclass(frozen=True)
class Branching:
    """Branching direction that priors assume: ``right``, ``left``, or empty if unknown.

    ``strength`` (0 to 1) scales the priors that depend on the direction; a direction ``is_clear`` if decoders may
    rely on it as well.
    """

    direction: str = ""
    strength: float = 0.0
    is_clear: bool = False

    @property
    def branches_right(self) -> bool:
        """Whether the language clearly branches to the right."""
        return self.is_clear and self.direction == "right"


UNKNOWN_BRANCHING = Branching()


@dataclass(frozen=True)
class Edges:
    """Percentage of sentences that begin, and that end, with a frequent word."""

    first: float
    last: float
    sentences: int

    @property
    def difference(self) -> float:
        """Percentage of sentences with a frequent word at the beginning minus that at the end."""
        return self.first - self.last

    @property
    def error(self) -> float:
        """Standard error of `difference` in points, with both edges counted as independent."""
        variance = sum(share * (100 - share) for share in (self.first, self.last))
        return math.sqrt(variance / max(1, self.sentences))

    @property
    def strength(self) -> float:
        """Strength of the evidence for a direction, from 0 to 1.

        It is 1 - exp(-max(0, |d| - 2 e) / `EVIDENCE_SCALE`) for the difference d and its standard error e.
        """
        evidence = max(0.0, abs(self.difference) - 2 * self.error)
        return round(1 - math.exp(-evidence / EVIDENCE_SCALE), 3)

    @property
    def branching(self) -> Branching:
        """Estimated direction.

        It is clear if both edges differ by `CLEAR_DIFFERENCE` points or more.
        """
        is_clear = abs(self.difference) >= CLEAR_DIFFERENCE
        if not self.strength and not is_clear:
            return UNKNOWN_BRANCHING
        return Branching("right" if self.difference > 0 else "left", self.strength, is_clear)

    def __str__(self) -> str:
        """One sentence for the user: direction, evidence, strength."""
        direction = self.branching.direction
        branches = f"probably branches to the {direction}" if direction else "does not clearly branch to one side"
        return (
            f"the text {branches}: {self.first:.0f}% of its sentences begin with one of its {FREQUENT_WORDS} most "
            f"frequent words, {self.last:.0f}% end with one (strength {self.strength:.2f})"
        )


def edges_of(corpus: Any) -> Edges | None:
    """Edges of the first `MAX_SENTENCES` sentences of a text, or None for data of another type.

    Symbols for unknown words do not count as frequent words.
    """
    if not isinstance(corpus, EncodedCorpus):
        return None
    offsets = np.asarray(corpus.offsets[: MAX_SENTENCES + 1])
    ids = np.asarray(corpus.ids[: offsets[-1]])
    counts = np.bincount(ids, minlength=len(corpus.vocabulary))
    counts[[index for index, word in enumerate(corpus.vocabulary.words) if word.startswith(UNKNOWN[:-1])]] = 0
    counts[0] = 0  # the ends of sentences
    frequent = np.zeros(len(counts), dtype=bool)
    frequent[np.argsort(-counts, kind="stable")[:FREQUENT_WORDS]] = True
    frequent &= counts > 0
    long = np.diff(offsets) - 1 >= MIN_LENGTH
    first, last = frequent[ids[offsets[:-1][long]]], frequent[ids[offsets[1:][long] - 2]]
    shares = [round(100 * float(edge.mean()), 2) if edge.size else 0.0 for edge in (first, last)]
    return Edges(shares[0], shares[1], int(long.sum()))


def assumed_branching(setting: str, edges: Edges | None) -> Branching:
    """Direction by the setting ``parse.branching``: ``right``, ``left``, or ``text`` for that of the training text."""
    if setting != "text":
        return Branching(setting, 1.0, is_clear=True)
    return edges.branching if edges else UNKNOWN_BRANCHING
