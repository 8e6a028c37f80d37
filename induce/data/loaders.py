"""Loaders: training data cut into batches, from a stream of words, from sentences, or from those of one length."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from induce.data.batches import (
    Batch,
    FragmentBatch,
    HeadSupervisedBatch,
    MaskedBatch,
    SentenceBatch,
    SpanRewardBatch,
    SpanSupervisedBatch,
    SpanTargetBatch,
    StreamBatch,
    SupervisedBatch,
    SupervisedStreamBatch,
    batches_by_size,
    batches_by_words,
    batches_of_equal_length,
)
from induce.data.punctuation import SEPARATED, bracket_conflicts, join_conflicts
from induce.setting import BY_GRADIENTS, choice, count, limited, setting, share, unequal
from treebank.base.errors import SynparseError

if TYPE_CHECKING:
    from torch import Tensor

    from induce.data.corpus import EncodedCorpus


MIN_ROWS = 20  # a short text has fewer columns, of at least this many tokens
MASKINGS = 5  # maskings of the development set per check (as in the released program of UDGN)
MAX_EXPONENT = 40.0  # of a penalty; the product of two factors is not 0 in float32
MIN_RATE = 0.05  # share of the learning rate at the end of a schedule


class Step(NamedTuple):
    """Data of one training step."""

    batch: Batch
    after: int  # start of the next step, in units of the loader
    factor: float = 1.0  # factor on the learning rate of SGD: length of the segment over the nominal length
    rate: float = 1.0  # factor on the learning rate of any optimizer: the schedule


class Loader(Protocol):
    """Training data cut into batches.

    A loader is made from the encoded data and its own settings (``Config``, a frozen dataclass): ``Loader(corpus,
    config, device=..., epochs=..., held_out=...)``, where ``epochs`` is the number of passes of the whole training and
    ``held_out`` says that the batches are for scoring.
    """

    Config: ClassVar[type]
    makes: ClassVar[tuple[type[Batch], ...]]  # types of its batches, with and without supervision

    def steps(self, rng: Any, start: int, number: int = 1) -> Iterator[Step]:
        """Steps of pass ``number`` (from 1) after ``start``, shuffled by ``rng``, a `numpy.random.RandomState`."""
        ...

    def check(self) -> Iterator[Batch]:
        """Batches of all data, the same at each call."""
        ...

    def share(self, start: int) -> float:
        """Share of a pass before ``start``, from 0 to 1."""
        ...


@dataclass(frozen=True, kw_only=True)
class BatchSettings:
    """Settings of loaders whose batches have a fixed number of items."""

    batch_size: int = count(32, "items per training batch", when=BY_GRADIENTS)
    development_batch_size: int = count(10, "items per batch of the development set")

    def size(self, *, held_out: bool) -> int:
        """Items per batch, in scoring if ``held_out``."""
        return self.development_batch_size if held_out else self.batch_size


@dataclass(frozen=True, kw_only=True)
class WordBatchSettings:
    """Settings of loaders whose batches have a limited number of words."""

    batch_words: int = count(4096, "maximum number of words per batch of several sentences")


def falling_rate(progress: float, steady: float, lowest: float) -> float:
    """Factor on the learning rate after a share ``progress`` of the training.

    It is 1 up to the share ``steady``, and then falls evenly to 0 at the end, but not below ``lowest``.
    """
    return 1.0 if progress <= steady else max(lowest, (1 - progress) / (1 - steady))


def shuffled(rng: Any, count: int) -> np.ndarray:
    """The next random permutation of ``rng``, without a change of its state.

    A resumed pass therefore has the same order. Draw the permutation from ``rng`` itself at the end of the pass.
    """
    copy = type(rng)()  # `copy.copy` would share the underlying generator
    copy.set_state(rng.get_state())
    return copy.permutation(count)


class Segment(NamedTuple):
    """One step of truncated back-propagation."""

    start: int  # first row
    length: int  # as drawn; determines the learning rate
    rows: int  # actual length; shorter at the end of the stream


def segments(rng: Any, nominal: int, total_rows: int, *, start: int = 0, vary: bool = True) -> Iterator[Segment]:
    """Segments of random length that cover a stream of ``total_rows`` rows (Merity et al. 2017, section 4.1).

    Each segment takes one uniform and one normal number from ``rng`` (`numpy.random.RandomState`). The mean length is
    ``nominal``, and half of it in 5 % of the segments; the standard deviation is 5, the minimum length 5. Targets are
    the words of the next row, hence the last row is never an input. Without ``vary`` every length is ``nominal``.
    """
    while start < total_rows - 2:
        length = nominal
        if vary:
            mean = nominal if rng.random_sample() < 0.95 else nominal / 2
            length = max(5, int(rng.normal(mean, 5)))
        yield Segment(start, length, min(length, total_rows - 1 - start))
        start += length


def columns(stream: Tensor, count: int) -> Tensor:
    """``stream`` (words,) as a view (rows, count) with consecutive columns, without the remainder."""
    rows = len(stream) // count
    return stream[: rows * count].view(count, rows).t()


@dataclass(frozen=True, kw_only=True)
class StreamSettings(BatchSettings):
    """Settings of a stream, whose batches have ``batch_size`` columns."""

    segment_length: int = limited(35, 2, 1e6, "steps of truncated backpropagation through time, on average")
    vary_segments: bool = setting(
        True, when=BY_GRADIENTS, help="whether segment lengths are random (Merity et al. 2017) or all the same"
    )


class StreamLoader:
    """A text in parallel columns, with the state of the model carried from one segment to the next."""

    makes: ClassVar[tuple[type[Batch], ...]] = (StreamBatch, SupervisedStreamBatch)
    Config = StreamSettings

    def __init__(
        self, corpus: EncodedCorpus, config: StreamSettings, *, device: str, epochs: int = 1, held_out: bool = False
    ) -> None:
        import torch

        count = max(1, min(config.size(held_out=held_out), len(corpus.ids) // MIN_ROWS))
        self.columns = columns(torch.from_numpy(corpus.ids), count)
        self.distances = columns(torch.from_numpy(corpus.distances), count) if len(corpus.distances) else None
        self.length, self.vary, self.device = config.segment_length, config.vary_segments, device

    def steps(self, rng: Any, start: int, number: int = 1) -> Iterator[Step]:
        """Segments of one pass after row ``start``."""
        for segment in segments(rng, self.length, len(self.columns), start=start, vary=self.vary):
            batch = self._batch(segment.start, segment.rows)
            yield Step(batch, segment.start + segment.length, segment.length / self.length)

    def check(self) -> Iterator[StreamBatch]:
        """The complete text in segments of the same length."""
        for start in range(0, len(self.columns) - 1, self.length):
            yield self._batch(start, min(self.length, len(self.columns) - 1 - start))

    def share(self, start: int) -> float:
        """Share of the text before row ``start``."""
        return min(1.0, start / max(1, len(self.columns) - 2))

    def _batch(self, start: int, rows: int) -> StreamBatch:
        words = self.columns[start : start + rows + 1].long()  # (T + 1, B)
        tokens, targets = words[:-1].contiguous(), words[1:].contiguous()
        if self.distances is None:
            return StreamBatch(tokens, targets).to(self.device)
        distances = self.distances[start : start + rows].contiguous()
        return SupervisedStreamBatch(tokens, targets, distances).to(self.device)


@dataclass(frozen=True, kw_only=True)
class SentenceSettings(BatchSettings):
    """Settings of batches of sentences."""

    bucketed: bool = setting(
        False, when=BY_GRADIENTS, help="whether a batch holds sentences of similar length, or consecutive sentences"
    )


class SentenceLoader:
    """Batches of padded sentences (PRPN section 6.3).

    A batch holds consecutive sentences, or with ``config.bucketed`` sentences of similar length, which needs little
    padding. Batches of similar length are shuffled once; their order is the same in every pass.
    """

    makes: ClassVar[tuple[type[Batch], ...]] = (SentenceBatch, SupervisedBatch)
    Config = SentenceSettings

    def __init__(
        self, corpus: EncodedCorpus, config: SentenceSettings, *, device: str, epochs: int = 1, held_out: bool = False
    ) -> None:
        self.corpus, self.device = corpus, device
        size = max(1, min(config.size(held_out=held_out), len(corpus)))
        self.batches = np.split(np.arange(len(corpus)), range(size, len(corpus), size))
        if config.bucketed:
            batches = batches_by_size(corpus.lengths, size)
            self.batches = [np.array(batches[k]) for k in np.random.RandomState(0).permutation(len(batches))]
        # An incomplete last batch of consecutive sentences is left out in training, as in the released program.
        self.whole = self.batches if config.bucketed or len(self.batches[-1]) == size else self.batches[:-1]

    def steps(self, rng: Any, start: int, number: int = 1) -> Iterator[Step]:
        """Batches of one pass after batch ``start``."""
        for after, chosen in enumerate(self.whole[start:], start + 1):
            yield Step(self._batch(chosen), after)

    def check(self) -> Iterator[SentenceBatch]:
        """All sentences."""
        return map(self._batch, self.batches)

    def share(self, start: int) -> float:
        """Share of the batches before ``start``."""
        return start / max(1, len(self.whole))

    def _batch(self, chosen: np.ndarray) -> SentenceBatch:
        batch = self.corpus.sentences(chosen)
        if len(self.corpus.distances):
            import torch

            values, _ = self.corpus.rows_of(self.corpus.distances, chosen, np.nan)
            batch = SupervisedBatch(batch.tokens, batch.lengths, torch.from_numpy(values))
        return batch.to(self.device)


class MaskedLoader:
    """Batches of sentences of similar length for masked language models, in a new order in each pass.

    The batches are those of the released program of UDGN.
    """

    makes: ClassVar[tuple[type[Batch], ...]] = (MaskedBatch, HeadSupervisedBatch)
    Config = WordBatchSettings

    def __init__(
        self, corpus: EncodedCorpus, config: WordBatchSettings, *, device: str, epochs: int = 1, held_out: bool = False
    ) -> None:
        self.corpus, self.device = corpus, device
        self.batches = batches_by_words(corpus.lengths, config.batch_words)

    def steps(self, rng: Any, start: int, number: int = 1) -> Iterator[Step]:
        """Batches of one pass after batch ``start``."""
        import torch

        for after, index in enumerate(shuffled(rng, len(self.batches)).tolist()[start:], start + 1):
            chosen = self.batches[index]
            batch = self.corpus.sentences(chosen).to(self.device)
            yield Step(self._masked(batch, chosen, torch.rand(batch.tokens.shape, device=self.device)), after)
        rng.permutation(len(self.batches))

    def check(self) -> Iterator[MaskedBatch]:
        """Every batch with `MASKINGS` maskings, the same at each call."""
        import torch

        generator = torch.Generator().manual_seed(0)
        for chosen in chain.from_iterable([self.batches] * MASKINGS):
            batch = self.corpus.sentences(chosen).to(self.device)
            uniforms = torch.rand(batch.tokens.shape, generator=generator)
            yield self._masked(batch, chosen, uniforms.to(self.device))

    def share(self, start: int) -> float:
        """Share of the batches before ``start``."""
        return start / len(self.batches)

    def _masked(self, batch: SentenceBatch, chosen: np.ndarray, uniforms: Tensor) -> MaskedBatch:
        """The ``chosen`` sentences with random numbers, and with the heads of other parsers if there are any."""
        references = self.corpus.head_references
        if references is None:
            return MaskedBatch(batch.tokens, batch.lengths, uniforms)
        import torch

        heads = references.heads(chosen, self.corpus.lengths[chosen], batch.tokens.shape[1])
        return HeadSupervisedBatch(batch.tokens, batch.lengths, uniforms, torch.from_numpy(heads).to(self.device))


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
        weights = None  # factors (B, N, N + 1) of the spans
        if self.corpus.references is not None and (penalty := self.penalty(progress)):
            spans = self.corpus.references.weights(chosen, gaps.shape[1], math.exp(-min(penalty, MAX_EXPONENT)))
            weights = torch.from_numpy(spans)
        if self.config.crossing_penalty and (gaps > SEPARATED).any():
            conflicts = conflicting_spans(gaps, batch.lengths)
            factors = torch.where(conflicts, math.exp(-min(self.config.crossing_penalty, MAX_EXPONENT)), 1.0)
            weights = factors if weights is None else weights * factors
        if self.corpus.rewards is None:
            return (plain if weights is None else SpanSupervisedBatch(**vars(plain), weights=weights)).to(self.device)
        rewards = torch.from_numpy(self.corpus.rewards.rewards(chosen, gaps.shape[1]))
        weights = torch.ones_like(rewards) if weights is None else weights
        share = rewards.new_full((len(rewards), 1), self.reward_weight(progress))
        supervised = {"weights": weights, "rewards": rewards, "reward_weight": share}
        return SpanRewardBatch(**vars(plain), **supervised).to(self.device)


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


def fit_passes(
    loader: SpanSettings,
    lengths: np.ndarray,
    words: float,
    max_passes: int,
    *,
    enough: float = math.inf,
    first_passes: int = 1,
) -> tuple[int, SpanSettings]:
    """Number of passes over sentences of these ``lengths`` that learn from at most ``words`` words, and the settings.

    There are two passes or more if ``max_passes`` allows this. More than ``first_passes`` passes learn from at most
    ``enough`` words. The longest sentences are learned from in the last pass at the latest.
    """
    if max_passes == 1:
        return 1, replace(loader, first_longest=0)
    longest = loader.longest or int(lengths.max(initial=0))
    for passes in range(max_passes, 1, -1):
        rise = -(-max(0, longest - loader.first_longest) // (passes - 1))
        loader = replace(loader, longer=max(loader.longer, rise))
        learned = words_learned(lengths, loader, passes)
        if learned <= words and (learned <= enough or passes <= first_passes):
            break
    return passes, loader
