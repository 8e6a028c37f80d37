"""Batches: one type for each form of training data, and batches of sentences of similar length.

Axes: T steps, B sentences or columns of a stream, N words of the longest sentence. Token 0 is the boundary token and
padding.

Sentences are padded to the longest one of their batch, so a batch should hold sentences of similar length. The
functions differ in the limit of a batch: `batches_by_cost` limits the cost of the padded batch, `batches_by_words` the
words without padding, and `batches_of_equal_length` and `batches_of_similar_length` the sentences, by their length.
All return indices. `map_by_length` applies a function to such batches and returns its results in input order:

>>> def count_words(batch):
...     return [len(words) for words in batch]
>>> map_by_length(count_words, [["a", "b", "c"], [], ["d"]])
[3, 0, 1]

Sentences that are too short for a model need no batch:

>>> map_by_length(count_words, [["a", "b", "c"], [], ["d"]], min_length=2, short=lambda words: -1)
[3, -1, -1]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor


BATCH_COST = 4096.0  # cost of a padded batch, in words with two boundary tokens per sentence
BATCH_SENTENCES = 256
Item = TypeVar("Item")
Result = TypeVar("Result")


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


def padded_length(length: int) -> float:
    """Cost of a sentence in a model of linear time: its words and two boundary tokens."""
    return length + 2.0


def map_by_length(
    function: Callable[[list[Item]], Iterable[Result]],
    items: Sequence[Item],
    *,
    length: Callable[[Any], int] = len,
    min_length: int = 0,
    short: Callable[[Item], Any] | None = None,
    cost: Callable[[int], float] = padded_length,
    budget: float = BATCH_COST,
) -> list[Result]:
    """Results of ``function`` for all items, in the order of the items.

    ``function`` receives a batch of items of similar length and returns one result per item. The result of an item of
    less than ``min_length`` words is ``short(item)``, or None without ``short``. See `batches_by_cost` for the other
    arguments.
    """
    lengths = [length(item) for item in items]
    long_enough = [index for index, words in enumerate(lengths) if words >= min_length]
    results: list[Any] = [
        None if short is None or words >= min_length else short(item)
        for item, words in zip(items, lengths, strict=True)
    ]
    for batch in batches_by_cost([lengths[index] for index in long_enough], cost=cost, budget=budget):
        indices = [long_enough[k] for k in batch]
        for index, value in zip(indices, function([items[index] for index in indices]), strict=True):
            results[index] = value
    return results


def batches_by_cost(
    lengths: Sequence[int] | np.ndarray,
    *,
    cost: Callable[[int], float] = padded_length,
    budget: float = BATCH_COST,
    max_sentences: int = BATCH_SENTENCES,
) -> Iterator[list[int]]:
    """Indices of sentences in batches whose cost is at most ``budget``, shortest sentences first.

    The cost of a batch is ``cost`` of its longest sentence times the number of its sentences. A sentence that exceeds
    the budget is a batch by itself.

    >>> list(batches_by_cost([5, 1, 4, 2], budget=14))
    [[1, 3], [2, 0]]
    """
    sizes = list(map(int, lengths))
    batch: list[int] = []
    for index in sorted(range(len(sizes)), key=sizes.__getitem__):
        if batch and ((len(batch) + 1) * cost(sizes[index]) > budget or len(batch) == max_sentences):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def batches_by_size(lengths: Sequence[int] | np.ndarray, max_sentences: int) -> list[list[int]]:
    """Indices of sentences in batches of ``max_sentences`` sentences, shortest sentences first."""
    return list(batches_by_cost(lengths, budget=math.inf, max_sentences=max_sentences))


def batches_by_words(lengths: Sequence[int] | np.ndarray, budget: int) -> list[np.ndarray]:
    """Indices of sentences of similar length in batches of less than ``budget`` words, padding not counted.

    The longest sentences come first, as in the released program of UDGN. A sentence that exceeds the budget is a batch
    by itself (in that program it causes an endless loop).
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    starts, words = [], 0
    for index, length in enumerate(sizes[order].tolist()):
        if words + length >= budget and index:
            starts.append(index)
            words = 0
        words += length
    return np.split(order, starts) if len(order) else []


def batches_of_equal_length(
    lengths: Sequence[int] | np.ndarray, max_sentences: Callable[[int], int], *, min_length: int = 0
) -> Iterator[tuple[np.ndarray, int]]:
    """Indices of sentences of the same length in input order, and this length, shortest sentences first.

    A batch has at most ``max_sentences(length)`` sentences, and at least one. Sentences of less than ``min_length``
    words are left out.

    >>> [(rows.tolist(), length) for rows, length in batches_of_equal_length([3, 2, 3, 3], lambda length: 2)]
    [([1], 2), ([0, 2], 3), ([3], 3)]
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(sizes, kind="stable")
    order = order[sizes[order] >= min_length]
    for rows in np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1) if len(order) else ():
        length = int(sizes[rows[0]])
        size = max(1, max_sentences(length))
        for start in range(0, len(rows), size):
            yield rows[start : start + size], length


def batches_of_similar_length(
    lengths: Sequence[int] | np.ndarray, max_sentences: Callable[[int], int], *, min_ratio: float
) -> Iterator[tuple[np.ndarray, int]]:
    """Indices of sentences of similar length and the greatest length of the batch, longest sentences first.

    The shortest sentence of a batch has at least ``min_ratio`` times the words of the longest one. A batch has at most
    ``max_sentences(greatest length)`` sentences, and at least one. Sentences without words are left out.

    >>> batches = batches_of_similar_length([9, 5, 10, 0, 8], lambda length: 2, min_ratio=0.8)
    >>> [(rows.tolist(), length) for rows, length in batches]
    [([2, 0], 10), ([4], 8), ([1], 5)]
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    start = 0
    while start < len(order):
        length = int(sizes[order[start]])
        candidates = order[start : start + max(1, max_sentences(length))]
        rows = candidates[: int((sizes[candidates] >= min_ratio * length).sum())]
        yield rows, length
        start += len(rows)
