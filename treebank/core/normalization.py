"""What a model sees of a sentence: named recipes, and the way back to the user's own words.

A recipe drops some words (punctuation) and rewrites others (case, digits). It also says which words it kept, so
that ``restore`` can put the dropped ones back into a decoded tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

from treebank.base.errors import SynparseError
from treebank.core.dependency import Heads, is_tree
from treebank.core.sentence import ROOT
from treebank.core.tags import is_word, tags_are_penn, word_mask
from treebank.core.tree import Tree

_DIGITS = re.compile(r"\d+")  # decimal digits of any script
_ASCII_DIGITS = re.compile("[0-9]+")


@dataclass(frozen=True, slots=True)
class Normalized:
    """What the model reads: ``forms[j]`` stands for word ``kept[j]`` of the sentence; ``kept`` ascends."""

    forms: tuple[str, ...]
    kept: tuple[int, ...]


@lru_cache(maxsize=1 << 17)
def fold_word(word: str) -> str:
    """``word`` in lower case, every run of decimal digits as one ``0``."""
    return _DIGITS.sub("0", word.lower())


@lru_cache(maxsize=1 << 17)
def fold_published(word: str) -> str:
    """``word`` in lower case, every run of ASCII digits as one ``N`` (so ``75.3`` gives ``N.N``)."""
    return _ASCII_DIGITS.sub("N", word.lower())


@lru_cache(maxsize=1 << 17)
def _word_or_none(word: str) -> str | None:
    return fold_word(word) if is_word(word) else None


_PUNCTUATION = "`` '' ` \" , . : ; ? ! - -- --- ... -lrb- -rrb- -lcb- -rcb- -lsb- -rsb- ( ) [ ] { } </s>"
_LEFT_OUT = frozenset(_PUNCTUATION.split())
_NUMBER = re.compile(r"N|[-+.,]*[0-9][0-9.,-]*")
_FRACTION = re.compile(r"\\?/")  # the treebank writes 3\/4


@lru_cache(maxsize=1 << 17)
def fold_mikolov(word: str) -> str | None:
    """``word`` as in the language-modelling files of Mikolov et al. 2010, None for punctuation, which they leave out.

    Lower case, ``N`` for a number (``N\\/N`` for a fraction); ``$``, ``%``, ``&``, ``'`` and ``30-year`` stay as they
    are, and so do all words of those files.
    """
    lower = word.lower()
    if lower in _LEFT_OUT:
        return None
    parts = _FRACTION.split(word)
    return "\\/".join("N" for _ in parts) if all(map(_NUMBER.fullmatch, parts)) else lower


def _mikolov(words: Sequence[str], tags: Sequence[str]) -> Normalized:
    forms = [fold_mikolov(word) for word in words]
    kept = tuple(i for i, form in enumerate(forms) if form is not None)
    return Normalized(tuple(form for form in forms if form is not None), kept)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A named normalisation; calling it with the words of a sentence (and its tags) gives a ``Normalized``."""

    name: str
    apply: Callable[[Sequence[str], Sequence[str]], Normalized]

    def __call__(self, words: Sequence[str], tags: Sequence[str] = ()) -> Normalized:
        """What a model sees of ``words``. ``tags``, one a word or none at all, matter only to ``ptb``."""
        return self.apply(words, tags)


def _raw(words: Sequence[str], tags: Sequence[str]) -> Normalized:
    return Normalized(tuple(words), tuple(range(len(words))))


def _words(words: Sequence[str], tags: Sequence[str]) -> Normalized:
    forms = tuple(map(_word_or_none, words))
    if None not in forms:
        return Normalized(forms, tuple(range(len(words))))  # type: ignore[arg-type]
    kept = tuple(i for i, form in enumerate(forms) if form is not None)
    return Normalized(tuple(form for form in forms if form is not None), kept)


@lru_cache(maxsize=1 << 17)
def _cased_or_none(word: str) -> str | None:
    return _DIGITS.sub("0", word) if is_word(word) else None


def _cased(words: Sequence[str], tags: Sequence[str]) -> Normalized:
    forms = tuple(map(_cased_or_none, words))
    kept = tuple(i for i, form in enumerate(forms) if form is not None)
    return Normalized(tuple(form for form in forms if form is not None), kept)


def _ptb(words: Sequence[str], tags: Sequence[str]) -> Normalized:
    if tags and tags_are_penn(words, tags):
        mask = word_mask("words+aux", words, tags)
    else:
        mask = word_mask("letters", words, ())
    kept = tuple(compress(range(len(words)), mask))
    return Normalized(tuple(fold_published(words[i]) for i in kept), kept)


