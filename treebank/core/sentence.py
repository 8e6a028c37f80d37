"""A sentence and where it came from."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from treebank.base.errors import SynparseError
from treebank.core.annotation import Annotation, Surface
from treebank.core.tree import Tree

ROOT = -1  # the head of a word that has none
WHITE_SPACE = re.compile("[ \t\r\n]")  # ends words in files; other characters such as U+00A0 belong to words


class Location(NamedTuple):
    """File and line (from 1) of a sentence, for error messages."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a sentence without traces, and the annotation that its file has.

    ``tags`` has one part-of-speech tag per word in the treebank's own tag set, ``universal_tags`` in that of Universal
    Dependencies. ``tree`` is the gold tree as annotated, with traces. ``heads[i]`` is the index of word i's head, or
    ``ROOT = -1`` for the root. ``relations[i]`` names the relation of word i to its head, such as ``nsubj``.
    Missing annotation is empty. ``surface`` has the positions of the words in raw text that was tokenized here,
    ``annotation`` the other columns and comments of a CoNLL-U file. Both are None if they were not kept.
    ``confidences`` has the confidence of a model in each bracket of ``tree`` or in each head, None where it has none,
    and ``confidence`` is their mean, or None if it is unknown. ``document`` names the document that begins here.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] = ()
    tree: Tree | None = None
    heads: tuple[int, ...] = ()
    universal_tags: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    location: Location = field(default=Location("-", 0), compare=False)
    surface: Surface | None = field(default=None, compare=False)
    annotation: Annotation | None = field(default=None, compare=False)
    confidence: float | None = field(default=None, compare=False)
    confidences: tuple[float | None, ...] = field(default=(), compare=False)
    document: str = field(default="", compare=False)

    def with_tree(self, tree: Tree) -> Sentence:
        """Sentence with the words, tags and brackets of ``tree``, without heads, and at the same location."""
        plain = tree.without_traces()
        return Sentence(plain.words, plain.tags if any(plain.tags) else (), tree, location=self.location)


Words = str | Sequence[str] | Sentence


def as_sentence(words: Words) -> Sentence:
    """``words`` as a `Sentence`, with a string split at white space.

    Raises TypeError for anything else, and SynparseError for words that are empty or contain white space.
    """
    if isinstance(words, Sentence):
        return words
    if isinstance(words, str):
        return Sentence(tuple(filter(None, WHITE_SPACE.split(words))))
    listed = tuple(words) if isinstance(words, Iterable) else (None,)
    if not all(isinstance(word, str) for word in listed):
        raise TypeError(f"a sentence is a string or a list of words, not {words!r}")
    for word in listed:
        if not word or WHITE_SPACE.search(word):
            problem = f"the word {word!r} of a sentence is empty or contains white space"
            raise SynparseError(f"{problem}; leave it out, split it, or write U+00A0 for a space")
    return Sentence(listed)


def each_sentence(sentences: Iterable[Words]) -> Iterator[Sentence]:
    """Iterate over ``sentences``, where a single string counts as one sentence.

    Raises TypeError if they are not iterable.
    """
    if not isinstance(sentences, Iterable):
        raise TypeError(f"give a list of sentences, not {sentences!r}")
    return map(as_sentence, [sentences] if isinstance(sentences, str | Sentence) else sentences)


@dataclass(frozen=True, slots=True)
class Treebank:
    """Sentences under the name that a score line prints."""

    name: str
    sentences: Sequence[Sentence]
    note: str = ""  # printed beside every score, such as "5 % sample"

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def label(self) -> str:
        """Name and note as in a signature. Only the last part of a path is used, so that machines agree."""
        name = os.path.basename(os.path.normpath(self.name)) if os.sep in self.name else self.name
        return f"{name} ({self.note})" if self.note else name
