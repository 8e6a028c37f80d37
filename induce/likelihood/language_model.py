"""A trained model that assigns probabilities to text, and the way it reads text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from induce.data.batches import Batch, MaskedBatch, SentenceBatch, StreamBatch, map_by_length, pad
from induce.data.vocabulary import RECIPES, split
from induce.layers.products import flushing_denormals
from induce.models.base import SentenceTooLong
from induce.models.capabilities import SentenceScoring, WordScoring
from induce.parsing.load import read_trained
from induce.parsing.parser import LARGEST_BLOCK, until_failure, with_rule
from induce.registry import LOADERS, choose_device
from induce.settings.run import kind_of
from induce.storage.checkpoint import Checkpoint, build_model
from treebank.base.errors import NotANumberError, SynparseError, TreebankError
from treebank.core.sentence import Sentence
from treebank.io.read import InputOptions

Item = TypeVar("Item")
MAX_MASKED_WORDS = 500  # of a sentence, of which each word needs a copy
END = "<eos>"  # written for the end-of-sentence token
#: what a log-probability is over: next words and the end of the sentence; words that are masked one by one; or the
#: sentence and its end, summed over all trees
Counted = Literal["words+eos", "masked-words", "sentence"]


@dataclass(frozen=True, slots=True)
class EncodedSentence:
    """A sentence as a model reads it: normalized words, their indices, and which of them are unknown.

    ``characters`` counts the normalized line: its words, a space between two words, and the end of the line.
    """

    words: Sequence[str]
    ids: tuple[int, ...]
    is_unknown: tuple[bool, ...]
    characters: int

    @property
    def unknown(self) -> int:
        """Number of words that are not in the vocabulary."""
        return sum(self.is_unknown)


class TextModel:
    """A trained model with its vocabulary and normalization."""

    def __init__(self, run: str, *, device: str = "auto") -> None:
        """Raises SynparseError if there is no trained model in ``run``."""
        self.run, self.device = run, choose_device(device)
        self.checkpoint: Checkpoint = read_trained(run)
        self.config = self.checkpoint.config
        self.name, self.vocabulary = self.config.model_name, self.checkpoint.vocabulary
        self.recipe, self.token = RECIPES[self.config.data.normalization], self.config.data.token
        self.model_type = kind_of(self.config)

    def input_options(self, options: InputOptions) -> InputOptions:
        """``options`` for reading text, completed by the tokenization of the training text."""
        return with_rule(options, [self.config.data.tokenization], [self.config.purpose_name])

    @property
    def max_length(self) -> int | None:
        """Words of the longest sentence that it reads, or None."""
        limit: int | None = self.model_type.max_length
        return limit

    def normalize(self, sentence: Sentence) -> tuple[str, ...]:
        """The normalized words of a sentence, which are not split into characters."""
        return self.recipe(sentence.words, sentence.tags).forms

    def read_units(self, sentence: Sentence, forms: tuple[str, ...]) -> Sequence[str]:
        """The words or characters of ``forms``, the normalized words of ``sentence``.

        Raises TreebankError, or SentenceTooLong without a file, if these are more than the model can read.
        """
        units = split(forms, self.token)
        limit = self.max_length
        if limit is not None and len(units) > limit:
            error = SentenceTooLong(0, len(units), limit)
            raise TreebankError(*sentence.location, str(error)) if sentence.location.path else error
        return units

    def build(self) -> Any:
        """Build the model on its device. It is not stored here, so that the scorer stays small."""
        return build_model(self.checkpoint).to(self.device)


class LanguageModel(TextModel):
    """A trained model that scores text."""

    def __init__(self, run: str, *, device: str = "auto") -> None:
        """Raises SynparseError if the model in ``run`` was trained on a task, or not at all."""
        super().__init__(run, device=device)
        task = self.config.purpose_name
        if task:
            problem = f"{run}: this {self.name!r} was trained on the task {task}, not on text"
            raise SynparseError(f"{problem}; score it with synparse task eval {task}")
        self._batch_type: type[Batch] = LOADERS.get(self.config.loader_name).batches[0]

    @property
    def reads_stream(self) -> bool:
        """Whether the model reads a text as one stream, its state carried from sentence to sentence."""
        return issubclass(self._batch_type, StreamBatch)

    @property
    def is_masked(self) -> bool:
        """Whether the model predicts masked words, not next words."""
        return issubclass(self._batch_type, MaskedBatch)

    @property
    def gives_words(self) -> bool:
        """Whether the model assigns each word a probability, not only each sentence."""
        return issubclass(self.model_type, WordScoring)

    def check_probabilities(self, *, of_sentences: bool) -> None:
        """Raises SynparseError if the model assigns no probabilities, to sentences or at least to a text."""
        has_loss = (self.reads_stream or self.is_masked) and self._batch_type in self.model_type.reads
        if not (issubclass(self.model_type, SentenceScoring) or (has_loss and not of_sentences)):
            text = "sentences" if of_sentences else "text"
            raise SynparseError(f"{self.run}: this {self.name!r} assigns no probabilities to {text}")

    def encode(self, sentence: Sentence) -> EncodedSentence:
        """The sentence as the model reads it."""
        forms = self.normalize(sentence)
        words = self.read_units(sentence, forms)
        is_unknown = tuple(not self.vocabulary.knows(word) for word in words)
        characters = sum(map(len, forms)) + len(forms)
        return EncodedSentence(words, tuple(self.vocabulary.encode(words)), is_unknown, characters)


def blocks_until_failure(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Blocks of ``size`` items. An error in reading them is raised after the items before it."""
    source, problem = iter(items), None
    while problem is None:
        block, problem = until_failure(islice(source, size))
        if not block and not problem:
            return
        yield block
    raise problem


