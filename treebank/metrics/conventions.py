"""Scoring conventions: which words and brackets count, and how sentences are averaged.

A convention is one frozen value. The counting reads every choice from it and the signature prints every choice of it,
so a score cannot claim another convention than the one that it was counted by.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from treebank.errors import SynparseError, nearest
from treebank.normalize import WORD_TAGS, is_word
from treebank.tree import TRACE, Tree


def _penn_words(tree: Tree) -> list[bool]:
    """True for each token whose tag is one of the 36 word tags of the Penn Treebank; ``$`` and ``#`` are not."""
    return [tag in WORD_TAGS for tag in tree.tags]


def _letters(tree: Tree) -> list[bool]:
    """True for each token that is no trace and does not consist of punctuation and symbols only."""
    return [tag != TRACE and is_word(word) for word, tag in zip(tree.words, tree.tags, strict=True)]


# name in the signature -> which tokens survive
TOKENS: dict[str, Callable[[Tree], list[bool]]] = {"words": _penn_words, "letters": _letters}


@dataclass(frozen=True, slots=True)
class ScoringConvention:
    """Everything that changes an unlabelled F1.

    ``average``: F1 of each sentence and their mean, or one F1 of the summed counts. ``root``: brackets over the whole
    sentence dropped, kept, or only the root node's own one dropped (``node``). ``trivial``: the same for brackets over
    one word. ``tokens``: a name in ``TOKENS``. ``repeats``: several brackets over one span count once or all.
    Sentences have ``min_words`` to ``max_words`` surviving tokens.
    """

    name: str
    average: Literal["sent", "corpus"]
    root: Literal["drop", "keep", "node"]
    trivial: Literal["drop", "keep"] = "drop"
    tokens: str = "words"
    repeats: Literal["once", "all"] = "once"
    min_words: int = 1
    max_words: int | None = None

    def __str__(self) -> str:
        """The part of a signature that says how was counted: ``conv:on-lstm|avg:sent|root:drop|…``."""
        longest = "" if self.max_words is None else self.max_words
        return (
            f"conv:{self.name}|avg:{self.average}|root:{self.root}|trivial:{self.trivial}|tokens:{self.tokens}"
            f"|repeats:{self.repeats}|len:{self.min_words}-{longest}"
        )

    def includes(self, length: int) -> bool:
        """Whether a sentence with ``length`` surviving tokens is scored."""
        return length >= self.min_words and (self.max_words is None or length <= self.max_words)

    def up_to(self, max_words: int | None) -> ScoringConvention:
        """The same convention for sentences of at most ``max_words`` words."""
        if max_words is None or (self.max_words is not None and self.max_words <= max_words):
            return self
        return replace(self, max_words=max_words)

    def over(self, tokens: str) -> ScoringConvention:
        """The same convention over other tokens."""
        return replace(self, tokens=tokens)

    def counted(self, spans: Sequence[tuple[int, int]], length: int) -> Collection[tuple[int, int]]:
        """The brackets that count, of those in pre-order over ``length`` surviving tokens; a set if once each."""
        shortest = 2 if self.trivial == "drop" else 1
        longest = length - 1 if self.root == "drop" else length
        found = [span for span in spans if shortest <= span[1] - span[0] <= longest]
        if self.root == "node" and (0, length) in found:
            found.remove((0, length))
        return set(found) if self.repeats == "once" else found


CONVENTIONS = {
    convention.name: convention
    for convention in (
        # the script of PRPN, Htut et al. 2018, ON-LSTM and Du et al. 2020
        ScoringConvention("on-lstm", "sent", "drop"),
        # Klein & Manning 2002; with 10 words at most, the row of their WSJ10 figures
        ScoringConvention("km", "corpus", "keep", min_words=2),
    )
}


def find_convention(name: str) -> ScoringConvention:
    """The convention of that name. Raises SynparseError, naming the nearest, if there is none."""
    if name not in CONVENTIONS:
        raise SynparseError(f"no convention {name!r}; {nearest(name, CONVENTIONS)}")
    return CONVENTIONS[name]
