"""Rated pairs as training data, and the pretrained model for fine-tuning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from induce.data.batches import Batch
from induce.data.loaders import pad
from induce.data.normalization import RECIPES
from induce.data.settings import DataConfig
from induce.data.tokens import split
from induce.data.training_data import TrainingData
from induce.data.vocabulary import Vocabulary
from induce.registry import MODELS, models_of
from induce.settings.presets import load_preset
from induce.settings.run import RunConfig
from induce.tasks.batches import RatedBatch
from induce.tasks.examples import LengthLoader, set_aside
from induce.tasks.similarity.pairs import RatedPair, Similarity
from treebank.base.errors import SynparseError
from treebank.base.files import digest_bytes
from treebank.core.sentence import Sentence
from treebank.tokenize import tokenization

if TYPE_CHECKING:
    from torch import Tensor

RULE = "english"  # tokenization, if the pretrained model has none
NO_WORDS = (1,)  # input for a sentence without words: one unknown word


class EncodedPair(NamedTuple):
    """Two sentences as word indices, and their rating from 0 to 1."""

    first: Sequence[int]
    second: Sequence[int]
    rating: float


class EncodedPairs(NamedTuple):
    """Rated pairs as word indices, with the pretrained model."""

    pairs: Sequence[EncodedPair]
    pretrained: str  # folder of the pretrained model; "": none

    def pretrained_weights(self) -> dict[str, Tensor]:
        """Weights of the pretrained model by name, empty if there is none."""
        from induce.parsing.load import read_trained

        return read_trained(self.pretrained).weights() if self.pretrained else {}


class RatedPairs(TrainingData):
    """Rated pairs, tokenized and normalized by the settings ``data``."""

    def __init__(self, pairs: Iterable[RatedPair], data: DataConfig, pretrained: str = "") -> None:
        self.pairs, self.data, self.pretrained = list(pairs), data, pretrained
        self.sha256 = digest_bytes("".join(f"{pair}\n" for pair in self.pairs).encode())

    @cached_property
    def cut(self) -> list[tuple[Sequence[str], Sequence[str]]]:
        """The words of each pair after normalization."""
        return [(words_of(pair.first, self.data), words_of(pair.second, self.data)) for pair in self.pairs]

    @property
    def sentences(self) -> int:
        """Number of sentences, two for each pair."""
        return 2 * len(self.pairs)

    @property
    def words(self) -> int:
        """Number of words."""
        return sum(len(side) for pair in self.cut for side in pair)

    def word_counts(self) -> Mapping[str, int]:
        """Number of occurrences of each word."""
        return Counter(word for pair in self.cut for side in pair for word in side)

    def vocabulary(self, size: int, minimum_count: int, unknown: str = "one") -> Vocabulary:
        """Vocabulary of the pretrained model or, without such a model, of the words of these pairs.

        The arguments apply only to the second case: at most ``size`` words that occur ``minimum_count`` times or more;
        ``unknown`` names the treatment of other words.
        """
        if self.pretrained:
            from induce.parsing.load import read_trained

            return read_trained(self.pretrained).vocabulary
        return Vocabulary.from_counts(self.word_counts(), size=size, minimum_count=minimum_count, unknown=unknown)

    def encode(self, vocabulary: Vocabulary, joining: Sequence[str] = ()) -> EncodedPairs:
        """The pairs with both sentences as lists of word indices in ``vocabulary``. Ratings are unchanged."""
        encoded = []
        for pair, sides in zip(self.pairs, self.cut, strict=True):
            first, second = (vocabulary.encode(side) or NO_WORDS for side in sides)
            encoded.append(EncodedPair(first, second, pair.rating))
        return EncodedPairs(encoded, self.pretrained)


def words_of(sentence: str, data: DataConfig) -> Sequence[str]:
    """The words of a sentence, tokenized by the rule of ``data`` (default `RULE`) and normalized by its recipe."""
    sentence_words = cut_words(sentence, data.tokenization)
    return split(RECIPES[data.normalization](sentence_words.words, sentence_words.tags).forms, data.token)


def cut_words(sentence: str, rule: str) -> Sentence:
    """A sentence tokenized by ``rule``, or by `RULE` if it is empty."""
    spans = tokenization(rule or RULE).words(sentence)
    return Sentence(tuple(sentence[start:end] for start, end in spans))


class PairLoader(LengthLoader):
    """Batches of rated pairs of similar length."""

    makes: ClassVar[tuple[type[Batch], ...]] = (RatedBatch,)

    def lengths_of(self, items: EncodedPairs) -> Sequence[int]:
        """The number of words of the longer sentence of each pair."""
        return [max(len(pair.first), len(pair.second)) for pair in items.pairs]

    def batch(self, chosen: Sequence[int]) -> RatedBatch:
        """Batch of the pairs whose indices are ``chosen``."""
        import torch

        pairs = [self.items.pairs[index] for index in chosen]
        tokens, lengths = pad([pair.first for pair in pairs] + [pair.second for pair in pairs])
        return RatedBatch(tokens, lengths, torch.tensor([pair.rating for pair in pairs])).to(self.device)


def load_pairs(config: RunConfig, text: Sequence[str], dev: Sequence[str]) -> tuple[RatedPairs, RatedPairs]:
    """Training and development pairs of the files ``text`` and ``dev``, or a share of ``text``.

    Raises SynparseError if there is no file or a file is malformed.
    """
    if not text:
        raise SynparseError("task similarity learns from rated pairs; name their files, such as sts-train.csv")
    task, run = Similarity(), config.task.pretrained
    training, development = task.read(text), task.read(dev)
    if not dev and config.data.development_share:
        training, development = set_aside(training, round(1 / config.data.development_share))
    return RatedPairs(training, config.data, run), RatedPairs(development, config.data, run)


def settle(config: RunConfig, model: str | None) -> RunConfig:
    """``config`` with model, model settings and normalization of the pretrained model in ``task.pretrained``.

    Raises SynparseError if its type has no sentence encoder, it was trained on a task, or it is not a ``model``.
    """
    run = config.task.pretrained
    if not run:
        return config
    from induce.parsing.load import read_trained

    pretrained = read_trained(run).config
    pretrainable = [name for name in models_of("similarity") if name in MODELS]
    if pretrained.task_name or pretrained.model_name not in pretrainable:
        learned = f", which has learned the task {pretrained.task_name}" if pretrained.task_name else ""
        known = ", ".join(pretrainable)
        raise SynparseError(
            f"{run}: this is a model {pretrained.model_name!r}{learned}; a pretrained {known} is needed"
        )
    if model not in (None, pretrained.model_name):
        raise SynparseError(f"--model {model}: {run} is a model {pretrained.model_name!r}")
    preset = load_preset(config.preset, pretrained.model_name)
    data = replace(
        preset.data,
        normalization=pretrained.data.normalization,
        tokenization=pretrained.data.tokenization or preset.data.tokenization,
        token=pretrained.data.token,
    )
    settings = {
        **{name: value for name, value in preset.model.items() if name not in pretrained.model},
        **pretrained.model,
    }
    return replace(preset, model=settings, data=data, task=config.task, parse=pretrained.parse)
