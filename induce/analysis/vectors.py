"""Vectors of sentences: the mean of the word vectors of a trained model, or its own vectors of sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from induce.data.batches import SentenceBatch
from induce.data.by_length import map_by_length
from induce.data.loaders import pad
from induce.likelihood.language_model import TextModel
from induce.models.base import Model
from induce.models.build import class_of
from induce.parsing.parser import LARGEST_BLOCK, blocks_until_failure
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

DIGITS = 6  # decimals in JSON lines


@dataclass(frozen=True)
class SentenceVector:
    """A sentence's words after normalization, and its vector (E,), zeros if no word is left."""

    words: Sequence[str]
    vector: np.ndarray

    def to_json(self, content: str = "vectors") -> dict[str, Any]:
        """Line of `synparse extract`."""
        return {"words": list(self.words), "vector": [round(value, DIGITS) for value in self.vector.tolist()]}


class Embedder(TextModel):
    """A trained model that computes vectors of sentences."""

    def __init__(self, run: str, *, device: str = "auto") -> None:
        """Raises SynparseError if the model has no vectors."""
        super().__init__(run, device=device)
        kind = class_of(self.config)
        if (kind.word_vectors, kind.sentence_vectors) == (Model.word_vectors, Model.sentence_vectors):
            task = f", which has learned {self.config.task_name}," if self.config.task_name else ""
            raise SynparseError(f"{run}: this {self.name!r}{task} gives no vectors of sentences")
        self.model: Any = self.build()

    def read(self, sentences: Iterable[Sentence]) -> Iterator[SentenceVector]:
        """The vector of each sentence, in order. The text is streamed."""
        source = (self.read_units(sentence, self.normalize(sentence)) for sentence in sentences)
        for block in blocks_until_failure(source, LARGEST_BLOCK):
            yield from self.embed_words(block)

    @torch.inference_mode()
    def embed_words(self, block: Sequence[Sequence[str]]) -> list[SentenceVector]:
        """The vectors of sentences whose words are normalized."""
        encoded = [self.vocabulary.encode(words) for words in block]
        cost = self.model.parsing_cost
        vectors = map_by_length(self._vectors, encoded, cost=cost, min_length=1, short=lambda ids: self._zeros())
        return [SentenceVector(words, vector) for words, vector in zip(block, vectors, strict=True)]

    def _vectors(self, sentences: Sequence[Sequence[int]]) -> np.ndarray:
        """Vectors (B, E) of a batch of sentences."""
        batch = SentenceBatch(*pad(sentences)).to(self.device)
        return self.model.sentence_vectors(batch).cpu().numpy()

    def _zeros(self) -> np.ndarray:
        """Zero vector (E,) for a sentence without words, of the same size as all vectors of the model."""
        return np.zeros(self._vectors([[1]]).shape[1], np.float32)
