"""Batches of sentences of the same length with their punctuation, for grammars."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from induce.data.batches import Batch, FragmentBatch, SpanRewardBatch, SpanSupervisedBatch, SpanTargetBatch
from induce.data.by_length import batches_of_equal_length
from induce.data.loaders import Step, WordBatchSettings, falling_rate, shuffled
from induce.data.punctuation import SEPARATED, bracket_conflicts, join_conflicts
from induce.setting import BY_GRADIENTS, choice, limited, share, unequal
from treebank.base.errors import SynparseError

if TYPE_CHECKING:
    from torch import Tensor

    from induce.data.corpus import EncodedCorpus

MIN_RATE = 0.05  # share of the learning rate at the end of a schedule


@dataclass(frozen=True, kw_only=True)
class SpanSettings(WordBatchSettings):
    """Settings of batches of sentences of one length, with a curriculum and a learning rate schedule."""

    longest: int = limited(0, 0, 1e9, "maximum words of a training sentence; 0: no limit", when=BY_GRADIENTS)
    first_longest: int = limited(
        0, 0, 1e9, "maximum words of a training sentence in the first epoch; 0: as later", when=BY_GRADIENTS
    )
    longer: int = limited(
        2, 0, 1e9, "words by which the maximum grows per epoch", when=unequal("loader.first_longest", 0)
    )
    steady: float = share(
        1.0, "share of the training after which the learning rate falls evenly to 0.05 of its value", when=BY_GRADIENTS
    )


@dataclass(frozen=True, kw_only=True)
class FragmentSettings(SpanSettings):
    """Settings of batches of sentences of one length, in which some spans may cost more."""

    crossing_penalty: float = limited(
        0.0, 0, 1e3, "cost in nats of a span that crosses a bracket or separates joined words", when=BY_GRADIENTS
    )
    focus_penalty: float = limited(
        4.0, 0, 1e3, "cost in nats of a span that is in no tree of the other parsers (--teacher)", when=BY_GRADIENTS
    )
    focus_share: float = share(0.4, "share of the training in which focus_penalty applies", when=BY_GRADIENTS)
    focus_fade: float = share(0.0, "share of the training in which focus_penalty then falls to 0", when=BY_GRADIENTS)
    reward_weight: float = limited(1.0, 0, 1e3, "weight of the rewards of spans (--teacher seminfo)", when=BY_GRADIENTS)
    reward_growth: float = share(0.1, "share of the training in which reward_weight grows from 0", when=BY_GRADIENTS)
    reward_matching: str = choice(
        "words",
        ("words", "characters"),
        "whether a phrase is in a paraphrase if its words are, or its characters (as in the released program)",
        when=BY_GRADIENTS,
    )


class FragmentLoader:
    """Batches of sentences of the same length with their punctuation, in a new order in each pass.

    A batch has at most ``config.batch_words`` words, and at least one sentence. A curriculum takes sentences of at most
    ``first_longest`` words in the first pass and ``longer`` more in each later pass, up to ``longest``. Progress, from
    0 to 1, counts the words of all passes. After ``steady`` of the training the learning rate falls. Spans that are in
    no reference tree are multiplied by exp(-``focus_penalty``) in the first ``focus_share`` of the training; the
    penalty then falls to 0 within ``focus_fade``. Spans that conflict with brackets or joined words
    (`conflicting_spans`) are multiplied by exp(-``crossing_penalty``) in all passes. If the corpus has rewards of
    spans, their weight grows to ``reward_weight`` in the first ``reward_growth`` of the training. The model is scored
    without penalties and rewards.
    """

    makes: ClassVar[tuple[type[Batch], ...]] = (FragmentBatch, SpanSupervisedBatch, SpanRewardBatch)
    Config: ClassVar[type] = FragmentSettings

    def __init__(
        self, corpus: EncodedCorpus, config: Any, *, device: str, epochs: int = 1, held_out: bool = False
    ) -> None:
        self.corpus, self.config, self.device = corpus, config, device
        lengths = corpus.lengths
        equal = batches_of_equal_length(lengths, lambda length: config.batch_words // max(1, length))
        self.batches = [rows for rows, _ in equal]
        self.lengths = np.array([lengths[batch[0]] for batch in self.batches])
        self.words = self.lengths * np.array([len(batch) for batch in self.batches])
        self.passes = [self._within(number) for number in range(1, epochs + 1)]  # batches of each pass
        self.total = max(1, sum(int(self.words[:count].sum()) for count in self.passes))
        self.number = 1

    def _within(self, number: int) -> int:
        """Number of batches with sentences that are short enough for pass ``number``, at least 1."""
        return max(1, int((self.lengths <= longest_of_pass(self.config, number)).sum()))

    def steps(self, rng: Any, start: int, number: int = 1) -> Iterator[Step]:
        """Batches of pass ``number`` after batch ``start``."""
        self.number = number
        count = self._within(number)
        order = shuffled(rng, count)
        words = np.concatenate([[0], self.words[order].cumsum()])
        before = sum(int(self.words[:count].sum()) for count in self.passes[: number - 1])
        for index in range(start, count):
            progress = min(1.0, (before + int(words[index])) / self.total)
            batch = self._batch(self.batches[order[index]], progress)
            yield Step(batch, index + 1, rate=self.rate(progress))
        rng.permutation(count)

    def rate(self, progress: float) -> float:
        """Factor on the learning rate, 1 up to ``steady``."""
        return falling_rate(progress, self.config.steady, MIN_RATE)

    def penalty(self, progress: float) -> float:
        """Cost in nats of a span that is in no reference tree."""
        config = self.config
        if progress < config.focus_share:
            return config.focus_penalty
        left = config.focus_share + config.focus_fade - progress
        return config.focus_penalty * max(0.0, left / config.focus_fade) if config.focus_fade else 0.0

    def reward_weight(self, progress: float) -> float:
        """Weight of the rewards of spans."""
        growth = self.config.reward_growth
        return self.config.reward_weight * (min(1.0, progress / growth) if growth else 1.0)

    def check(self) -> Iterator[FragmentBatch]:
        """All sentences, shortest first."""
        return map(self._batch, self.batches)

    def share(self, start: int) -> float:
        """Share of the batches of the current pass before ``start``."""
        return start / self._within(self.number)

    def _batch(self, chosen: np.ndarray, progress: float | None = None) -> FragmentBatch:
        """Batch of the ``chosen`` sentences: for training at ``progress``, for scoring without."""
        import torch

        batch = self.corpus.sentences(chosen)
        gaps = torch.from_numpy(self.corpus.gaps_before(chosen))
        plain = FragmentBatch(batch.tokens, batch.lengths, gaps)
        if progress is None:
            return plain.to(self.device)
        weights = self._weights(chosen, batch.lengths, gaps, self.penalty(progress))
        if self.corpus.rewards is None:
            return (plain if weights is None else SpanSupervisedBatch(**vars(plain), weights=weights)).to(self.device)
        rewards = torch.from_numpy(self.corpus.rewards.rewards(chosen, gaps.shape[1]))
        weights = torch.ones_like(rewards) if weights is None else weights
        share = rewards.new_full((len(rewards), 1), self.reward_weight(progress))
        supervised = {"weights": weights, "rewards": rewards, "reward_weight": share}
        return SpanRewardBatch(**vars(plain), **supervised).to(self.device)

    def _weights(self, chosen: np.ndarray, lengths: Tensor, gaps: Tensor, penalty: float) -> Tensor | None:
        """Factors (B, N, N + 1) of the spans of the ``chosen`` sentences, or None if all are 1."""
        import torch

        weights = None
        if self.corpus.references is not None and penalty:
            spans = self.corpus.references.weights(chosen, gaps.shape[1], math.exp(-penalty))
            weights = torch.from_numpy(spans)
        if self.config.crossing_penalty and (gaps > SEPARATED).any():
            factors = torch.where(conflicting_spans(gaps, lengths), math.exp(-self.config.crossing_penalty), 1.0)
            weights = factors if weights is None else weights * factors
        return weights


class SpanLoader(FragmentLoader):
    """Batches of sentences of the same length with the share of the reference trees that have each span."""

    makes: ClassVar[tuple[type[Batch], ...]] = (SpanTargetBatch,)
    Config = SpanSettings

    def _batch(self, chosen: np.ndarray, progress: float | None = None) -> SpanTargetBatch:
        import torch

        references = self.corpus.references
        if references is None:
            raise SynparseError("there are no trees to learn from; name a model with --teacher MODEL")
        batch = self.corpus.sentences(chosen)
        gaps = torch.from_numpy(self.corpus.gaps_before(chosen))
        spans = torch.from_numpy(references.shares(chosen, batch.tokens.shape[1]))
        return SpanTargetBatch(batch.tokens, batch.lengths, gaps, spans).to(self.device)


def conflicting_spans(gaps: Tensor, lengths: Tensor) -> Tensor:
    """Whether each span (B, N, N + 1) conflicts with brackets or joined words of its sentence."""
    import torch

    conflicts = torch.zeros(*gaps.shape, gaps.shape[1] + 1, dtype=torch.bool)
    for sentence, row, length in zip(conflicts, gaps.tolist(), lengths.tolist(), strict=True):
        counts = bracket_conflicts(row[:length]) + join_conflicts(row[:length])
        sentence[:length, : length + 1] = torch.from_numpy(counts > 0)
    return conflicts


def longest_of_pass(config: SpanSettings, number: int) -> float:
    """Maximum number of words per sentence in pass ``number``, from 1."""
    limits = [float(config.longest)] if config.longest else []
    if config.first_longest:
        limits.append(config.first_longest + (number - 1) * config.longer)
    return min(limits, default=math.inf)


def words_learned(lengths: np.ndarray, config: SpanSettings, epochs: int) -> int:
    """Number of running words in all passes over sentences of these ``lengths``."""
    return sum(int(lengths[lengths <= longest_of_pass(config, number)].sum()) for number in range(1, epochs + 1))
