"""Words and their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from treebank.errors import TreebankError
from treebank.formats.lines import open_lines

BOUNDARY = "<eos>"  # number 0: ends every sentence of a stream, stands on either side of a sentence, and is padding
UNKNOWN = "<unk>"  # number 1
FIRST = len((BOUNDARY, UNKNOWN))  # number of the first word of its own
UNKNOWNS = ("one", "shape")  # data.unknown: one symbol for all words that are not in the list, or one for each shape
LONGEST_SUFFIX = 3
CLASS = "<class:"  # begins the entry of a class of words, which follow between tabs
LEAST_SEEN = 10  # rare words that a pseudo-word stands for


class Vocabulary:
    """A fixed list of words; the first two are the boundary mark and the unknown word.

    Where it holds pseudo-words, such as ``<unk:C-ing>``, a word that is not in the list is looked up in lower case,
    and else has the number of the pseudo-word that says most of it. Nothing in a text is read as the boundary mark.
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
        self._pseudo = {word: i for word, i in self._ids.items() if word.startswith("<unk:")}

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], *, size: int, minimum_count: int, unknown: str = "one"
    ) -> Vocabulary:
        """The ``size - 2`` most frequent words seen ``minimum_count`` times or more, by frequency, then spelling.

        With ``unknown = "shape"`` words are counted in lower case, and the last entries are the pseudo-words that stand
        for `LEAST_SEEN` rare words or more; those of one letter's suffix and none are always there.
        """
        if unknown == "shape":
            folded: Counter[str] = Counter()
            for word, count in counts.items():
                folded[word.lower()] += count
            plain = cls._frequent(folded, size=size, minimum_count=minimum_count)
            return cls([BOUNDARY, UNKNOWN, *plain, *_pseudo_words(counts, set(plain))])
        return cls([BOUNDARY, UNKNOWN, *cls._frequent(counts, size=size, minimum_count=minimum_count)])

    @staticmethod
    def _frequent(counts: Mapping[str, int], *, size: int, minimum_count: int) -> list[str]:
        frequent = [
            word for word, count in counts.items() if count >= minimum_count and word not in (BOUNDARY, UNKNOWN)
        ]
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
        number = self._ids.get(word.lower())
        if number is None:
            number = next((self._pseudo[one] for one in shapes(word) if one in self._pseudo), 1)
        return number

    def knows(self, word: str) -> bool:
        """Whether ``word`` itself has a number, and is no pseudo-word."""
        return word in self._ids or bool(self._pseudo and word.lower() in self._ids)

    def encode(self, words: Iterable[str]) -> list[int]:
        """The numbers of ``words``."""
        if self._pseudo:
            return [self.id(word) for word in words]
        ids = self._ids
        return [ids.get(word, 1) for word in words]


def _words_of(entry: str) -> list[str]:
    """The words that an entry gives its number to."""
    return entry.split("\t")[1:] if entry.startswith(CLASS) else [entry]


def shapes(word: str) -> list[str]:
    """The pseudo-words that ``word`` may have, the one that says most of it first: ``<unk:C-ing>`` … ``<unk:C>``.

    The shape is ``0`` for a word with a digit, ``A`` for more than one letter all in capitals, ``C`` for a capital in
    front, ``h`` for a hyphen within, else ``w``; then come the last letters, in lower case.
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
    suffixes = [lower[-length:] for length in range(LONGEST_SUFFIX, 0, -1) if len(lower) > length]
    return [f"<unk:{shape}-{suffix}>" for suffix in suffixes] + [f"<unk:{shape}>"]


def _pseudo_words(counts: Mapping[str, int], plain: set[str]) -> list[str]:
    """The pseudo-words of the rare words, those that are not ``plain`` in lower case; frequent ones first."""
    seen: Counter[str] = Counter()
    for word, count in counts.items():
        if word.lower() not in plain and word not in (BOUNDARY, UNKNOWN):
            for pseudo in shapes(word):
                seen[pseudo] += count
    kept = [pseudo for pseudo, count in seen.items() if count >= LEAST_SEEN or "-" not in pseudo]
    kept += [f"<unk:{shape}>" for shape in "0AChw" if f"<unk:{shape}>" not in kept]
    return sorted(kept, key=lambda pseudo: (-seen[pseudo], pseudo))
