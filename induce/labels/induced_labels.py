"""Word classes for induced labels and relations, and names of relations that are made of typical words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from induce.data.corpus import read_corpora
from induce.data.vocabulary import Vocabulary
from induce.data.word_classes import classes_of
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence
from treebank.core.tags import is_word

WORD_CLASSES = 30
MIN_COUNT = 3  # occurrences of a word with a class of its own; rarer words are classified by shape and last letters
MAX_SENTENCES = 20_000  # sentences from which labels are learned
NO_WORD = "X"  # replaces a typical word in a name if there is none
_NEVER_IN_A_NAME = frozenset("()[]{}<>-=_|+/:;,.@*#%$&!?~^'\"`\\ ")  # characters with a meaning in labels and patterns

Array = np.ndarray


@dataclass(frozen=True)
class TokenClasses:
    """Classes of words, of punctuation marks and of the boundary of a sentence."""

    vocabulary: Vocabulary
    classes: Array  # (V,), the class of each entry of the vocabulary
    mark = WORD_CLASSES
    boundary = WORD_CLASSES + 1
    count = WORD_CLASSES + 2

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], seed: int) -> TokenClasses:
        """Classes that are induced from the words of ``sentences``. Raises SynparseError if there is no word."""
        text, _ = read_corpora(map(Sentence, map(tuple, sentences)), "cased")
        if not text.words:
            raise SynparseError("there is no word from which labels could be learned")
        corpus = text.encode(text.vocabulary(10**9, MIN_COUNT, "shape"))
        return cls(corpus.vocabulary, classes_of(corpus, WORD_CLASSES, 1.0, seed)[1])

    def of_words(self, words: Sequence[str]) -> list[int]:
        """The class of each token of a sentence."""
        return [int(self.classes[self.vocabulary.id(word)]) if is_word(word) else self.mark for word in words]


def label_names(assigned: Sequence[int], edges: Sequence[tuple[str, str]], labels: int) -> tuple[str, ...]:
    """A different name for each relation from two typical words, ``the_year``.

    ``assigned`` is the label of each phrase or arc, ``edges`` are its two words in lower case. The label of most
    phrases is named first. If its two words name a label already, the next typical second word is used.
    """
    first, last = [_counts(assigned, (edge[side] for edge in edges), labels) for side in (0, 1)]
    names = dict[int, str]()
    for label, _ in Counter(assigned).most_common():
        start = next(iter(_typical(first, label)), NO_WORD)
        ends = (f"{start}_{end}" for end in _typical(last, label))
        names[label] = next((name for name in ends if name not in names.values()), f"{start}_{label}")
    return tuple(names.get(label, NO_WORD) for label in range(labels))


def _counts(assigned: Sequence[int], words: Iterable[str], labels: int) -> list[Counter[str]]:
    """The counts of words in the phrases of each label."""
    counts = [Counter[str]() for _ in range(labels)]
    for label, word in zip(assigned, words, strict=True):
        if _NEVER_IN_A_NAME.isdisjoint(word):
            counts[label][word] += 1
    return counts


def _typical(counts: Sequence[Counter[str]], label: int) -> list[str]:
    """The words of a label, those first that contribute most to the divergence of the label from all labels."""
    total = sum(counts, Counter[str]())
    share = counts[label].total() / max(total.total(), 1)

    def contribution(word: str) -> float:
        return counts[label][word] * log(counts[label][word] / (share * total[word]))

    return sorted(counts[label], key=lambda word: (-contribution(word), word))
