"""Words and their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

BOUNDARY = "<eos>"  # number 0: ends every sentence of the stream, and stands on either side of one to be parsed
UNKNOWN = "<unk>"  # number 1


class Vocabulary:
    """A fixed list of words; the first two are the boundary mark and the unknown word."""

    def __init__(self, words: Sequence[str]) -> None:
        if tuple(words[:2]) != (BOUNDARY, UNKNOWN):
            raise ValueError(f"a vocabulary begins with {BOUNDARY} and {UNKNOWN}")
        self.words = tuple(words)
        self._ids = {word: i for i, word in enumerate(self.words)}
        if len(self._ids) != len(self.words):
            raise ValueError("a word stands twice in the vocabulary")

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], *, size: int, minimum_count: int) -> Vocabulary:
        """The ``size - 2`` most frequent words seen ``minimum_count`` times or more, by frequency, then spelling."""
        frequent = [
            word for word, count in counts.items() if count >= minimum_count and word not in (BOUNDARY, UNKNOWN)
        ]
        frequent.sort(key=lambda word: (-counts[word], word))
        return cls([BOUNDARY, UNKNOWN, *frequent[: size - 2]])

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """The vocabulary in a file with one word a line. Raises ValueError if it is none."""
        return cls(path.read_bytes().decode("utf-8").removesuffix("\n").split("\n"))

    def __len__(self) -> int:
        return len(self.words)

    def id(self, word: str) -> int:
        """The number of ``word``; 1 for a word that is not in the list."""
        return self._ids.get(word, 1)

    def encode(self, words: Iterable[str]) -> list[int]:
        """The numbers of ``words``."""
        ids = self._ids
        return [ids.get(word, 1) for word in words]
