"""Batches: one type for each form of training data.

Axes: T steps, B sentences or columns of a stream, N words of the longest sentence. Token 0 is the boundary token and
padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Base class of batches: tensors with a common batch axis."""

    tokens: Tensor

    @property
    def token_count(self) -> int:
        """Number of tokens, without padding."""
        return self.tokens.numel()

    @property
    def carries_state(self) -> bool:
        """Whether the next batch continues where this one ends."""
        return False

    def to(self, device: str) -> Self:
        """The batch on ``device``."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return replace(self, **{name: value.to(device) for name, value in values.items() if hasattr(value, "to")})

    def parts(self, count: int, *, cut: bool = True) -> list[Self]:
        """The batch in at most ``count`` parts with one or more rows each.

        With ``cut`` the columns of a part that hold only padding are removed.
        """
        raise TypeError(f"a {type(self).__name__} cannot be cut")


@dataclass(frozen=True)
class StreamBatch(Batch):
    """A segment of a text in parallel columns: ``tokens`` (T, B) and ``targets`` (T, B), the tokens that follow."""

    targets: Tensor

    @property
    def carries_state(self) -> bool:
        """True: a segment continues where the preceding one ended."""
        return True

    def parts(self, count: int, *, cut: bool = True) -> list[Self]:
        """The segment in at most ``count`` parts with some of the columns each."""
        split = {item.name: getattr(self, item.name).tensor_split(count, 1) for item in fields(self)}
        width = min(count, self.tokens.shape[1])
        return [replace(self, **{name: part[k] for name, part in split.items()}) for k in range(width)]


@dataclass(frozen=True)
class SupervisedStreamBatch(StreamBatch):
    """A segment with the ``distances`` (T, B) of gold trees.

    The value of a word is that of the gap before it, NaN without a tree.
    """

    distances: Tensor


@dataclass(frozen=True)
class SentenceBatch(Batch):
    """Sentences: ``tokens`` (B, N) without boundary tokens, padded with 0 after their ``lengths`` (B,) words."""

    matrices: ClassVar[Mapping[str, int]] = {}  # fields (B, N, N + k) -> k; all others have the axes (B, N, …)
    lengths: Tensor

    @property
    def token_count(self) -> int:
        """Number of words."""
        return int(self.lengths.sum())

    @property
    def items(self) -> int:
        """Number of sentences, or of other items that belong together."""
        return len(self.lengths)

    def by_length(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Rows of the batch and their words (rows, N) for each length above 0."""
        lengths = self.lengths.to(self.tokens.device)
        for length in lengths.unique().tolist():
            if length:
                rows = (lengths == length).nonzero()[:, 0]
                yield rows, self.tokens[rows, :length]

    def parts(self, count: int, *, cut: bool = True) -> list[Self]:
        """The batch in at most ``count`` parts with some of the items each."""
        import torch

        rows = torch.arange(self.items).tensor_split(min(count, self.items))
        return [self.select(chosen, cut=cut) for chosen in rows]

    def select(self, chosen: Tensor, *, cut: bool = True) -> Self:
        """The items whose indices are ``chosen`` (on the CPU), with ``cut`` without columns of padding only."""
        lengths = self.lengths[chosen.to(self.lengths.device)]
        longest = max(1, int(lengths.max())) if cut else self.tokens.shape[1]
        return replace(self, lengths=lengths, **self._selected(chosen.to(self.tokens.device), longest))

    def _selected(self, chosen: Tensor, longest: int) -> dict[str, Any]:
        """All fields except ``lengths``, cut to the ``chosen`` rows and to ``longest`` words."""
        names = [item.name for item in fields(self) if item.name != "lengths"]
        ends = {name: (slice(longest + more),) for name, more in self.matrices.items()}
        return {name: getattr(self, name)[(chosen, slice(longest), *ends.get(name, ()))] for name in names}


@dataclass(frozen=True)
class MaskedBatch(SentenceBatch):
    """Sentences with a random number in [0, 1) for each word, ``uniforms`` (B, N).

    A model masks the words whose number is below its mask rate, so the choice does not depend on the order of batches.
    """

    uniforms: Tensor


@dataclass(frozen=True)
class HeadSupervisedBatch(MaskedBatch):
    """Sentences with the ``heads`` (B, N, N) of another parser.

    Row i is the distribution over the heads of word i, the diagonal the probability of the root. A row of zeros is
    unlabeled.
    """

    matrices: ClassVar[Mapping[str, int]] = {"heads": 0}
    heads: Tensor


@dataclass(frozen=True)
class FragmentBatch(SentenceBatch):
    """Sentences with ``gaps`` (B, N), uint8: the punctuation before each word (`induce.data.punctuation`)."""

    gaps: Tensor

    @property
    def fragments(self) -> Tensor:
        """Index (B, N), from 0, of the fragment between punctuation marks that each word is in."""
        from induce.data.punctuation import JOINED, NOTHING

        separated = (self.gaps != NOTHING) & (self.gaps != JOINED)
        separated[:, 0] = False
        return separated.cumsum(1)


@dataclass(frozen=True)
class SupervisedBatch(SentenceBatch):
    """Sentences with the ``distances`` (B, N) of gold trees.

    The value of a word is that of the gap before it, NaN without a tree.
    """

    distances: Tensor


@dataclass(frozen=True)
class SpanSupervisedBatch(FragmentBatch):
    """Sentences with a factor for each span, ``weights`` (B, N, N + 1), which is below 1 for dispreferred spans."""

    matrices: ClassVar[Mapping[str, int]] = {"weights": 1}
    weights: Tensor


@dataclass(frozen=True)
class SpanRewardBatch(SpanSupervisedBatch):
    """Sentences with ``rewards`` (B, N, N + 1) of spans, and the weight (B, 1) of the rewards in the loss."""

    matrices: ClassVar[Mapping[str, int]] = {"weights": 1, "rewards": 1}
    rewards: Tensor
    reward_weight: Tensor


@dataclass(frozen=True)
class SpanTargetBatch(FragmentBatch):
    """Sentences with the share ``spans`` (B, N, N + 1) of other parsers' trees that have each span."""

    matrices: ClassVar[Mapping[str, int]] = {"spans": 1}
    spans: Tensor


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
