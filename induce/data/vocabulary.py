"""Words and their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from induce.data.unknown_words import BERKELEY, SHAPE, berkeley_classes, classes_seen, pseudo_words, shapes
from treebank.base.errors import TreebankError
from treebank.io.lines import open_lines

BOUNDARY = "<eos>"  # number 0: ends every sentence of a stream, stands on either side of a sentence, and is padding
UNKNOWN = "<unk>"  # number 1
FIRST = len((BOUNDARY, UNKNOWN))  # number of the first word of its own
CLASS = "<class:"  # begins the entry of a class of words, which follow between tabs


class Vocabulary:
    """A fixed list of words; the first two are the boundary mark and the unknown word.

    Where it holds pseudo-words, such as ``<unk:C-ing>``, a word that is not in the list is looked up in lower case,
    and else has the number of the pseudo-word that says most of it; Berkeley's, such as ``<unk-CAPS-s>``, leave the
    case as it is. Nothing in a text is read as the boundary mark.
    An entry ``<class:3>``, with words behind it between tabs, gives them one number.
    """

    def __init__(self, words: Sequence[str]) -> None:
        if tuple(words[:2]) != (BOUNDARY, UNKNOWN):
            raise ValueError(f"a vocabulary begins with {BOUNDARY} and {UNKNOWN}")
        self.words = tuple(words)
        entries = [(word, i) for i, entry in enumerate(self.words) for word in _words_of(entry)]
        self._ids = dict(entries)
        if len(self._ids) != len(entries):
            raise ValueError("a word stands twice in the vocabulary")
        del self._ids[BOUNDARY]
        self._pseudo = {word: i for word, i in self._ids.items() if word.startswith((SHAPE, BERKELEY))}
        self._folds = any(word.startswith(SHAPE) for word in self._pseudo)

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], *, size: int, minimum_count: int, unknown: str = "one"
    ) -> Vocabulary:
        """The ``size - 2`` most frequent words seen ``minimum_count`` times or more, by frequency, then spelling.

        With ``unknown = "shape"`` words are counted in lower case, and the last entries are the pseudo-words that stand
        for ten rare words or more; those of one letter's suffix and none are always there. With ``"berkeley"``
        they are the classes of all rare words.
        """
        marks = (BOUNDARY, UNKNOWN) if unknown == "one" else (BOUNDARY, UNKNOWN, *_pseudo_in(counts))
        counts = {word: count for word, count in counts.items() if word not in marks}
        if unknown == "shape":
            folded: Counter[str] = Counter()
            for word, count in counts.items():
                folded[word.lower()] += count
            plain = cls._frequent(folded, size=size, minimum_count=minimum_count)
            return cls([BOUNDARY, UNKNOWN, *plain, *pseudo_words(counts, set(plain))])
        if unknown == "berkeley":
            plain = cls._frequent(counts, size=size, minimum_count=minimum_count)
            return cls([BOUNDARY, UNKNOWN, *plain, *classes_seen(counts, set(plain))])
        return cls([BOUNDARY, UNKNOWN, *cls._frequent(counts, size=size, minimum_count=minimum_count)])

    @staticmethod
    def _frequent(counts: Mapping[str, int], *, size: int, minimum_count: int) -> list[str]:
        frequent = [word for word, count in counts.items() if count >= minimum_count]
        frequent.sort(key=lambda word: (-counts[word], word))
        return frequent[: size - 2]

    @classmethod
    def from_list(cls, path: str) -> Vocabulary:
        """The words in a file made by others, one a line; the two marks come first, wherever they stand in it.

        Raises SynparseError for a line of several words and for a word that stands there twice.
        """
        words: dict[str, int] = {}
        for number, line in open_lines(path):
            word = line.strip(" \t")
            if not word or word in (BOUNDARY, UNKNOWN):
                continue
            if " " in word or "\t" in word:
                raise TreebankError(path, number, "a vocabulary has one word a line, and nothing else")
            if word in words:
                raise TreebankError(path, number, f"the word {word!r} stands in line {words[word]} already")
            words[word] = number
        if not words:
            raise TreebankError(path, 0, "this vocabulary has no words")
        return cls([BOUNDARY, UNKNOWN, *words])

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """The vocabulary in a file with one word a line. Raises ValueError if it is none."""
        return cls(path.read_bytes().decode("utf-8").removesuffix("\n").split("\n"))

    def __len__(self) -> int:
        return len(self.words)

    @property
    def names(self) -> tuple[str, ...]:
        """The entries, classes without their words."""
        return tuple(entry.partition("\t")[0] if entry.startswith(CLASS) else entry for entry in self.words)

    def id(self, word: str) -> int:
        """The number of ``word``; 1 for a word that is not in the list, or that of its pseudo-word."""
        number = self._ids.get(word)
        if number is not None:
            return number
        if not self._pseudo:
            return 1
        if not self._folds:
            return self._first_of(berkeley_classes(word))
        number = self._ids.get(word.lower())
        return self._first_of(shapes(word)) if number is None else number

    def _first_of(self, pseudo: Iterable[str]) -> int:
        """The number of the first of these pseudo-words that is there, or 1."""
        return next((self._pseudo[one] for one in pseudo if one in self._pseudo), 1)

    def knows(self, word: str) -> bool:
        """Whether ``word`` itself has a number, and is no pseudo-word."""
        return word in self._ids or (self._folds and word.lower() in self._ids)

    def encode(self, words: Iterable[str]) -> list[int]:
        """The numbers of ``words``."""
        if self._pseudo:
            return [self.id(word) for word in words]
        ids = self._ids
        return [ids.get(word, 1) for word in words]


def _pseudo_in(words: Iterable[str]) -> Iterator[str]:
    """Those words of a text that look like pseudo-words."""
    return (word for word in words if word.startswith((SHAPE, BERKELEY)))


def _words_of(entry: str) -> list[str]:
    """The words that an entry gives its number to."""
    return entry.split("\t")[1:] if entry.startswith(CLASS) else [entry]
