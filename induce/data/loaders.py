"""What hands batches to the training loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from induce.data.batches import Batch
from induce.settings.field import BY_GRADIENTS, setting

if TYPE_CHECKING:
    from torch import Tensor


class Step(NamedTuple):
    """What one training step learns from."""

    batch: Batch
    after: int  # where the next step starts, in the loader's own count
    factor: float = 1.0  # on the learning rate: the length of a segment over the nominal one
    rate: float = 1.0  # on the learning rate of any optimiser: where a schedule stands


class Loader(Protocol):
    """Training data cut into batches.

    A loader is made from the encoded data and its own settings (``Config``, a frozen dataclass): ``Loader(corpus,
    config, device=..., epochs=..., held_out=...)``, where ``epochs`` is the number of passes of the whole training and
    ``held_out`` says that the batches are for scoring.
    """

    Config: ClassVar[type]

    def steps(self, rng: Any, start: int, number: int = 1) -> Iterator[Step]:
        """Pass ``number``, from 1, from ``start`` on; what is random comes from a `numpy.random.RandomState`."""
        ...

    def check(self) -> Iterator[Batch]:
        """All of it, the same at each call."""
        ...

    def share(self, start: int) -> float:
        """How much lies before ``start``, from 0 to 1."""
        ...


@dataclass(frozen=True, kw_only=True)
class BatchSettings:
    """Settings of loaders whose batches have a fixed number of items."""

    batch_size: int = setting(32, at_least=1, at_most=1e6, when=BY_GRADIENTS, help="items per training batch")
    development_batch_size: int = setting(10, at_least=1, at_most=1e6, help="items per batch of the development set")

    def size(self, *, held_out: bool) -> int:
        """Items per batch, in scoring if ``held_out``."""
        return self.development_batch_size if held_out else self.batch_size


@dataclass(frozen=True, kw_only=True)
class WordBatchSettings:
    """Settings of loaders whose batches have a limited number of words."""

    batch_words: int = setting(
        4096, at_least=1, at_most=1e9, help="maximum number of words per batch of several sentences"
    )


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
