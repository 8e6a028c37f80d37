"""Word classes, the vocabulary of a model and the marks that join words, chosen from the training corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from induce.data.corpus import EncodedCorpus, Text, read_corpora
from induce.data.vocabulary import BOUNDARY, CLASS, UNKNOWN, Vocabulary
from induce.data.word_classes import FlatText, word_classes
from treebank.base.errors import SynparseError

if TYPE_CHECKING:
    from induce.data.settings import DataConfig
    from induce.data.training_data import TrainingData
    from treebank.core.sentence import Sentence


def choose_vocabulary(text: TrainingData, data: DataConfig) -> Vocabulary:
    """Vocabulary of a run: the file ``data.vocabulary``, the frequent words of the training ``text``, or classes."""
    if data.token == "class" and isinstance(text, Text):
        key = data.classes, data.vocabulary_size, data.minimum_count
        if key not in text.class_vocabularies:
            text.class_vocabularies[key] = class_vocabulary(text, data)
        return text.class_vocabularies[key]
    if data.vocabulary:
        return Vocabulary.from_list(data.vocabulary)
    return text.vocabulary(data.vocabulary_size, data.minimum_count, data.unknown)


def joining_of(text: TrainingData, data: DataConfig) -> list[str]:
    """Punctuation marks that join words in the training ``text``, if ``data.joining_marks`` is set."""
    return list(text.joining) if data.joining_marks else []


def class_vocabulary(text: Text, data: DataConfig) -> Vocabulary:
    """Vocabulary of ``data.classes`` classes of the words of ``text``, the most frequent class first.

    Rare words are represented as with ``data.unknown=shape``: in lower case, by shape and suffix.
    """
    plain = text.vocabulary(data.vocabulary_size, data.minimum_count, "shape")
    words, numbers, counts = classes_of(text.encode(plain), data.classes, 1.0, 1)
    members: dict[int, list[str]] = {}
    for i in np.argsort(-counts, kind="stable").tolist():
        if words[i] not in (BOUNDARY, UNKNOWN):
            members.setdefault(int(numbers[i]), []).append(words[i])
    share = np.bincount(numbers, counts, data.classes)
    order = sorted(members, key=lambda number: (-share[number], number))
    entries = ["\t".join([f"{CLASS}{rank}>", *members[number]]) for rank, number in enumerate(order)]
    return Vocabulary([BOUNDARY, UNKNOWN, *entries])


def classes_of(
    corpus: EncodedCorpus, classes: int, endings: float, seed: int
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Words of a text, the class of each, and its number of occurrences."""
    text = FlatText(corpus)
    numbers = word_classes(text.neighbours, text.words, classes=classes, endings=endings, seed=seed)
    return text.words, numbers, text.counts.astype(np.int64)


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
    """Classes of the words of ``sentences``, without punctuation, at most as many as there are different words.

    Raises SynparseError if there is no word.
    """
    text, _ = read_corpora(sentences, "cased")
    if not text.words:
        raise SynparseError("there is no word in this text")
    corpus = text.encode(text.vocabulary(10**9, minimum_count, "shape"))
    types = len(np.unique(corpus.ids)) - 1  # without the end of a sentence
    words, labels, counts = classes_of(corpus, min(classes, types), endings, seed)
    order = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i]]
    return ClassTable(tuple(words[i] for i in order), tuple(labels[order].tolist()), tuple(counts[order].tolist()))
