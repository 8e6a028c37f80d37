"""Named recipes that turn the words of a sentence into the forms that a model reads.

A recipe drops some words (punctuation) and rewrites others (case, digits). It also gives the indices of the remaining
words, so that `treebank.core.dependency` can add the dropped ones to a decoded tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import compress

from treebank.base.errors import SynparseError
from treebank.core.tags import is_word, tags_are_penn, word_mask

_DIGITS = re.compile(r"\d+")  # decimal digits of any script
_ASCII_DIGITS = re.compile("[0-9]+")


@dataclass(frozen=True, slots=True)
class Normalized:
    """The forms that a model reads: ``forms[j]`` replaces word ``indices[j]`` of the sentence, in ascending order."""

    forms: tuple[str, ...]
    indices: tuple[int, ...]


Recipe = Callable[..., Normalized]  # from the words of a sentence, and optionally their tags


@lru_cache(maxsize=1 << 17)
def fold_published(word: str) -> str:
    """``word`` in lower case, every run of ASCII digits as one ``N`` (so ``75.3`` gives ``N.N``)."""
    return _ASCII_DIGITS.sub("N", word.lower())


@lru_cache(maxsize=1 << 17)
def _word_or_none(word: str) -> str | None:
    return _DIGITS.sub("0", word.lower()) if is_word(word) else None


_PUNCTUATION = "`` '' ` \" , . : ; ? ! - -- --- ... -lrb- -rrb- -lcb- -rcb- -lsb- -rsb- ( ) [ ] { } </s>"
_LEFT_OUT = frozenset(_PUNCTUATION.split())
_NUMBER = re.compile(r"N|[-+.,]*[0-9][0-9.,-]*")
_FRACTION = re.compile(r"\\?/")  # the treebank writes 3\/4


@lru_cache(maxsize=1 << 17)
def fold_mikolov(word: str) -> str | None:
    """``word`` as in the language modeling files of Mikolov et al. (2010), or None for punctuation.

    Words are lowercased, and numbers become ``N`` (fractions ``N\\/N``). ``$``, ``%``, ``&``, ``'`` and ``30-year`` do
    not change, nor do the words of those files.
    """
    lower = word.lower()
    if lower in _LEFT_OUT:
        return None
    parts = _FRACTION.split(word)
    return "\\/".join("N" for _ in parts) if all(map(_NUMBER.fullmatch, parts)) else lower


@lru_cache(maxsize=1 << 17)
def _cased_or_none(word: str) -> str | None:
    return _DIGITS.sub("0", word) if is_word(word) else None


def _raw(words: Sequence[str], tags: Sequence[str] = ()) -> Normalized:
    return Normalized(tuple(words), tuple(range(len(words))))


def _rewritten(words: Sequence[str], tags: Sequence[str] = (), *, rewrite: Callable[[str], str | None]) -> Normalized:
    """The words for which ``rewrite`` returns a form."""
    forms = tuple(map(rewrite, words))
    indices = tuple(i for i, form in enumerate(forms) if form is not None)
    return Normalized(tuple(form for form in forms if form is not None), indices)


def _published_indices(words: Sequence[str], tags: Sequence[str], rule: str) -> tuple[int, ...]:
    """Indices of the words that ``rule`` selects by tags of the Penn Treebank, or by letters if there are none."""
    by_tags = bool(tags) and tags_are_penn(words, tags)
    mask = word_mask(rule, words, tags) if by_tags else word_mask("letters", words, ())
    return tuple(compress(range(len(words)), mask))


def _ptb(words: Sequence[str], tags: Sequence[str] = ()) -> Normalized:
    indices = _published_indices(words, tags, "words+aux")
    return Normalized(tuple(fold_published(words[i]) for i in indices), indices)


def _tags(words: Sequence[str], tags: Sequence[str] = ()) -> Normalized:
    if not tags:
        raise SynparseError(
            "normalization 'tags' needs part-of-speech tags, and a sentence here has none; give a treebank"
        )
    indices = _published_indices(words, tags, "words")
    return Normalized(tuple(tags[i] for i in indices), indices)


#: Recipes by name (``data.normalization``): functions from the words of a sentence and their tags to its forms. There
#: is one tag per word or none at all; only ``ptb`` and ``tags`` read them.
#:
#: - ``raw`` changes nothing.
#: - ``words`` lowercases, replaces digits by ``0``, and drops punctuation and symbols (``is_word``).
#: - ``cased`` does the same without lowercasing: capitals are part of the shape of rare words (data.unknown=shape).
#: - ``ptb`` is the published recipe of PRPN and ON-LSTM: words whose tag is in ``WORD_TAGS`` (or AUX, AUXG), in lower
#:   case, digits as ``N``. If a sentence has no tags of the Penn Treebank (``tags_are_penn``), it drops the same words
#:   as ``words``.
#: - ``mikolov`` turns the words of a treebank into those of the language modeling files of Mikolov et al. (2010).
#: - ``tags`` has the tags of the words that ``ptb`` selects, for models that were published on tags.
RECIPES: dict[str, Recipe] = {
    "raw": _raw,
    "words": partial(_rewritten, rewrite=_word_or_none),
    "cased": partial(_rewritten, rewrite=_cased_or_none),
    "ptb": _ptb,
    "mikolov": partial(_rewritten, rewrite=fold_mikolov),
    "tags": _tags,
}
