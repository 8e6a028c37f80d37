"""Loaders: training data cut into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from induce.data.batches import Batch
from induce.setting import BY_GRADIENTS, count

if TYPE_CHECKING:
    from torch import Tensor


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


def pad_arrays(sentences: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """``tokens`` (B, N), padded with 0, and ``lengths`` (B,), as arrays."""
    lengths = np.array(list(map(len, sentences)))
    tokens = np.zeros((len(lengths), max(1, lengths.max())), dtype=np.int64)
    tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = list(chain.from_iterable(sentences))
    return tokens, lengths


def pad(sentences: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """``tokens`` (B, N), padded with 0, and ``lengths`` (B,)."""
    import torch

    tokens, lengths = pad_arrays(sentences)
    return torch.from_numpy(tokens), torch.from_numpy(lengths)
