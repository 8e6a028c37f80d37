"""Pairs of sentences with human ratings: their files, their training data, and the pretrained model for fine-tuning.

The files are those of STS 2012 to 2016, the STS benchmark and SICK, or have three columns.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from induce.data.batches import Batch, pad
from induce.data.corpus import TrainingData
from induce.data.vocabulary import RECIPES, Vocabulary, split
from induce.registry import MODELS, models_of
from induce.setting import setting
from induce.settings.presets import load_preset
from induce.settings.run import DataConfig, PurposeSettings, RunConfig
from induce.tasks.base import bad
from induce.tasks.examples import LengthLoader, RatedBatch, set_aside
from treebank.base.errors import SynparseError
from treebank.base.files import digest_bytes
from treebank.core.sentence import Location, Sentence
from treebank.io.lines import open_lines
from treebank.io.read import expand
from treebank.tokenize import tokenization

if TYPE_CHECKING:
    from torch import Tensor


SICK = ("sentence_A", "sentence_B", "relatedness_score")  # columns in the first line of its files
STS = 7  # columns or more: genre, file, year, number, rating, two sentences
INPUT, GOLD = "STS.input.", "STS.gs."  # beginnings of the two files of a set of STS 2012 to 2016
EXPECTED = "expected a rating and two sentences between tabs, or the columns of the STS benchmark or of SICK"


@dataclass(frozen=True, slots=True)
class RatedPair:
    """Two untokenized sentences with the human rating of their similarity, from 0 to 1."""

    first: str
    second: str
    rating: float
    genre: str = ""  # of the STS benchmark: main-news, main-captions or main-forums

    @property
    def words(self) -> int:
        """Number of words of the longer sentence."""
        return max(len(cut_words(text, "").words) for text in (self.first, self.second))

    def __str__(self) -> str:
        return f"{self.rating:g}\t{self.first}\t{self.second}"


@dataclass(frozen=True, kw_only=True)
class SimilaritySettings(PurposeSettings):
    """Settings of the task."""

    pretrained: str = setting("", help="model folder whose model is fine-tuned; empty: a new model")

    def check_run(self, config: RunConfig) -> None:
        """Raises SynparseError if a vocabulary is given with a pretrained model, which has its own."""
        if config.data.vocabulary and self.pretrained:
            raise SynparseError("setting data.vocabulary: task.pretrained has its own vocabulary; leave one out")


class Similarity:
    """The task of rating the similarity of two sentences."""

    Config: ClassVar[type] = SimilaritySettings

    def read(self, paths: Iterable[str]) -> list[RatedPair]:
        """The pairs of files, in the format of their names or first lines. Raises TreebankError for a malformed line.

        A file ``STS.input.SET.txt`` has its ratings in ``STS.gs.SET.txt`` next to it.
        """
        pairs: list[RatedPair] = []
        for path in expand(list(paths)):
            folder, name = os.path.split(path)
            if name.startswith(INPUT):
                pairs += _read_two_files(path, os.path.join(folder, name.replace(INPUT, GOLD, 1)))
            elif not (name.startswith(GOLD) and os.path.isfile(os.path.join(folder, name.replace(GOLD, INPUT, 1)))):
                pairs += _read_one_file(path)
        return pairs


def _read_two_files(path: str, gold: str) -> Iterator[RatedPair]:
    """Pairs of the file ``path`` whose line in the file ``gold`` has a rating and is not empty."""
    if not os.path.isfile(gold):
        raise SynparseError(f"{path}: the ratings are missing; put {os.path.basename(gold)} next to it")
    for (number, line), (_, rating) in zip_longest(open_lines(path), open_lines(gold), fillvalue=(0, None)):
        if line is None or rating is None:
            raise SynparseError(f"{path}: has another number of lines than {gold}; download both again")
        if rating.strip():
            yield _pair([rating, *line.split("\t")[:2]], Location(path, number))


def _read_one_file(path: str) -> Iterator[RatedPair]:
    columns: Sequence[int] = ()
    for number, line in open_lines(path):
        fields, location = line.split("\t"), Location(path, number)
        if number == 1 and set(SICK) <= set(fields):
            columns = [fields.index(name) for name in SICK]
        elif not line.strip():
            continue
        elif columns:
            yield _pair([fields[k] for k in columns if k < len(fields)], location, low=1, order=(2, 0, 1))
        elif len(fields) >= STS:
            yield _pair(fields[4:7], location, genre=fields[0])
        else:
            yield _pair(fields, location)


def _pair(
    fields: Sequence[str], location: Location, *, low: float = 0, order: Sequence[int] = (0, 1, 2), genre: str = ""
) -> RatedPair:
    """A pair from three fields in ``order`` (rating and sentences), with ratings from ``low`` to 5."""
    if len(fields) != 3:
        raise bad(location, EXPECTED)
    rating, first, second = (fields[k].strip() for k in order)
    try:
        value = float(rating)
    except ValueError:
        raise bad(location, f"{EXPECTED}; {rating!r} is not a number") from None
    if math.isnan(value) or not low <= value <= 5:
        raise bad(location, f"the rating {rating} is not between {low:g} and 5")
    if not first or not second:
        raise bad(location, "one of the two sentences is empty")
    return RatedPair(first, second, (value - low) / (5 - low), genre)


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
    task, run = Similarity(), config.purpose.pretrained
    training, development = task.read(text), task.read(dev)
    if not dev and config.data.development_share:
        training, development = set_aside(training, round(1 / config.data.development_share))
    return RatedPairs(training, config.data, run), RatedPairs(development, config.data, run)


def settle(config: RunConfig, model: str | None) -> RunConfig:
    """``config`` with model, model settings and normalization of the pretrained model in ``task.pretrained``.

    Raises SynparseError if its type has no sentence encoder, it was trained on a task, or it is not a ``model``.
    """
    run = config.purpose.pretrained
    if not run:
        return config
    from induce.parsing.load import read_trained

    pretrained = read_trained(run).config
    pretrainable = [name for name in models_of("similarity") if name in MODELS]
    if pretrained.purpose_name or pretrained.model_name not in pretrainable:
        learned = f", which has learned the task {pretrained.purpose_name}" if pretrained.purpose_name else ""
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
    return replace(preset, model=settings, data=data, purpose=config.purpose, parse=pretrained.parse)
