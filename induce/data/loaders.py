"""What hands batches to the training loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from induce.data.batches import Batch

if TYPE_CHECKING:
    from torch import Tensor


class Step(NamedTuple):
    """What one training step learns from."""

    batch: Batch
    after: int  # where the next step starts, in the loader's own count
    factor: float = 1.0  # on the learning rate: the length of a segment over the nominal one
    rate: float = 1.0  # on the learning rate of any optimiser: where a schedule stands


class Loader(Protocol):
    """A text, or labelled expressions, cut into batches; made from it, `TrainConfig`, ``batch_size`` and ``device``."""

    def steps(self, rng: Any, start: int, number: int = 1) -> Iterator[Step]:
        """Pass ``number``, from 1, from ``start`` on; what is random comes from a `numpy.random.RandomState`."""
        ...

    def check(self) -> Iterator[Batch]:
        """All of it, the same at each call."""
        ...

    def share(self, start: int) -> float:
        """How much lies before ``start``, from 0 to 1."""
        ...


def shuffled(rng: Any, count: int) -> np.ndarray:
    """A random order of ``count`` things that ``rng`` *will* give: it does not move on, so that a pass that is taken
    up again has the same order. Draw it once more at the end of the pass."""
    ahead = type(rng)()  # a copy would share the generator underneath
    ahead.set_state(rng.get_state())
    order: np.ndarray = ahead.permutation(count)
    return order


def pad(sentences: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """``tokens`` (B, N), 0 behind each sentence, and ``lengths`` (B,)."""
    import torch

    longest = max(1, *map(len, sentences))
    return torch.tensor([[*ids, *([0] * (longest - len(ids)))] for ids in sentences]), torch.tensor(
        [len(ids) for ids in sentences]
    )


def bucket_by_length(
    lengths: Sequence[int],
    *,
    cost: Callable[[int], float] = lambda length: length + 2.0,
    budget: float = 4096,
    sentences: int = 256,
) -> Iterator[list[int]]:
    """Indices of sentences of like length, in batches of at most ``sentences``, and of at most ``budget`` all together.

    A batch costs what its longest sentence does, by ``cost``, times their number; one that costs more by itself is a
    batch of its own. Shortest first.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and ((len(batch) + 1) * cost(lengths[index]) > budget or len(batch) == sentences):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def batches_of_words(
    lengths: Sequence[int] | np.ndarray, budget: int, *, shortest_first: bool = False
) -> list[np.ndarray]:
    """Indices of sentences of like length in batches of less than ``budget`` words, padding not counted.

    Longest first, as in the released program of UDGN; a sentence that is too long is a batch of its own (there it is
    an endless loop). With ``shortest_first`` a batch grows until it has ``budget`` words, as in that of StructFormer.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(sizes if shortest_first else -sizes, kind="stable")
    starts, total = [], 0
    for place, length in enumerate(sizes[order].tolist()):
        full = total >= budget if shortest_first else total + length >= budget
        if full and place:
            starts.append(place)
            total = 0
        total += length
    return np.split(order, starts) if len(order) else []
