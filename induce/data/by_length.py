"""Batches of sentences of similar length, and results in input order.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

BATCH_COST = 4096.0  # cost of a padded batch, in words with two boundary tokens per sentence
BATCH_SENTENCES = 256

Item = TypeVar("Item")
Result = TypeVar("Result")


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
