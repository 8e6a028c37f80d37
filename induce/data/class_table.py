"""The word classes of a text as a table that people and other programs read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from induce.data.classes import word_classes
from induce.data.corpus import read_corpora
from induce.data.flat_text import FlatText
from induce.data.vocabulary import BOUNDARY, CLASS, UNKNOWN, Vocabulary
from treebank.errors import SynparseError

if TYPE_CHECKING:
    from induce.config import DataConfig
    from induce.data.corpus import Corpus, EncodedCorpus
    from induce.data.prepared import PreparedText
    from treebank.sentence import Sentence


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
    words, found, counts = _classes_of(corpus, classes, endings, seed)
    seen = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i]]
    return ClassTable(tuple(words[i] for i in seen), tuple(found[seen].tolist()), tuple(counts[seen].tolist()))


def class_vocabulary(text: Corpus | PreparedText, data: DataConfig) -> Vocabulary:
    """The vocabulary of ``data.classes`` classes of the words of ``text``, the class that covers most of it first.

    Words are known as with ``data.unknown=shape``: rare ones by shape and last letters, in lower case.
    """
    plain = text.vocabulary(data.vocabulary_size, data.minimum_count, "shape")
    words, found, counts = _classes_of(text.copied(plain), data.classes, 1.0, 1)
    members: dict[int, list[str]] = {}
    for i in np.argsort(-counts, kind="stable").tolist():
        if words[i] not in (BOUNDARY, UNKNOWN):
            members.setdefault(int(found[i]), []).append(words[i])
    share = np.bincount(found, counts, data.classes)
    order = sorted(members, key=lambda number: (-share[number], number))
    entries = ["\t".join([f"{CLASS}{place}>", *members[number]]) for place, number in enumerate(order)]
    return Vocabulary([BOUNDARY, UNKNOWN, *entries])


def _classes_of(
    corpus: EncodedCorpus, classes: int, endings: float, seed: int
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """The words of a text, the class of each, and how often it occurs."""
    text = FlatText(corpus)
    found = word_classes(text.neighbours, text.words, classes=classes, endings=endings, seed=seed)
    return text.words, found, text.counts.astype(np.int64)
