"""Contents of ``synparse extract`` besides structures: vectors of sentences, hidden states and attention, and gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from induce.data.batches import SentenceBatch, map_by_length, pad
from induce.likelihood.language_model import TextModel, blocks_until_failure
from induce.models.base import NotTrained, class_of
from induce.models.capabilities import GatedMemory, GateReading, LayeredStates, SentenceVectors
from induce.parsing.parser import LARGEST_BLOCK
from induce.states.state_parser import sentence_states
from induce.states.state_trees import MAX_STATE_WORDS
from induce.states.states_file import SentenceStates
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

DIGITS = 6  # decimals of a number in JSON lines
BLOCK_STATES = 128  # sentences whose hidden states are in memory at a time
Rows = list[list[float]]


class ReadSentence(NamedTuple):
    """Words of a sentence, those that the model reads, and the indices of these words."""

    words: Sequence[str]
    units: Sequence[str]
    indices: Sequence[int]


class ValueReader(TextModel):
    """A trained model that gives values at the words of sentences."""

    block = LARGEST_BLOCK  # sentences that are read before they are grouped by length

    def __init__(self, run: str, *, device: str = "auto") -> None:
        """Raises SynparseError if the model does not give these values."""
        super().__init__(run, device=device)
        if problem := self.problem():
            raise SynparseError(f"{run}: this {problem}")
        self.model: Any = self.build()

    def problem(self) -> str:
        """Reason for which the model does not give these values, or ""."""
        raise NotImplementedError

    def read(self, sentences: Iterable[Sentence]) -> Iterator[Any]:
        """The values of each sentence, in order. The text is streamed.

        Raises SynparseError if the settings of the model leave it without values.
        """
        for block in blocks_until_failure(map(self._read_sentence, sentences), self.block):
            yield from map_by_length(
                self._values_in_evaluation,
                block,
                length=lambda sentence: len(sentence.units),
                cost=self.model.parsing_cost,
                min_length=1,
                short=self.without_words,
            )

    def _read_sentence(self, sentence: Sentence) -> ReadSentence:
        normalized = self.recipe(sentence.words, sentence.tags)
        return ReadSentence(sentence.words, self.read_units(sentence, normalized.forms), normalized.indices)

    @torch.inference_mode()
    def _values_in_evaluation(self, sentences: Sequence[ReadSentence]) -> list[Any]:
        batch = SentenceBatch(*pad([self.vocabulary.encode(sentence.units) for sentence in sentences]))
        return self.values(batch.to(self.device), sentences)

    def values(self, batch: SentenceBatch, sentences: Sequence[ReadSentence]) -> list[Any]:
        """The values of each sentence of a ``batch``."""
        raise NotImplementedError

    def without_words(self, sentence: ReadSentence) -> Any:
        """The values of a sentence of which the model reads no word."""
        raise NotImplementedError


class StateReader(ValueReader):
    """A trained model that gives the hidden states and the attention of sentences."""

    block = BLOCK_STATES

    def problem(self) -> str:
        """Reason for which the model does not give states, or ""."""
        if not issubclass(self.model_type, LayeredStates):
            return f"{self.name!r} has no attention, so there are no states to write"
        if self.token == "character":
            return "model reads characters; states are written for models of words"
        return ""

    @property
    def max_length(self) -> int | None:
        """Words of the longest sentence whose states it gives."""
        return MAX_STATE_WORDS

    def values(self, batch: SentenceBatch, sentences: Sequence[ReadSentence]) -> list[SentenceStates]:
        """The states of the words of each sentence that the model reads."""
        words, _, indices = zip(*sentences, strict=True)
        return list(sentence_states(self.model, batch, words, indices))

    def without_words(self, sentence: ReadSentence) -> SentenceStates:
        """A sentence without states."""
        return SentenceStates(sentence.words, ())


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
        if not issubclass(kind, SentenceVectors):
            task = f", which has learned {self.config.purpose_name}," if self.config.purpose_name else ""
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
        vectors = map_by_length(
            self._vectors,
            encoded,
            cost=cost,
            min_length=1,
            # a sentence without words gets zeros of the size of all vectors of the model
            short=lambda ids: np.zeros(self._vectors([[1]]).shape[1], np.float32),
        )
        return [SentenceVector(words, vector) for words, vector in zip(block, vectors, strict=True)]

    def _vectors(self, sentences: Sequence[Sequence[int]]) -> np.ndarray:
        """Vectors (B, E) of a batch of sentences."""
        batch = SentenceBatch(*pad(sentences)).to(self.device)
        return self.model.sentence_vectors(batch).cpu().numpy()


@dataclass(frozen=True)
class SentenceMemory:
    """Words of a sentence after normalization, and how much each of them sees of the states before it.

    Row i of a list has i + 2 values: for the empty state before the sentence, for the state of the boundary token, and
    for the states of the words before word i. Values of states that are no longer in memory are 0. ``read`` is for the
    state of word i, and ``predict`` for the prediction of the word after it. Attention of the reading network has such
    rows for each layer.
    """

    words: Sequence[str]
    read_gates: Rows
    predict_gates: Rows
    read_attention: list[Rows]
    predict_attention: Rows

    def to_json(self, content: str) -> dict[str, Any]:
        """Line of `synparse extract` with the ``content`` gates or attention."""
        read, predict = (
            (self.read_gates, self.predict_gates)
            if content == "gates"
            else (self.read_attention, self.predict_attention)
        )
        return {"words": list(self.words), "read": read, "predict": predict}


class MemoryReader(ValueReader):
    """A trained model that gives the gates and the attention of its memory."""

    def problem(self) -> str:
        """Reason for which the model has no gates, or ""."""
        if issubclass(self.model_type, GatedMemory):
            return ""
        return (
            f"{self.name!r} has no memory of earlier states; "
            "--what states has the attention of models with attention layers"
        )

    def values(self, batch: SentenceBatch, sentences: Sequence[ReadSentence]) -> list[SentenceMemory]:
        """Gates and attention of each sentence."""
        weights = self.model.memory_weights(batch)
        return [
            SentenceMemory(
                words,
                rows_of(weights.read_gates[row, : len(words)]),
                rows_of(weights.predict_gates[row, : len(words)]),
                [rows_of(layer[: len(words)]) for layer in weights.read_attention[row]],
                rows_of(weights.predict_attention[row, : len(words)]),
            )
            for row, (_, words, _) in enumerate(sentences)
        ]

    def without_words(self, sentence: ReadSentence) -> SentenceMemory:
        """A memory without rows."""
        return SentenceMemory(sentence.units, [], [], [], [])


@dataclass(frozen=True)
class SentenceGates:
    """Words of a sentence after normalization, and values at each word (N, …) by name."""

    words: Sequence[str]
    values: Mapping[str, np.ndarray]

    def to_json(self, content: str = "gates") -> dict[str, Any]:
        """Line of `synparse extract`."""
        rounded = {
            name: (np.round(values.astype(np.float64), DIGITS) + 0.0).tolist() for name, values in self.values.items()
        }
        return {"words": list(self.words), **rounded}


class GateReader(ValueReader):
    """A trained model with `GateReading`."""

    def problem(self) -> str:
        """Reason for which the model has no gates, or ""."""
        if issubclass(self.model_type, GateReading):
            return ""
        return f"{self.name!r} has no gates; --what states has the attention of its layers"

    def values(self, batch: SentenceBatch, sentences: Sequence[ReadSentence]) -> list[SentenceGates]:
        """The gates of each sentence."""
        try:
            values = {name: value.cpu().numpy() for name, value in self.model.gates(batch).items()}
        except NotTrained as error:
            raise SynparseError(f"{self.run}: {error}") from None
        return [
            SentenceGates(words, {name: value[row, : len(words)] for name, value in values.items()})
            for row, (_, words, _) in enumerate(sentences)
        ]

    def without_words(self, sentence: ReadSentence) -> SentenceGates:
        """No gates."""
        return SentenceGates(sentence.units, {})


def gate_reader(run: str, *, device: str = "auto") -> GateReader | MemoryReader:
    """The reader for ``synparse extract --what gates``: a `MemoryReader` for a model with a `GatedMemory`."""
    checkpoint_type = TextModel(run, device=device).model_type
    return (MemoryReader if issubclass(checkpoint_type, GatedMemory) else GateReader)(run, device=device)


def rows_of(weights: Tensor) -> Rows:
    """One row per word, from the oldest state on, of ``weights`` (N, S), whose first entry is for the newest state."""
    rows = []
    for index, newest_first in enumerate(weights.tolist()):
        visible = [round(value, DIGITS) for value in newest_first[: index + 2]]
        rows.append([0.0] * (index + 2 - len(visible)) + visible[::-1])
    return rows
