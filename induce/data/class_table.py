"""The word classes of a text as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from induce.data.corpus import read_corpora
from induce.data.vocabulary_choice import classes_of
from treebank.base.errors import SynparseError

if TYPE_CHECKING:
    from treebank.core.sentence import Sentence


@dataclass(frozen=True)
class ClassTable:
    """Words of a text, most frequent first, with their classes (from 0) and numbers of occurrences."""

    words: tuple[str, ...]
    classes: tuple[int, ...]
    counts: tuple[int, ...]

    def lines(self) -> Iterator[str]:
        """Lines ``class, word, count``, separated by tabs: the most frequent class first, its frequent words first.

        Rare words are replaced by their shape and last letters, such as ``<unk:C-ing>``.
        """
        totals = np.bincount(self.classes, self.counts)
        order = sorted(
            range(len(self.words)), key=lambda i: (-totals[self.classes[i]], self.classes[i], -self.counts[i])
        )
        return (f"{self.classes[i]}\t{self.words[i]}\t{self.counts[i]}" for i in order)


def classify_words(
    sentences: Iterable[Sentence], *, classes: int = 40, minimum_count: int = 3, endings: float = 1.0, seed: int = 1
) -> ClassTable:
    """Classes of the words of ``sentences``, without punctuation. Raises SynparseError if there is no word."""
    text, _ = read_corpora(sentences, "cased")
    if not text.words:
        raise SynparseError("there is no word in this text")
    corpus = text.encode(text.vocabulary(10**9, minimum_count, "shape"))
    words, labels, counts = classes_of(corpus, classes, endings, seed)
    order = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i]]
    return ClassTable(tuple(words[i] for i in order), tuple(labels[order].tolist()), tuple(counts[order].tolist()))
