"""Scoring conventions for trees and for heads: which words, brackets and arcs count, and how sentences are averaged.

A convention is one frozen value. Counting reads every choice from it, and the signature of a score prints every choice,
so a score cannot claim a different convention from the one it was counted by.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

from treebank.base.arguments import nearest
from treebank.base.errors import UnknownNameError, UsageError
from treebank.core.sentence import PENN_RULES, Treebank, has_penn_tags

COMPOSED = "custom"  # name of all composed conventions
TREE_RULES = ("words", "letters", "evalb")  # rules of `treebank.core.tree.WORD_RULES` for the words of trees


class BracketRule(NamedTuple):
    """The choices of a `ScoringConvention` that decide which brackets of a sentence count."""

    root: str
    trivial: str
    repeats: str


@dataclass(frozen=True, slots=True)
class ScoringConvention:
    """All choices that change an unlabeled F1.

    ``average``: the mean F1 of the sentences (``sent``), or one F1 of the summed counts (``corpus``). ``root``:
    full-sentence brackets are dropped, kept, or only the bracket of the root node is dropped (``node``). ``trivial``:
    one-word brackets are dropped or kept. ``tokens``: the rule that selects words, one of ``TREE_RULES``. ``repeats``:
    several brackets over one span count once or separately (``all``); only if they are gold brackets (``gold``); or
    only if they are gold brackets that were not predicted (``missed``). Scored sentences have ``min_words`` to
    ``max_words`` tokens; ``measure`` counts the surviving tokens, or all except traces (``seen``).
    """

    name: str
    average: Literal["sent", "corpus"]
    root: Literal["drop", "keep", "node"]
    trivial: Literal["drop", "keep"] = "drop"
    tokens: str = "words"
    repeats: Literal["once", "all", "missed", "gold"] = "once"
    min_words: int = 1
    max_words: int | None = None
    measure: Literal["surviving", "seen"] = "surviving"

    def __str__(self) -> str:
        """The part of a signature with all choices: ``conv:on-lstm|avg:sent|root:drop|…``."""
        longest = "" if self.max_words is None else self.max_words
        return (
            f"conv:{self.name}|avg:{self.average}|root:{self.root}|trivial:{self.trivial}|tokens:{self.tokens}"
            f"|repeats:{self.repeats}|len:{self.min_words}-{longest}"
            + ("" if self.measure == "surviving" else f"|measure:{self.measure}")
        )

    @property
    def label(self) -> str:
        """The name or, of a composed convention, the choices that differ from ``on-lstm``: ``avg:corpus,root:keep``."""
        usual = str(CONVENTIONS["on-lstm"]).split("|")
        choices = [part for part in str(self).split("|")[1:] if part not in usual]
        return ",".join(choices) if self.name == COMPOSED else self.name

    @property
    def bracket_rule(self) -> BracketRule:
        """Conventions with the same rule count the same brackets of the same words."""
        return BracketRule(self.root, self.trivial, self.repeats)

    def length(self, surviving: int, visible: int) -> int:
        """The length of a sentence, by which it is selected and grouped."""
        return surviving if self.measure == "surviving" else visible

    def includes(self, surviving: int, visible: int) -> bool:
        """Whether a sentence with ``surviving`` words, and ``visible`` tokens that are not traces, is scored."""
        length = self.length(surviving, visible)
        return surviving > 0 and length >= self.min_words and (self.max_words is None or length <= self.max_words)

    def up_to(self, max_words: int | None) -> ScoringConvention:
        """This convention for sentences of at most ``max_words`` words."""
        return replace(self, max_words=_least(self.max_words, max_words))


CONVENTIONS = {
    convention.name: convention
    for convention in (
        # the script of PRPN, Htut et al. 2018, ON-LSTM and Du et al. 2020
        ScoringConvention("on-lstm", "sent", "drop"),
        # Klein & Manning 2002: as their figures were counted, with their length limit, and as their text defines it
        ScoringConvention("km", "corpus", "keep", min_words=2),
        ScoringConvention("km-wsj10", "corpus", "keep", min_words=2, max_words=10),
        ScoringConvention("km-prose", "corpus", "drop", min_words=2),
        # the two figures of the compound PCFG's evaluation (Kim et al. 2019)
        ScoringConvention("kim-sentence", "sent", "node", min_words=2),
        ScoringConvention("kim-corpus", "corpus", "node", min_words=2),
        # the two figures of the program of TN-PCFG (Yang et al. 2021), also used for NBL-PCFG and parse focusing
        ScoringConvention("tnpcfg", "sent", "drop", min_words=2),
        ScoringConvention("tnpcfg-corpus", "corpus", "drop", repeats="missed", min_words=2),
        # the same function in the program of SemInfo (Chen et al. 2025), called with gold and predictions exchanged
        ScoringConvention("seminfo", "sent", "drop", min_words=2),
        ScoringConvention("seminfo-corpus", "corpus", "drop", repeats="gold", min_words=2),
        # Sekine & Collins with COLLINS.prm, labels ignored
        ScoringConvention("evalb", "corpus", "keep", trivial="keep", tokens="evalb", repeats="all", measure="seen"),
    )
}
CHOICES: dict[str, tuple[str, ...]] = {  # part of a composed convention -> its values
    "avg": ("sent", "corpus"),
    "root": ("drop", "keep", "node"),
    "trivial": ("drop", "keep"),
    "tokens": TREE_RULES,
    "repeats": ("once", "all", "missed", "gold"),
    "measure": ("surviving", "seen"),
}


def find_convention(name: str) -> ScoringConvention:
    """The convention with this name, or a composed one such as ``avg:corpus,root:keep`` or ``km,len:2-40``.

    A composed convention starts from the convention named first, or from ``on-lstm``. It is called ``custom`` unless it
    equals a named one. Raises UsageError if a name, a part or a value is unknown, with the nearest known one.
    """
    if name in CONVENTIONS:
        return CONVENTIONS[name]
    first, *parts = name.split(",")
    if ":" in first:
        first, parts = "on-lstm", [first, *parts]
    if first not in CONVENTIONS:
        raise UnknownNameError(f"no convention {first!r}; {nearest(first, CONVENTIONS)}")
    composed = replace(CONVENTIONS[first], name=COMPOSED)
    for part in parts:
        composed = replace(composed, **_choice(part))
    for known in CONVENTIONS.values():
        if replace(composed, name=known.name) == known:
            return known
    return composed


def _choice(part: str) -> dict[str, Any]:
    """The field that one part of a composed convention sets, and its value."""
    key, _, value = part.partition(":")
    if key == "len":
        bounds = re.fullmatch(r"(\d+)-(\d*)", value)
        if not bounds:
            raise UsageError(f"{part!r} in a convention: write len:2-10, or len:2- without an upper bound")
        return {"min_words": int(bounds[1]), "max_words": int(bounds[2]) if bounds[2] else None}
    if key not in CHOICES:
        raise UnknownNameError(f"a convention has no field {key!r}; {nearest(key, [*CHOICES, 'len'])}")
    if value not in CHOICES[key]:
        raise UsageError(f"{part!r} in a convention: {key} is {' or '.join(CHOICES[key])}")
    return {"average" if key == "avg" else key: value}


@dataclass(frozen=True, slots=True)
class AttachmentConvention:
    """All choices that change a UAS or UUAS. Both are summed over all sentences and include root words.

    ``tokens``: the rule that selects words, one of `treebank.core.tree.WORD_RULES`. ``others``: the other tokens are
    deleted, and their dependents are attached to the nearest remaining ancestor or become roots; or they are kept, and
    only their own heads are not scored. ``pairs``: for UUAS the arcs of a sentence are a set, so two words that head
    each other make one arc (a root makes one with itself); or the arc of each word counts (``each``). Scored sentences
    have ``min_words`` to ``max_words`` counted tokens. ``heads``: the head rules that gave the gold heads, or "".
    """

    name: str
    tokens: str
    others: Literal["deleted", "kept"]
    pairs: Literal["set", "each"]
    min_words: int = 1
    max_words: int | None = None
    heads: str = ""
    average: ClassVar[str] = "corpus"

    def __str__(self) -> str:
        """The part of a signature with all choices: ``conv:udgn|avg:corpus|tokens:words+aux|…``."""
        longest = "" if self.max_words is None else self.max_words
        heads = f"|heads:{self.heads}" if self.heads else ""
        return (
            f"conv:{self.name}|avg:{self.average}|tokens:{self.tokens}|others:{self.others}|pairs:{self.pairs}"
            f"|len:{self.min_words}-{longest}{heads}"
        )

    @property
    def label(self) -> str:
        """The name."""
        return self.name

    def includes(self, length: int) -> bool:
        """Whether a sentence with ``length`` counted tokens is scored."""
        return length >= self.min_words and (self.max_words is None or length <= self.max_words)

    def up_to(self, max_words: int | None) -> AttachmentConvention:
        """This convention for sentences of at most ``max_words`` words."""
        return replace(self, max_words=_least(self.max_words, max_words))

    def fitted(self, gold: Treebank) -> AttachmentConvention:
        """This convention with a rule for tokens that the tags of ``gold`` support.

        If the tags are not the Penn Treebank's, universal tags decide (``upos``: all tokens except ``PUNCT``). Without
        universal tags, every token with a letter or a digit counts (``letters``).
        """
        if self.tokens not in PENN_RULES or has_penn_tags(gold):
            return self
        universal = all(len(sentence.universal_tags) == len(sentence.words) for sentence in gold.sentences)
        return replace(self, tokens="upos" if universal else "letters")


ATTACHMENT_CONVENTIONS = {
    convention.name: convention
    for convention in (
        AttachmentConvention("udgn", "words+aux", "deleted", "set"),  # the script of Shen et al. 2022
        AttachmentConvention("no-punct", "no-punct", "kept", "each"),
        AttachmentConvention("all-tokens", "all", "kept", "each"),
    )
}


Convention = ScoringConvention | AttachmentConvention


def _least(first: int | None, second: int | None) -> int | None:
    """The smaller of two limits. None means unlimited."""
    return min((limit for limit in (first, second) if limit is not None), default=None)