@dataclass(frozen=True, slots=True)
class SentenceLikelihood:
    """Log-probability of a sentence in nats, and of its words, or None if no word is left after normalization.

    ``words`` has one log-probability per word and, for a model of next words, one for the end of the sentence. It is
    empty if the model has probabilities of sentences only.
    """

    sentence: EncodedSentence
    log_probability: float | None
    words: tuple[float, ...] = ()

    @property
    def surprisals(self) -> list[tuple[str, float]]:
        """Each word, and `END` if it is scored, with its surprisal in bits."""
        names = [*self.sentence.words, END]
        return [(name, -nats / math.log(2)) for name, nats in zip(names, self.words, strict=False)]

    def to_json(self) -> dict[str, Any]:
        """The score as a JSON object."""
        line: dict[str, Any] = {
            "words": list(self.sentence.words),
            "log_probability": self.log_probability,
            "unknown": self.sentence.unknown,
        }
        if self.words:
            line["surprisals"] = [bits for _, bits in self.surprisals]
        return line


class SentenceScorer(LanguageModel):
    """A trained model that assigns log-probabilities to sentences."""

    def __init__(self, run: str, *, device: str = "auto") -> None:
        """Raises SynparseError if the model has no probabilities of sentences."""
        super().__init__(run, device=device)
        self.check_probabilities(of_sentences=True)
        self.model: Any = self.build()

    @property
    def max_length(self) -> int | None:
        """Words of the longest sentence that it scores, or None."""
        return MAX_MASKED_WORDS if self.is_masked else super().max_length

    @property
    def counted(self) -> Counted:
        """The tokens that a log-probability is over."""
        if not self.gives_words:
            return "sentence"
        return "masked-words" if self.is_masked else "words+eos"

    def score(self, sentences: Iterable[Sentence]) -> Iterator[SentenceLikelihood]:
        """The score of each sentence, in order. The text is streamed."""
        for block in blocks_until_failure(map(self.encode, sentences), LARGEST_BLOCK):
            yield from self.score_encoded(block)

    @torch.inference_mode()
    @flushing_denormals()
    def score_encoded(self, block: Sequence[EncodedSentence]) -> list[SentenceLikelihood]:
        """The scores of ``block``. Equal sentences are scored once, so that their scores are equal.

        Raises NotANumberError if a score is NaN.
        """
        distinct = [ids for ids in dict.fromkeys(sentence.ids for sentence in block) if ids]
        scores = dict(zip(distinct, map_by_length(self._scores, distinct, cost=self.model.parsing_cost), strict=True))
        if any(math.isnan(total) for total, _ in scores.values()):
            raise NotANumberError
        return [SentenceLikelihood(sentence, *scores.get(sentence.ids, (None,))) for sentence in block]

    def _scores(self, sentences: Sequence[tuple[int, ...]]) -> list[tuple[float, tuple[float, ...]]]:
        """Log-probability of each sentence of a batch and those of its words."""
        batch = SentenceBatch(*pad(sentences)).to(self.device)
        if not self.gives_words:
            return [(value, ()) for value in self.model.log_probability(batch).tolist()]
        rows: Tensor = self.model.word_log_probabilities(batch).double()
        ends = 0 if self.is_masked else 1
        words = [tuple(row[: len(ids) + ends]) for row, ids in zip(rows.tolist(), sentences, strict=True)]
        return [(math.fsum(row), row) for row in words]
