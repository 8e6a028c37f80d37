"""Vectors of sentences: the mean of what a trained model knows of their words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch

from induce.config import kind_of
from induce.data.batches import SentenceBatch
from induce.data.by_length import batches_by_cost
from induce.data.loaders import pad
from induce.data.tokens import split
from induce.models.base import Model, has_vectors
from induce.parsing.load import choose_device, read_trained
from induce.parsing.parser import LARGEST_BLOCK, with_rule
from induce.storage.checkpoint import build_model
from treebank.base.errors import SynparseError
from treebank.core.normalization import RECIPES
from treebank.core.sentence import Sentence
from treebank.io.read import InputOptions


@dataclass(frozen=True)
class SentenceVector:
    """A sentence's words after normalisation, and its vector (E,), zeros where no word is left."""

    words: Sequence[str]
    vector: np.ndarray


class Embedder:
    """A trained model that gives sentences their vectors."""

    def __init__(self, run: str, *, device: str = "auto") -> None:
        """Raises SynparseError for a model that has no vectors of words."""
        self.run, self.device = run, choose_device(device)
        self.checkpoint = read_trained(run)
        self.config = self.checkpoint.config
        self.name, self.vocabulary = self.config.model_name, self.checkpoint.vocabulary
        kind = kind_of(self.config)
        if not (issubclass(kind, Model) and has_vectors(kind)):
            task = f", which has learned {self.config.data.task}," if self.config.data.task else ""
            raise SynparseError(f"{run}: this {self.name!r}{task} gives no vectors of sentences")
        self.recipe = RECIPES[self.config.data.normalization]
        self.model: Any = build_model(self.checkpoint).to(self.device)

    def input_options(self, given: InputOptions) -> InputOptions:
        """How text for this model is read: ``given``, and the rule that split the text of its training."""
        return with_rule(given, self.config.data.tokenization)

    def seen(self, sentence: Sentence) -> Sequence[str]:
        """The words of a sentence as this model sees them."""
        return split(self.recipe(sentence.words, sentence.tags).forms, self.config.data.token)

    def embed(self, sentences: Iterable[Sentence]) -> Iterator[SentenceVector]:
        """The vector of each sentence, in order; the text is streamed."""
        source = map(self.seen, sentences)
        while block := list(islice(source, LARGEST_BLOCK)):
            yield from self.embed_words(block)

    @torch.inference_mode()
    def embed_words(self, block: Sequence[Sequence[str]]) -> list[SentenceVector]:
        """The vectors of some sentences that are normalised already."""
        encoded = [self.vocabulary.encode(words) for words in block]
        vectors: list[Any] = [None] * len(block)
        wanted = [index for index, ids in enumerate(encoded) if ids]
        lengths = [len(encoded[index]) for index in wanted]
        for places in batches_by_cost(lengths, cost=self.model.parsing_cost):
            chosen = [wanted[place] for place in places]
            batch = SentenceBatch(*pad([encoded[index] for index in chosen])).to(self.device)
            for index, row in zip(chosen, self.model.sentence_vectors(batch).cpu().numpy(), strict=True):
                vectors[index] = row
        nothing = np.zeros(self._size(vectors), np.float32)
        return [
            SentenceVector(words, nothing if row is None else row) for words, row in zip(block, vectors, strict=True)
        ]

    def _size(self, vectors: Sequence[Any]) -> int:
        """Units of a vector: of one that is there, else of that of an unknown word."""
        known = next((row for row in vectors if row is not None), None)
        if known is not None:
            return len(known)
        batch = SentenceBatch(*pad([[1]])).to(self.device)
        return int(self.model.sentence_vectors(batch).shape[1])
