"""What the training text says: the words that a model is to know, or their classes, and which marks join words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from induce.data.flat_text import FlatText
from induce.data.vocabulary import BOUNDARY, CLASS, UNKNOWN, Vocabulary
from induce.data.word_classes import word_classes

if TYPE_CHECKING:
    from induce.data.corpus import Corpus, EncodedCorpus
    from induce.data.prepared import PreparedText
    from induce.settings.run import DataConfig


def choose_vocabulary(text: Corpus | PreparedText, data: DataConfig) -> Vocabulary:
    """The words of the file that ``data.vocabulary`` names, frequent words of the training ``text``, or classes."""
    if data.token == "class":
        return text.numbers_of or class_vocabulary(text, data)
    if data.vocabulary:
        return Vocabulary.from_list(data.vocabulary)
    return text.vocabulary(data.vocabulary_size, data.minimum_count, data.unknown)


def joining_of(text: Corpus | PreparedText, data: DataConfig) -> list[str]:
    """The marks that join words in the training ``text``, if ``data`` wants them; to be asked before it is encoded."""
    return text.joining if data.joining_marks else []


def encode(text: Any, vocabulary: Vocabulary, joining: Sequence[str]) -> Any:
    """A text, or the examples of a task, in the numbers of a vocabulary; the marks ``joining`` join words."""
    return text.encode(vocabulary, joining) if joining else text.encode(vocabulary)


def class_vocabulary(text: Corpus | PreparedText, data: DataConfig) -> Vocabulary:
    """The vocabulary of ``data.classes`` classes of the words of ``text``, the class that covers most of it first.

    Words are known as with ``data.unknown=shape``: rare ones by shape and last letters, in lower case.
    """
    plain = text.vocabulary(data.vocabulary_size, data.minimum_count, "shape")
    words, found, counts = classes_of(text.copied(plain), data.classes, 1.0, 1)
    members: dict[int, list[str]] = {}
    for i in np.argsort(-counts, kind="stable").tolist():
        if words[i] not in (BOUNDARY, UNKNOWN):
            members.setdefault(int(found[i]), []).append(words[i])
    share = np.bincount(found, counts, data.classes)
    order = sorted(members, key=lambda number: (-share[number], number))
    entries = ["\t".join([f"{CLASS}{place}>", *members[number]]) for place, number in enumerate(order)]
    return Vocabulary([BOUNDARY, UNKNOWN, *entries])


def classes_of(
    corpus: EncodedCorpus, classes: int, endings: float, seed: int
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """The words of a text, the class of each, and how often it occurs."""
    text = FlatText(corpus)
    found = word_classes(text.neighbours, text.words, classes=classes, endings=endings, seed=seed)
    return text.words, found, text.counts.astype(np.int64)
