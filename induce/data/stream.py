"""A text as one stream, in parallel columns and segments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from induce.data.batches import Batch, StreamBatch, SupervisedStreamBatch
from induce.data.loaders import BatchSettings, Step
from induce.setting import BY_GRADIENTS, limited, setting

if TYPE_CHECKING:
    from torch import Tensor

    from induce.data.corpus import EncodedCorpus

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
