"""The contract of training data: texts, corpora on disk, and the examples of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from induce.data.vocabulary import Vocabulary


class TrainingData(Protocol):
    """Sentences, expressions, demonstrations or pairs that a model learns from.

    The defaults of this class are those of data without trees, without punctuation and with a closed vocabulary.
    """

    sha256: str  # digest of the content

    @property
    def sentences(self) -> int:
        """Number of sentences, or of other sequences."""
        ...

    @property
    def words(self) -> int:
        """Number of running words, or of other tokens."""
        ...

    @property
    def has_trees(self) -> bool:
        """Whether trees of a treebank are part of the data."""
        return False

    @property
    def joining(self) -> Sequence[str]:
        """Punctuation marks that join words in this text."""
        return ()

    def word_counts(self) -> Mapping[str, int]:
        """Number of occurrences of each word, empty for a closed vocabulary, in which no word is unknown."""
        return {}

    def vocabulary(self, size: int, minimum_count: int, unknown: str = "one") -> Vocabulary:
        """Vocabulary of the most frequent words that occur at least ``minimum_count`` times.

        ``size`` includes the two special tokens.
        """
        return Vocabulary.from_counts(self.word_counts(), size=size, minimum_count=minimum_count, unknown=unknown)

    def encode(self, vocabulary: Vocabulary, joining: Sequence[str] = ()) -> Any:
        """The data as indices of ``vocabulary``, the input of a loader. The marks in ``joining`` join words."""
        ...
