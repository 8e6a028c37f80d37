"""A text as one long stream, in parallel columns and segments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from induce.data.batches import StreamBatch, SupervisedStreamBatch
from induce.data.loaders import BatchSettings, Step
from induce.settings.field import BY_GRADIENTS, setting

if TYPE_CHECKING:
    from torch import Tensor

    from induce.data.corpus import EncodedCorpus

LEAST_ROWS = 20  # a short text gets fewer columns, so that each has enough to learn from


class Segment(NamedTuple):
    """One step of truncated back-propagation."""

    start: int  # first row
    length: int  # as drawn; decides the learning rate
    rows: int  # as used; shorter at the end of the stream


def segments(rng: Any, nominal: int, total_rows: int, *, start: int = 0, vary: bool = True) -> Iterator[Segment]:
    """Segments of random length that cover a stream of ``total_rows`` rows (Merity et al. 2017, section 4.1).

    ``rng`` is a ``numpy.random.RandomState``; each segment takes one uniform and one normal draw from it. The mean is
    ``nominal`` (in 5 % of the segments half of it), the standard deviation 5, the least length 5. Targets are the words
    one row on, hence the last row is never an input. Without ``vary`` every length is ``nominal``; nothing is drawn.
    """
    while start < total_rows - 2:
        length = nominal
        if vary:
            mean = nominal if rng.random_sample() < 0.95 else nominal / 2
            length = max(5, int(rng.normal(mean, 5)))
        yield Segment(start, length, min(length, total_rows - 1 - start))
        start += length


def columns(stream: Tensor, count: int) -> Tensor:
    """``stream`` (words,) as (rows, count), a view: each column is a consecutive piece; the rest is dropped."""
    rows = len(stream) // count
    return stream[: rows * count].view(count, rows).t()


@dataclass(frozen=True, kw_only=True)
class StreamSettings(BatchSettings):
    """Settings of a stream; a batch has ``batch_size`` columns."""

    segment_length: int = setting(
        35, at_least=2, at_most=1e6, help="steps of truncated backpropagation through time, on average"
    )
    vary_segments: bool = setting(
        True, when=BY_GRADIENTS, help="whether segment lengths are random (Merity et al. 2017) or all the same"
    )


class StreamLoader:
    """A text in parallel columns that are read from top to bottom, the state carried from one segment to the next."""

    Config = StreamSettings

    def __init__(
        self, corpus: EncodedCorpus, config: StreamSettings, *, device: str, epochs: int = 1, held_out: bool = False
    ) -> None:
        import torch

        count = max(1, min(config.size(held_out=held_out), len(corpus.ids) // LEAST_ROWS))
        self.columns = columns(torch.from_numpy(corpus.ids), count)
        self.distances = columns(torch.from_numpy(corpus.distances), count) if len(corpus.distances) else None
        self.length, self.vary, self.device = config.segment_length, config.vary_segments, device

    def steps(self, rng: Any, start: int, number: int = 1) -> Iterator[Step]:
        """One pass from row ``start`` on, in segments."""
        for segment in segments(rng, self.length, len(self.columns), start=start, vary=self.vary):
            batch = self._batch(segment.start, segment.rows)
            yield Step(batch, segment.start + segment.length, segment.length / self.length)

    def check(self) -> Iterator[StreamBatch]:
        """The whole text, in segments of one length."""
        for start in range(0, len(self.columns) - 1, self.length):
            yield self._batch(start, min(self.length, len(self.columns) - 1 - start))

    def share(self, start: int) -> float:
        """How much of the text lies before ``start``."""
        return min(1.0, start / max(1, len(self.columns) - 2))

    def _batch(self, start: int, rows: int) -> StreamBatch:
        words = self.columns[start : start + rows + 1].long()  # (T + 1, B)
        tokens, targets = words[:-1].contiguous(), words[1:].contiguous()
        if self.distances is None:
            return StreamBatch(tokens, targets).to(self.device)
        distances = self.distances[start : start + rows].contiguous()
        return SupervisedStreamBatch(tokens, targets, distances).to(self.device)
