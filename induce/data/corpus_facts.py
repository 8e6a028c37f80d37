"""The description of a prepared corpus in ``corpus.json``."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from induce.data.normalization import RECIPES
from induce.data.vocabulary import TOKENS
from treebank.base.files import FileFacts
from treebank.base.metadata import FileFormat, read_metadata
from treebank.tokenize import TOKENIZATIONS

FACTS = "corpus.json"
WORDS, IDS, OFFSETS, BREAKS = "words.txt", "ids.i32", "offsets.i64", "breaks.u1"
ARRAYS = (IDS, OFFSETS, BREAKS)
REMEDY = "copy the folder again, or prepare it again"
FORMAT = FileFormat(2, "the description of a corpus", REMEDY)


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
