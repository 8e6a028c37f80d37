"""The word classes of a text as a table that people and other programs read."""

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
    """The words of a text, most frequent first, each with its class and how often it occurs; classes count from 0."""

    words: tuple[str, ...]
    classes: tuple[int, ...]
    counts: tuple[int, ...]

    def lines(self) -> Iterator[str]:
        """``class, word, count`` between tabs: the class that covers most of the text first, its frequent words first.

        Words that are too rare for a class of their own stand as shape and last letters, such as ``<unk:C-ing>``.
        """
        totals = np.bincount(self.classes, self.counts)
        order = sorted(
            range(len(self.words)), key=lambda i: (-totals[self.classes[i]], self.classes[i], -self.counts[i])
        )
        return (f"{self.classes[i]}\t{self.words[i]}\t{self.counts[i]}" for i in order)


def classify_words(
    sentences: Iterable[Sentence], *, classes: int = 40, minimum_count: int = 3, endings: float = 1.0, seed: int = 1
) -> ClassTable:
    """The classes of the words of ``sentences``, punctuation left out. Raises SynparseError if there is no word."""
    text, _ = read_corpora(sentences, "cased")
    if not text.words:
        raise SynparseError("there is no word in this text")
    corpus = text.encode(text.vocabulary(10**9, minimum_count, "shape"))
    words, found, counts = classes_of(corpus, classes, endings, seed)
    seen = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i]]
    return ClassTable(tuple(words[i] for i in seen), tuple(found[seen].tolist()), tuple(counts[seen].tolist()))
