"""Scoring conventions, of trees and of heads: which words and brackets or arcs count, how sentences are averaged.

A convention is one frozen value. The counting reads every choice from it and the signature prints every choice of it,
so a score cannot claim another convention than the one that it was counted by.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from treebank.base.errors import SynparseError, UnknownNameError, nearest
from treebank.core.sentence import Sentence, Treebank
from treebank.core.tags import (
    AUXILIARIES,
    PUNCTUATION_TAGS,
    UNIVERSAL_PUNCTUATION,
    WORD_TAGS,
    has_penn_tags,
    is_word,
    words_by_letters,
    words_by_tag,
)
from treebank.core.tree import TRACE, Tree


def _evalb(tree: Tree) -> list[bool]:
    """True for each token that EVALB keeps (COLLINS.prm): no trace, comma, colon, full stop or quote by its tag."""
    return [tag not in DELETED_BY_EVALB for tag in tree.tags]


DELETED_BY_EVALB = {TRACE, *PUNCTUATION_TAGS} - {"-LRB-", "-RRB-"}

# name in the signature -> which tokens survive
TOKENS: dict[str, Callable[[Tree], list[bool]]] = {
    "words": words_by_tag,
    "letters": words_by_letters,
    "evalb": _evalb,
}


@dataclass(frozen=True, slots=True)
class ScoringConvention:
    """Everything that changes an unlabelled F1.

    ``average``: F1 of each sentence and their mean, or one F1 of the summed counts. ``root``: brackets over the whole
    sentence dropped, kept, or only the root node's own one dropped (``node``). ``trivial``: the same for brackets over
    one word. ``tokens``: a name in ``TOKENS``. ``repeats``: several brackets over one span count once or all.
    Sentences have ``min_words`` to ``max_words`` tokens: those that survive, or (``measure``) all but traces.
    """

    name: str
    average: Literal["sent", "corpus"]
    root: Literal["drop", "keep", "node"]
    trivial: Literal["drop", "keep"] = "drop"
    tokens: str = "words"
    repeats: Literal["once", "all"] = "once"
    min_words: int = 1
    max_words: int | None = None
    measure: Literal["surviving", "seen"] = "surviving"

    def __str__(self) -> str:
        """The part of a signature that says how was counted: ``conv:on-lstm|avg:sent|root:drop|…``."""
        longest = "" if self.max_words is None else self.max_words
        return (
            f"conv:{self.name}|avg:{self.average}|root:{self.root}|trivial:{self.trivial}|tokens:{self.tokens}"
            f"|repeats:{self.repeats}|len:{self.min_words}-{longest}"
            + ("" if self.measure == "surviving" else f"|measure:{self.measure}")
        )

    def includes(self, surviving: int, seen: int) -> bool:
        """Whether a sentence is scored that has so many surviving tokens, and so many that are no traces."""
        length = surviving if self.measure == "surviving" else seen
        return surviving > 0 and length >= self.min_words and (self.max_words is None or length <= self.max_words)

    def up_to(self, max_words: int | None) -> ScoringConvention:
        """The same convention for sentences of at most ``max_words`` words."""
        if max_words is None or (self.max_words is not None and self.max_words <= max_words):
            return self
        return replace(self, max_words=max_words)

    def over(self, tokens: str) -> ScoringConvention:
        """The same convention over other tokens."""
        return replace(self, tokens=tokens)


CONVENTIONS = {
    convention.name: convention
    for convention in (
        # the script of PRPN, Htut et al. 2018, ON-LSTM and Du et al. 2020
        ScoringConvention("on-lstm", "sent", "drop"),
        # Klein & Manning 2002 as their figures were counted, and as their prose says; the first also with their bound
        ScoringConvention("km", "corpus", "keep", min_words=2),
        ScoringConvention("km-wsj10", "corpus", "keep", min_words=2, max_words=10),
        ScoringConvention("km-prose", "corpus", "drop", min_words=2),
        # the two figures of the compound PCFG's evaluation (Kim et al. 2019)
        ScoringConvention("kim-sentence", "sent", "node", min_words=2),
        ScoringConvention("kim-corpus", "corpus", "node", min_words=2),
        # Sekine & Collins with COLLINS.prm, labels ignored
        ScoringConvention("evalb", "corpus", "keep", trivial="keep", tokens="evalb", repeats="all", measure="seen"),
    )
}
CHOICES: dict[str, tuple[str, ...]] = {  # what a spelt convention may say
    "avg": ("sent", "corpus"),
    "root": ("drop", "keep", "node"),
    "trivial": ("drop", "keep"),
    "tokens": tuple(TOKENS),
    "repeats": ("once", "all"),
    "measure": ("surviving", "seen"),
}


def find_convention(name: str) -> ScoringConvention:
    """The convention of that name, or one spelt like a signature: ``avg:corpus,root:keep``, ``km,len:2-40``.

    A spelt one starts from the convention that it names first, else from ``on-lstm``; it is called ``custom`` unless
    it is the same as a named one. Raises SynparseError, naming the nearest, for what there is not.
    """
    if name in CONVENTIONS:
        return CONVENTIONS[name]
    first, *parts = name.split(",")
    if ":" in first:
        first, parts = "on-lstm", [first, *parts]
    if first not in CONVENTIONS:
        raise UnknownNameError(f"no convention {first!r}; {nearest(first, CONVENTIONS)}")
    spelt = replace(CONVENTIONS[first], name="custom")
    for part in parts:
        spelt = replace(spelt, **_choice(part))
    for known in CONVENTIONS.values():
        if replace(spelt, name=known.name) == known:
            return known
    return spelt


def _choice(part: str) -> dict[str, Any]:
    """What one part of a spelt convention sets."""
    key, _, value = part.partition(":")
    if key == "len":
        found = re.fullmatch(r"(\d+)-(\d*)", value)
        if not found:
            raise SynparseError(f"{part!r} in a convention: write len:2-10, or len:2- without an upper bound")
        return {"min_words": int(found[1]), "max_words": int(found[2]) if found[2] else None}
    if key not in CHOICES:
        raise UnknownNameError(f"a convention has no part {key!r}; {nearest(key, [*CHOICES, 'len'])}")
    if value not in CHOICES[key]:
        raise SynparseError(f"{part!r} in a convention: {key} is {' or '.join(CHOICES[key])}")
    return {"average" if key == "avg" else key: value}


# name in the signature -> which tokens count
HEAD_TOKENS: dict[str, Callable[[Sentence], list[bool]]] = {
    "words+aux": lambda sentence: [tag in WORD_TAGS or tag in AUXILIARIES for tag in sentence.tags],
    "no-punct": lambda sentence: [tag not in PUNCTUATION_TAGS for tag in sentence.tags],
    "upos": lambda sentence: [tag != UNIVERSAL_PUNCTUATION for tag in sentence.universal_tags],
    "letters": lambda sentence: [is_word(word) for word in sentence.words],
    "all": lambda sentence: [True] * len(sentence.words),
}
PENN_TOKENS = frozenset({"words+aux", "no-punct"})  # those that need the tags of the Penn Treebank


@dataclass(frozen=True, slots=True)
class AttachmentConvention:
    """Everything that changes a UAS or UUAS; both are summed over all sentences, root words included.

    ``tokens``: a name in ``HEAD_TOKENS``. ``others``: tokens that do not count are deleted, and words that depend on
    one go to its nearest ancestor that is left, or else are roots; or they are kept, and only their own heads are not
    scored. ``pairs``: for UUAS the arcs of a sentence are a set, so that two words that choose each other make one arc
    (a root makes one with itself); or each word's arc counts. Sentences have ``min_words`` to ``max_words`` tokens
    that count. ``heads``: the rules that made the gold heads from trees, "" if they were annotated.
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
        """The part of a signature that says how was counted: ``conv:udgn|avg:corpus|tokens:words+aux|…``."""
        longest = "" if self.max_words is None else self.max_words
        heads = f"|heads:{self.heads}" if self.heads else ""
        return (
            f"conv:{self.name}|avg:{self.average}|tokens:{self.tokens}|others:{self.others}|pairs:{self.pairs}"
            f"|len:{self.min_words}-{longest}{heads}"
        )

    def includes(self, length: int) -> bool:
        """Whether a sentence with ``length`` tokens that count is scored."""
        return length >= self.min_words and (self.max_words is None or length <= self.max_words)

    def up_to(self, max_words: int | None) -> AttachmentConvention:
        """The same convention for sentences of at most ``max_words`` words."""
        if max_words is None or (self.max_words is not None and self.max_words <= max_words):
            return self
        return replace(self, max_words=max_words)

    def fitted(self, gold: Treebank) -> AttachmentConvention:
        """The same convention with a rule for tokens that the tags of ``gold`` can answer.

        Where they are not those of the Penn Treebank: all but ``PUNCT`` by universal tags (``upos``); without these,
        every token with a letter or a digit (``letters``).
        """
        if self.tokens not in PENN_TOKENS or has_penn_tags(gold):
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


def find_attachment_convention(name: str) -> AttachmentConvention:
    """The convention of that name. Raises SynparseError, naming the nearest, if there is none."""
    if name not in ATTACHMENT_CONVENTIONS:
        raise UnknownNameError(f"no convention {name!r} for heads; {nearest(name, ATTACHMENT_CONVENTIONS)}")
    return ATTACHMENT_CONVENTIONS[name]


Convention = ScoringConvention | AttachmentConvention
