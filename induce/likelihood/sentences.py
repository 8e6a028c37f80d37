"""How probable sentences are to a trained model, each by itself: the sum of a sentence and its words one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import torch
from torch import Tensor

from induce.data.batches import SentenceBatch
from induce.data.by_length import batches_by_cost
from induce.data.loaders import pad
from induce.data.tokens import split
from induce.models.base import scores_sentences, scores_words
from induce.parsing.load import choose_device, read_trained
from induce.parsing.parser import LARGEST_BLOCK, with_rule
from induce.registry import model_class
from induce.storage.checkpoint import Checkpoint, build_model
from treebank.base.errors import SynparseError
from treebank.core.normalization import RECIPES
from treebank.core.sentence import Sentence
from treebank.io.formats import InputOptions

END = "<eos>"  # how the mark behind the last word is written
#: what a log-probability is over: words one after another and the end mark; words that are masked one by one; or the
#: whole sentence, summed over all its trees, its end included
Counted = Literal["words+eos", "masked-words", "sentence"]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A sentence as a model sees it: the words after normalisation, their numbers, and which it does not know."""

    words: Sequence[str]
    ids: tuple[int, ...]
    is_unknown: tuple[bool, ...]

    @property
    def unknown(self) -> int:
        """Words that are not in the vocabulary."""
        return sum(self.is_unknown)


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """What a model says of one sentence; both None where no word is left of it after normalisation.

    ``words`` has one log-probability for each word and, of a model of next words, one more for the end mark; it is
    empty for a model that only knows whole sentences.
    """

    sentence: Encoded
    log_probability: float | None  # in nats
    words: tuple[float, ...] = ()

    @property
    def surprisals(self) -> list[tuple[str, float]]:
        """Each word, and `END` where it counts, with its surprisal in bits."""
        names = [*self.sentence.words, END]
        return [(name, -nats / math.log(2)) for name, nats in zip(names, self.words, strict=False)]

    def to_json(self) -> dict[str, Any]:
        """A line of ``synparse score --json``."""
        line: dict[str, Any] = {
            "words": list(self.sentence.words),
            "log_probability": self.log_probability,
            "unknown": self.sentence.unknown,
        }
        if self.words:
            line["surprisals"] = [bits for _, bits in self.surprisals]
        return line


class SentenceScorer:
    """A trained model that gives sentences their log-probability."""

    def __init__(self, run: str, *, device: str = "auto") -> None:
        """Raises SynparseError for a model that has no probabilities of sentences."""
        self.run, self.device = run, choose_device(device)
        self.checkpoint: Checkpoint = read_trained(run)
        self.config = self.checkpoint.config
        self.name, self.vocabulary = self.config.model_name, self.checkpoint.vocabulary
        self.counted = counted(run, self.checkpoint)
        self.recipe = RECIPES[self.config.data.normalization]
        self.model: Any = build_model(self.checkpoint).to(self.device)

    @property
    def gives_words(self) -> bool:
        """Whether it has a log-probability of each word."""
        return self.counted != "sentence"

    def input_options(self, given: InputOptions) -> InputOptions:
        """How text for this model is read: ``given``, and the rule that split the text of its training."""
        return with_rule(given, self.config.data.tokenization)

    def encode(self, sentence: Sentence) -> Encoded:
        """The sentence as this model sees it."""
        seen = self.recipe(sentence.words, sentence.tags)
        words = split(seen.forms, self.config.data.token)
        is_unknown = tuple(not self.vocabulary.knows(word) for word in words)
        return Encoded(words, tuple(self.vocabulary.encode(words)), is_unknown)

    def score(self, sentences: Iterable[Sentence]) -> Iterator[SentenceScore]:
        """The score of each sentence, in order; the text is streamed."""
        source = map(self.encode, sentences)
        while block := list(islice(source, LARGEST_BLOCK)):
            yield from self.score_encoded(block)

    @torch.inference_mode()
    def score_encoded(self, block: Sequence[Encoded]) -> list[SentenceScore]:
        """The scores of some sentences; equal ones are computed once, so that their scores are equal."""
        first: dict[tuple[int, ...], int] = {}
        for index, one in enumerate(block):
            first.setdefault(one.ids, index)
        first.pop((), None)
        chosen, values = list(first.values()), {}
        lengths = [len(block[index].ids) for index in chosen]
        for places in batches_by_cost(lengths, cost=self.model.parsing_cost):
            batch = [block[chosen[place]] for place in places]
            for one, value in zip(batch, self._values(batch), strict=True):
                values[one.ids] = value
        return [SentenceScore(one, *values.get(one.ids, (None,))) for one in block]

    def _values(self, batch: Sequence[Encoded]) -> list[tuple[float, tuple[float, ...]]]:
        """Log-probability of each sentence and those of its words."""
        inputs = SentenceBatch(*pad([one.ids for one in batch])).to(self.device)
        if not self.gives_words:
            return [(value, ()) for value in self.model.log_probability(inputs).tolist()]
        rows: Tensor = self.model.word_log_probabilities(inputs).double()
        more = 1 if self.counted == "words+eos" else 0
        words = [tuple(row[: len(one.ids) + more]) for row, one in zip(rows.tolist(), batch, strict=True)]
        return [(math.fsum(row), row) for row in words]


def counted(run: str, checkpoint: Checkpoint) -> Counted:
    """What the log-probabilities of a model are over. Raises SynparseError for a model that has none."""
    config = checkpoint.config
    if config.data.task:
        raise SynparseError(f"{run}: this {config.model_name!r} has learned the task {config.data.task}, not text")
    kind = model_class(config.model_name)
    if not scores_sentences(kind):
        raise SynparseError(f"{run}: this {config.model_name!r} gives no probabilities of sentences")
    if not scores_words(kind):
        return "sentence"
    return "masked-words" if config.data.reading == "masked" else "words+eos"
