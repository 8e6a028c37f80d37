"""Loaders: training data cut into batches, from a stream of words or from sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from induce.data.batches import (
    Batch,
    HeadSupervisedBatch,
    MaskedBatch,
    SentenceBatch,
    StreamBatch,
    SupervisedBatch,
    SupervisedStreamBatch,
)
from induce.data.by_length import batches_by_size, batches_by_words
from induce.setting import BY_GRADIENTS, count, limited, setting

if TYPE_CHECKING:
    from torch import Tensor

    from induce.data.corpus import EncodedCorpus


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


MIN_ROWS = 20  # a short text has fewer columns, of at least this many tokens


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


MASKINGS = 5  # maskings of the development set per check (as in the released program of UDGN)


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
