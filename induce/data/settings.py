"""Settings of the text that a model learns from, and the description of a corpus that was prepared with them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from induce.data.vocabulary import RECIPES, TOKENS
from induce.registry import models_of
from induce.setting import Condition, choice, count, equal, limited, setting, share, unequal
from treebank.base.files import FileFacts
from treebank.base.metadata import FileFormat, read_metadata
from treebank.tokenize import TOKENIZATIONS

FACTS = "corpus.json"
WORDS, IDS, OFFSETS, BREAKS = "words.txt", "ids.i32", "offsets.i64", "breaks.u1"
ARRAYS = (IDS, OFFSETS, BREAKS)
REMEDY = "copy the folder again, or prepare it again"
FORMAT = FileFormat(2, "the description of a corpus", REMEDY)
TEXT = Condition("a task that reads text", lambda config: config.task.reads_text)
FREQUENT = TEXT & equal("data.vocabulary", "")  # the vocabulary consists of frequent tokens
LEARNS_TREES = Condition(
    "a model that learns trees", lambda config: models_of(config.task_name).get(config.model_name).learns_trees
)


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Settings of the text: normalization, tokens, vocabulary and the share to learn from."""

    normalization: str = choice("words", tuple(RECIPES), "normalization recipe", when=TEXT)
    tokenization: str = choice(
        "",
        ("", *TOKENIZATIONS),
        "rule that splits raw text into sentences and words, in training and parsing; empty: the text is split",
        when=TEXT,
    )
    token: str = choice(
        "word",
        tuple(TOKENS),
        "unit of the model: words; classes of words, induced from the training corpus; or characters",
        when=TEXT,
    )
    classes: int = limited(40, 1, 10_000, "number of word classes", when=equal("data.token", "class"))
    vocabulary_size: int = limited(10_000, 3, 1e9, "size of the vocabulary, with two special tokens", when=FREQUENT)
    minimum_count: int = count(2, "occurrences below which a token is unknown", when=FREQUENT)
    vocabulary: str = setting(
        "",
        when=TEXT & unequal("data.token", "class"),
        help="file with one known token per line; empty: frequent tokens",
    )
    unknown: str = choice(
        "one",
        ("one", "shape", "berkeley"),
        "symbols for unknown words: one; one for each shape and suffix; or the classes of the Berkeley parser",
        when=FREQUENT & unequal("data.token", "class"),
    )
    text_share: float = share(1.0, "share of the training sentences to learn from, evenly spread", when=TEXT)
    joining_marks: bool = setting(
        False,
        when=equal("loader.name", "fragments", "spans"),
        help="whether punctuation that occurs in repeated word pairs, such as a hyphen, joins words",
    )
    development_share: float = limited(
        0.05,
        0,
        0.5,
        "share of the training sentences to set aside without a development text",
        when=Condition("a task that sets examples aside", lambda config: config.task.sets_share_aside),
    )
    trees: str = choice(
        "gold", ("gold", "random"), "trees to learn from; random trees are a baseline", when=LEARNS_TREES
    )
    tree_share: float = share(1.0, "share of the treebank whose trees are used", when=LEARNS_TREES)


@dataclass(frozen=True, kw_only=True)
class CorpusFacts:
    """The text of a prepared corpus, the settings that it was prepared with, and its files."""

    texts: tuple[str, ...] = ()
    normalization: str
    token: str
    tokenization: str
    sentences: int
    words: int
    types: int
    marks: tuple[str, ...] = ()  # single punctuation marks, in the order of their numbers
    text_sha256: str
    health: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # remarks on the text for the user
    files: dict[str, FileFacts]

    def __post_init__(self) -> None:
        """Raises ValueError for unknown names, and for sizes of files that do not fit the numbers."""
        names = self.normalization in RECIPES and self.token in TOKENS
        if not names or self.tokenization not in ("", *TOKENIZATIONS):
            raise ValueError("its normalization, its token or its tokenization is unknown")
        if not 0 < self.sentences <= self.words or not 0 < self.types <= self.words:
            raise ValueError("its numbers of sentences, words and types do not fit together")
        entries = self.sentences + self.words
        sizes = {IDS: 4 * entries, OFFSETS: 8 * (self.sentences + 1), BREAKS: entries}
        if self.files.keys() != {WORDS, *ARRAYS} or any(self.files[name].bytes != sizes[name] for name in ARRAYS):
            raise ValueError("the sizes of its files do not fit its numbers")


def read_facts(folder: str | os.PathLike[str]) -> CorpusFacts:
    """The description of the corpus in ``folder``. Raises MetadataError if it is missing or damaged."""
    return read_metadata(Path(folder) / FACTS, CorpusFacts, FORMAT)
