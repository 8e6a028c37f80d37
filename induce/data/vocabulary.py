"""Words as models read them: normalization, tokens, vocabularies, and pseudo-words for classes of unknown words.

A recipe of normalization drops some words (punctuation) and rewrites others (case, digits). It also gives the indices
of the remaining words, so that `treebank.core.dependency` can add the dropped ones to a decoded tree. Tokens are the
words of a sentence, their classes, or its characters (PRPN section 6.1).

The classes are those of shape and last letters, or those of the Berkeley parser, which are common in language models of
treebanks (Dyer et al. 2016; Du et al. 2020, PTB-Sepsent).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import compress

from treebank.base.errors import SynparseError, TreebankError
from treebank.core.sentence import is_word, tags_are_penn, word_mask
from treebank.io.lines import open_lines

TOKENS = {"word": "words", "class": "classes", "character": "characters"}  # singular and plural
SPACE = "\u2423"  # the open box, which shows a space
BOUNDARY = "<eos>"  # index 0: boundary of sentences, and padding
UNKNOWN = "<unk>"  # index 1
FIRST = len((BOUNDARY, UNKNOWN))  # index of the first word
CLASS = "<class:"  # prefix of the entry of a word class; its words follow, separated by tabs
SHAPE, BERKELEY = "<unk:", "<unk-"  # prefixes of the pseudo-words of each method
MAX_SUFFIX_LETTERS = 3
MIN_COUNT = 10  # occurrences of rare words with a pseudo-word of shape and suffix
ENDINGS = ("ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")  # the first ending that matches is used
MIN_LETTERS = 5  # letters of a word with one of these endings
MAX_UNKNOWN = 1 << 16  # unknown words whose indices are kept in memory
_DIGITS = re.compile(r"\d+")  # decimal digits of any script
_ASCII_DIGITS = re.compile("[0-9]+")
_PUNCTUATION = "`` '' ` \" , . : ; ? ! - -- --- ... -lrb- -rrb- -lcb- -rcb- -lsb- -rsb- ( ) [ ] { } </s>"
_LEFT_OUT = frozenset(_PUNCTUATION.split())
_NUMBER = re.compile(r"N|[-+.,]*[0-9][0-9.,-]*")
_FRACTION = re.compile(r"\\?/")  # the treebank writes 3\/4


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
def fold_plain(word: str) -> str | None:
    """``word`` in lower case, every run of digits as ``0``, or None for punctuation and symbols."""
    return _DIGITS.sub("0", word.lower()) if is_word(word) else None


@lru_cache(maxsize=1 << 17)
def fold_cased(word: str) -> str | None:
    """``word`` as by `fold_plain`, but not in lower case."""
    return _DIGITS.sub("0", word) if is_word(word) else None


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


def all_words(words: Sequence[str], tags: Sequence[str] = ()) -> Normalized:
    """All ``words`` without a change."""
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


def published_words(words: Sequence[str], tags: Sequence[str] = ()) -> Normalized:
    """The published recipe of PRPN and ON-LSTM: words whose tag is in ``WORD_TAGS`` (or AUX, AUXG), folded.

    If the sentence has no tags of the Penn Treebank, it drops the same words as the recipe ``words``.
    """
    indices = _published_indices(words, tags, "words+aux")
    return Normalized(tuple(fold_published(words[i]) for i in indices), indices)


def tags_of_words(words: Sequence[str], tags: Sequence[str] = ()) -> Normalized:
    """The tags of the words that `published_words` selects, for models that were published on tags."""
    if not tags:
        raise SynparseError(
            "normalization 'tags' needs part-of-speech tags, and a sentence here has none; give a treebank"
        )
    indices = _published_indices(words, tags, "words")
    return Normalized(tuple(tags[i] for i in indices), indices)


def shapes(word: str) -> list[str]:
    """Pseudo-words of ``word``, most specific first: ``<unk:C-ing>`` … ``<unk:C>``.

    The shape is ``0`` for a word with a digit, ``A`` for two or more letters in capitals, ``C`` for an initial capital,
    ``h`` for a hyphen within the word, else ``w``. It is followed by the last letters, in lower case.
    """
    if any(character.isdigit() for character in word):
        shape = "0"
    elif len(word) > 1 and word.isupper():
        shape = "A"
    elif word[:1].isupper():
        shape = "C"
    else:
        shape = "h" if "-" in word[1:-1] else "w"
    lower = word.lower()
    suffixes = [lower[-length:] for length in range(MAX_SUFFIX_LETTERS, 0, -1) if len(lower) > length]
    return [f"<unk:{shape}-{suffix}>" for suffix in suffixes] + [f"<unk:{shape}>"]


def berkeley_classes(word: str) -> list[str]:
    """Berkeley classes of ``word``, most specific first: ``<unk-CAPS-NUM>``, ``<unk-CAPS>``.

    A class consists of capitals, digits, a hyphen and an English ending. Unlike in the Berkeley parser, the position in
    the sentence has no effect: its classes INITC and INITC-KNOWNLC, for first words, are CAPS here.
    """
    lower = word.lower()
    has_digit, has_dash = any(map(str.isdigit, word)), "-" in word
    capitals = sum(character.isupper() or character.istitle() for character in word)
    parts = []
    if capitals and (word[:1].isupper() or word[:1].istitle() or not word[:1].isalpha()):
        parts.append("CAPS")
    elif any(map(str.islower, word)):
        parts.append("LC")
    parts += ["NUM"] * has_digit + ["DASH"] * has_dash
    if len(word) >= 3 and lower.endswith("s"):
        parts += ["s"] * (lower[-2] not in "siu")
    elif len(word) >= MIN_LETTERS and not has_dash and not (has_digit and capitals):
        parts += [ending for ending in ENDINGS if lower.endswith(ending)][:1]
    return [f"<unk-{'-'.join(parts[:count])}>" for count in range(len(parts), 0, -1)]


def pseudo_words(counts: Mapping[str, int], plain: Collection[str]) -> list[str]:
    """Pseudo-words (`shapes`) of the words that in lower case are not in ``plain``, most frequent first."""
    totals: Counter[str] = Counter()
    for word, count in counts.items():
        if word.lower() not in plain:
            for pseudo in shapes(word):
                totals[pseudo] += count
    names = [pseudo for pseudo, count in totals.items() if count >= MIN_COUNT or "-" not in pseudo]
    names += [f"<unk:{shape}>" for shape in "0AChw" if f"<unk:{shape}>" not in names]
    return sorted(names, key=lambda pseudo: (-totals[pseudo], pseudo))


def classes_of_rare_words(counts: Mapping[str, int], plain: Collection[str]) -> list[str]:
    """Most specific `berkeley_classes` of the words that are not in ``plain``, most frequent first."""
    totals: Counter[str] = Counter()
    for word, count in counts.items():
        if word not in plain:
            for name in berkeley_classes(word)[:1]:
                totals[name] += count
    return sorted(totals, key=lambda name: (-totals[name], name))


class Vocabulary:
    """A fixed list of words, which begins with the boundary token and the unknown word.

    With pseudo-words such as ``<unk:C-ing>``, an unknown word is looked up in lower case, and otherwise has the index
    of its most specific pseudo-word. With Berkeley classes such as ``<unk-CAPS-s>``, case is not changed. No word of a
    text has the index of the boundary token. The words of an entry ``<class:3>``, which follow it after tabs, have one
    index.
    """

    def __init__(self, words: Sequence[str]) -> None:
        if tuple(words[:2]) != (BOUNDARY, UNKNOWN):
            raise ValueError(f"a vocabulary begins with {BOUNDARY} and {UNKNOWN}")
        self.words = tuple(words)
        entries = [
            (word, i)
            for i, entry in enumerate(self.words)
            for word in (entry.split("\t")[1:] if entry.startswith(CLASS) else [entry])
        ]
        self._ids = dict(entries)
        if len(self._ids) != len(entries):
            raise ValueError("a word occurs twice in the vocabulary")
        del self._ids[BOUNDARY]
        self._pseudo = {word: i for word, i in self._ids.items() if word.startswith((SHAPE, BERKELEY))}
        self._unknown: dict[str, int] = {}  # indices of unknown words that were looked up
        self._folds = any(word.startswith(SHAPE) for word in self._pseudo)

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], *, size: int, minimum_count: int, unknown: str = "one"
    ) -> Vocabulary:
        """The ``size - 2`` most frequent words with at least ``minimum_count`` occurrences, by frequency and spelling.

        With ``unknown = "shape"`` words are counted in lower case, and pseudo-words of rare words follow: those that
        represent at least `MIN_COUNT` occurrences, and those without a suffix. With ``"berkeley"`` the Berkeley classes
        of all rare words follow.
        """
        marks = () if unknown == "one" else (SHAPE, BERKELEY)  # words of a text that look like pseudo-words
        counts = {
            word: count
            for word, count in counts.items()
            if word not in (BOUNDARY, UNKNOWN) and not word.startswith(marks)
        }
        if unknown == "shape":
            folded: Counter[str] = Counter()
            for word, count in counts.items():
                folded[word.lower()] += count
            plain = cls._frequent(folded, size=size, minimum_count=minimum_count)
            return cls([BOUNDARY, UNKNOWN, *plain, *pseudo_words(counts, set(plain))])
        if unknown == "berkeley":
            plain = cls._frequent(counts, size=size, minimum_count=minimum_count)
            return cls([BOUNDARY, UNKNOWN, *plain, *classes_of_rare_words(counts, set(plain))])
        return cls([BOUNDARY, UNKNOWN, *cls._frequent(counts, size=size, minimum_count=minimum_count)])

    @staticmethod
    def _frequent(counts: Mapping[str, int], *, size: int, minimum_count: int) -> list[str]:
        frequent = [word for word, count in counts.items() if count >= minimum_count]
        frequent.sort(key=lambda word: (-counts[word], word))
        return frequent[: size - 2]

    @classmethod
    def from_list(cls, path: str) -> Vocabulary:
        """Vocabulary from a file of your own, with one word per line.

        The two special tokens come first, whether or not they are in the file. Raises SynparseError for a line with
        several words, and for a repeated word.
        """
        words: dict[str, int] = {}
        for number, line in open_lines(path):
            word = line.strip(" \t")
            if not word or word in (BOUNDARY, UNKNOWN):
                continue
            if " " in word or "\t" in word:
                raise TreebankError(path, number, "a vocabulary has one word per line")
            if word in words:
                raise TreebankError(path, number, f"the word {word!r} is already in line {words[word]}")
            words[word] = number
        if not words:
            raise TreebankError(path, 0, "this vocabulary has no words")
        return cls([BOUNDARY, UNKNOWN, *words])

    def __len__(self) -> int:
        return len(self.words)

    @property
    def names(self) -> tuple[str, ...]:
        """Entries, without the words of classes."""
        return tuple(entry.partition("\t")[0] if entry.startswith(CLASS) else entry for entry in self.words)

    def id(self, word: str) -> int:
        """Index of ``word``.

        An unknown word has the index of its lower-case form or of its pseudo-word, if the vocabulary has these, else 1.
        """
        number = self._ids.get(word)
        return self._unknown_id(word) if number is None else number

    def _unknown_id(self, word: str) -> int:
        """Index of the pseudo-word of ``word``, or of the word in lower case, or 1."""
        if not self._pseudo:
            return 1
        if not self._folds:
            return self._first_of(berkeley_classes(word))
        number = self._ids.get(word.lower())
        return self._first_of(shapes(word)) if number is None else number

    def _first_of(self, pseudo: Iterable[str]) -> int:
        """Index of the first of these pseudo-words that is in the vocabulary, or 1."""
        return next((self._pseudo[name] for name in pseudo if name in self._pseudo), 1)

    def knows(self, word: str) -> bool:
        """Whether ``word`` itself is in the vocabulary."""
        return word in self._ids or (self._folds and word.lower() in self._ids)

    def encode(self, words: Iterable[str]) -> list[int]:
        """Indices of ``words``."""
        ids, unknown = self._ids, self._unknown
        if not self._pseudo:
            return [ids.get(word, 1) for word in words]
        result = []
        for word in words:
            number = ids.get(word)
            if number is None and (number := unknown.get(word)) is None:
                number = self._unknown_id(word)
                if len(unknown) < MAX_UNKNOWN:
                    unknown[word] = number
            result.append(number)
        return result


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


#: Recipes by name (``data.normalization``): functions from the words of a sentence and their tags to its forms. There
#: is one tag per word or none at all; only ``ptb`` and ``tags`` read them.
#:
#: With ``cased``, capitals are part of the shape of rare words (data.unknown=shape).
RECIPES: dict[str, Recipe] = {
    "raw": all_words,
    "words": partial(_rewritten, rewrite=fold_plain),
    "cased": partial(_rewritten, rewrite=fold_cased),
    "ptb": published_words,
    "mikolov": partial(_rewritten, rewrite=fold_mikolov),
    "tags": tags_of_words,
}