def _tags(words: Sequence[str], tags: Sequence[str]) -> Normalized:
    if not tags:
        raise SynparseError(
            "normalization 'tags' needs part-of-speech tags, and a sentence here has none; give a treebank"
        )
    mask = word_mask("words", words, tags) if tags_are_penn(words, tags) else word_mask("letters", words, ())
    kept = tuple(compress(range(len(words)), mask))
    return Normalized(tuple(tags[i] for i in kept), kept)


#: ``raw`` keeps all as it is. ``words`` lowers, folds digits to ``0`` and drops punctuation and symbols (``is_word``).
#: ``cased`` does the same but leaves capitals, which say something of the shape of rare words (data.unknown=shape).
#: ``ptb`` is the published recipe of PRPN and ON-LSTM: words whose tag is in ``WORD_TAGS`` (or AUX, AUXG), in lower
#: case, digits as ``N``; for text without tags, and where a sentence's are not the Penn Treebank's
#: (``tags_are_penn``), it drops what ``words`` drops. ``tags`` has a treebank's tags in the place of the words that
#: ``ptb`` keeps, for models that were published on tags. ``mikolov`` turns a treebank's words into those of the
#: language-modelling files of Mikolov et al. 2010, and leaves these as they are.
RECIPES: dict[str, Recipe] = {
    "raw": Recipe("raw", _raw),
    "words": Recipe("words", _words),
    "cased": Recipe("cased", _cased),
    "ptb": Recipe("ptb", _ptb),
    "mikolov": Recipe("mikolov", _mikolov),
    "tags": Recipe("tags", _tags),
}


def restore(tree: Tree, words: Sequence[str], kept: Sequence[int], *, tag: str = "W") -> Tree:
    """The tree over all ``words`` whose kept ones ``tree`` brackets: dropped words back in their places.

    A dropped word becomes a child of the lowest phrase that covers the kept words on both sides of it; before the
    first kept word or after the last, of the outermost bracket over the whole sentence. Deleting the dropped words
    gives the brackets of ``tree`` again. With no kept words the result is one flat bracket; with no words, no tree.
    """
    if len(tree) != len(kept):
        raise ValueError(f"a tree of {len(tree)} words for {len(kept)} kept ones")
    if not kept:
        return Tree.from_spans(words, (), tag=tag)
    if len(kept) == len(words):
        return tree.with_words(words)
    tags = [tag] * len(words)
    for i, own in zip(kept, tree.tags, strict=True):
        tags[i] = own
    # A phrase reaches from its first kept word to its last, hence over exactly what was dropped between them.
    spans = [(kept[start], kept[end - 1] + 1) for start, end in tree.spans]
    if spans and tree.spans[0] == (0, len(kept)):
        spans[0] = (0, len(words))
    return Tree(tuple(words), tuple(tags), tuple(spans), tree.labels)


def restore_heads(heads: Sequence[int], kept: Sequence[int], count: int) -> Heads:
    """The heads of ``count`` words of which ``heads`` are those of the ``kept`` ones: dropped words depend on others.

    The head of a dropped word is the lowest kept word that has the kept words on both sides of it below it, itself
    included; before the first kept word or after the last it is the root. No arc comes to cross another by it. Where
    the heads make no tree with one root, it is the kept word before, else that after. With no kept words the first
    word is the root.
    """
    if len(heads) != len(kept):
        raise ValueError(f"heads of {len(heads)} words for {len(kept)} kept ones")
    if not kept:
        return (ROOT, *([0] * (count - 1)))[:count]
    restored = [ROOT] * count
    for word, head in zip(kept, heads, strict=True):
        restored[word] = ROOT if head == ROOT else kept[head]
    depths = _depths(heads) if len(kept) < count and is_tree(heads) else []
    for left, start, end in zip(range(-1, len(kept)), [-1, *kept], [*kept, count], strict=True):
        if end - start > 1:
            head = _between(heads, left, depths) if depths else max(left, 0)
            restored[start + 1 : end] = [kept[head]] * (end - start - 1)
    return tuple(restored)


def _depths(heads: Sequence[int]) -> list[int]:
    """How far below the root each word of a tree is, plus one."""
    depths = [0] * len(heads)
    for word in range(len(heads)):
        path = []
        while word != ROOT and not depths[word]:
            path.append(word)
            word = heads[word]
        above = 0 if word == ROOT else depths[word]
        for depth, passed in enumerate(reversed(path), above + 1):
            depths[passed] = depth
    return depths


def _between(heads: Sequence[int], left: int, depths: Sequence[int]) -> int:
    """The lowest word of a tree with both the word ``left`` and the next below it; the root at either edge."""
    if not 0 <= left < len(heads) - 1:
        return heads.index(ROOT)
    one, other = left, left + 1
    while one != other:
        if depths[one] >= depths[other]:
            one = heads[one]
        else:
            other = heads[other]
    return one
