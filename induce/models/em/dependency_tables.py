"""Weights and expected counts of dependency trees: tables ``[side, word, width, sentence]`` (see `dependency_sums`).

*Fragments* are the sequences of words between punctuation marks. An arc between two fragments involves three half
spans: the head's on the side of the arc, as far as it is built, and the dependent's on both sides. The arc is
multiplied by ``penalty`` for each of them that does not reach the end of the fragment of its word. A fragment is
therefore preferred as one subtree. Spitkovsky, Alshawi and Jurafsky (2011) use constraints, which are the limit of a
penalty near 0. Trees satisfy

- ``sprawl`` if exactly one word of each fragment, its head, has a head outside of it, as described so far;
- ``loose`` if, besides, only the head of a fragment has dependents outside of it;
- ``strict`` if, besides, only the root of the sentence has dependents outside of its fragment.

`plain_tree_counts` has the sums of `dependency_sums` in logarithms with derivatives by autograd, which are never out of
range, and finds the best trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

Array = np.ndarray
CONSTRAINTS = ("sprawl", "loose", "strict")


@dataclass(frozen=True)
class TreeWeights:
    """Non-negative weights of the parts of trees over N words, for B sentences.

    ``first``, ``later`` (2, N, N, B): of the arc from word a to word a + w in the direction of that side, for the first
    dependent of the head on that side and for later ones. Entries with w = 0 or a + w >= N are not read.
    ``stop`` (2, N, 2, B): of no further dependent on that side, without and with a dependent there. ``root`` (N, B).
    ``lengths`` (B,): the words of each sentence, if some have fewer than N; the entries after them must be finite and
    do not affect the result.
    """

    first: Array
    later: Array
    stop: Array
    root: Array
    lengths: Array | None = None

    @property
    def words(self) -> Array:
        """Number of words of each sentence (B,)."""
        return np.full(self.root.shape[1], len(self.root)) if self.lengths is None else self.lengths

    def select(self, chosen: Array) -> TreeWeights:
        """Weights of the sentences with indices ``chosen``."""
        tables = (self.first, self.later, self.stop, self.root, self.words)
        return TreeWeights(*(table[..., chosen] for table in tables))


@dataclass(frozen=True)
class TreeCounts:
    """Expected uses of each weight, in the shapes of `TreeWeights`, and the log of the sum over trees (B,)."""

    first: Array
    later: Array
    stop: Array
    root: Array
    log_total: Array


@dataclass(frozen=True)
class Fragments:
    """Tables of the arcs that leave their fragment, for B sentences of N words (see the module docstring).

    All are (2, N, N, B). ``cover``: 1 if the half span (a, w) reaches the end of the fragment of a, else the penalty;
    this is the factor of heads. ``crossing``: 1.0 if a and a + w are in different fragments. ``dependent_cover``: the
    factor of the half spans of a dependent whose head is in another fragment. ``within``: the factor of the outer half
    span of a dependent whose head is in the same fragment, or None if there is no such factor. ``penalty``: above 0, at
    most 1.
    """

    cover: Array
    crossing: Array
    dependent_cover: Array
    within: Array | None
    penalty: float

    def select(self, chosen: Array) -> Fragments:
        """Tables of the sentences with indices ``chosen``, which may repeat."""
        cover, crossing, dependent = (table[..., chosen] for table in (self.cover, self.crossing, self.dependent_cover))
        within = None if self.within is None else self.within[..., chosen]
        return Fragments(cover, crossing, dependent, within, self.penalty)

    @classmethod
    def of(cls, numbers: Array, penalty: float, constraint: str = "sprawl") -> Fragments:
        """Construct the tables from the index of the fragment of each word (N, B), which never decreases.

        Padding must have an index that differs from those of the words. ``constraint`` is one of `CONSTRAINTS`.
        """
        count = len(numbers)
        ends = np.arange(count)[:, None] + np.arange(count)  # (N, N): a + w
        inside = np.minimum(ends, count - 1)
        crossing, cover = [], []
        for side in (numbers, numbers[::-1]):
            crosses = side[inside] != side[:, None]  # (N, N, B)
            # whether each word is the last of its fragment
            following = np.concatenate([side[1:] != side[:-1], np.ones_like(side[:1], dtype=bool)])
            cover.append(np.where(crosses | following[inside], 1.0, penalty))
            crossing.append(crosses.astype(np.float64))
        covers, crosses = np.stack(cover), np.stack(crossing)
        within = np.where(crosses > 0, penalty, 1.0)
        dependent_cover = covers * within if constraint == "strict" else covers
        return cls(covers, crosses, dependent_cover, None if constraint == "sprawl" else within, penalty)


def by_reading(matrix: Array) -> Array:
    """Convert ``matrix`` (N, N, …) of [head, dependent] to (2, N, N, …) of [side, word, width], with 0 elsewhere."""
    count = len(matrix)
    result = np.zeros((2, *matrix.shape), dtype=matrix.dtype)
    for width in range(1, count):
        heads = np.arange(count - width)
        result[0, heads, width] = matrix[heads, heads + width]
        result[1, heads, width] = matrix[count - 1 - heads, count - 1 - heads - width]
    return result


def by_head(tables: Array) -> Array:
    """Inverse of `by_reading`: convert (2, N, N, …) of [side, word, width] to (N, N, …) of [head, dependent]."""
    count = tables.shape[1]
    result = np.zeros(tables.shape[1:], dtype=tables.dtype)
    for width in range(1, count):
        heads = np.arange(count - width)
        result[heads, heads + width] = tables[0, heads, width]
        result[count - 1 - heads, count - 1 - heads - width] = tables[1, heads, width]
    return result


LOWEST = -1e30  # replaces log 0, which has no derivative
COMBINATIONS: dict[bool, Callable[[Tensor], Tensor]] = {  # of ways: the sum over all, or the best one
    False: lambda ways: ways.logsumexp(0),
    True: lambda ways: ways.max(0).values,  # not amax, which divides the gradient among equal ways
}


def plain_tree_counts(weights: TreeWeights, fragments: Fragments | None = None, *, best: bool = False) -> TreeCounts:
    """Result of `tree_counts`, with expected uses as derivatives of the log total by the logs of the weights.

    With ``best``, these are the uses in the tree with the highest weight, and the log of its weight.
    """
    tables = [weights.first, weights.later, weights.stop, weights.root]
    with torch.inference_mode(False), torch.enable_grad():  # parsing disables gradients
        with np.errstate(divide="ignore"):
            arrays = [np.maximum(np.log(table.astype(np.float64)), LOWEST) for table in tables]
        logs = [torch.from_numpy(array).requires_grad_() for array in arrays]
        total = log_total(*logs, fragments=fragments, words=weights.words, best=best)
        counts = torch.autograd.grad(total.sum(), logs, allow_unused=True)
    possible = total.detach().numpy() > LOWEST / 2
    uses = [np.zeros_like(tables[i]) if count is None else count.numpy() * possible for i, count in enumerate(counts)]
    first, later, stop, root = uses
    return TreeCounts(first, later, stop, root, np.where(possible, total.detach().numpy(), -np.inf))


def log_total(
    first: Tensor,
    later: Tensor,
    stop: Tensor,
    root: Tensor,
    *,
    fragments: Fragments | None,
    words: np.ndarray | None = None,
    best: bool = False,
) -> Tensor:
    """Log of the sum over all trees (B,), or of the best tree, from the logs of the weights of `TreeWeights`."""
    count, combine = len(root), COMBINATIONS[best]
    cover, crossing, dependent_cover, within = _fragment_tables(fragments, first)
    # unfinished and finished half spans, by side and width: (N - width, B), row a for head a
    unfinished: list[list[Tensor]] = [[torch.zeros_like(root)], [torch.zeros_like(root)]]
    finished = [[stop[side, :, 0]] for side in (0, 1)]
    arcs: list[list[Tensor]] = [[root], [root]]  # entry 0 is never read
    for width in range(1, count):
        heads = count - width
        for side in (0, 1):
            crosses = crossing[side, :heads, width]
            ways = []
            for cut in range(width):  # width of the head's half span; the rest belongs to the dependent
                rest = width - 1 - cut
                back = finished[1 - side][rest].flip(0)[-heads:]  # by its head, in this side's reading
                back_cover = dependent_cover[1 - side].flip(0)[width:, rest]
                arc = first[side, :heads, width] if cut == 0 else later[side, :heads, width]
                before_length = unfinished[side][cut][:heads]
                ways.append(arc + before_length + back + crosses * (cover[side, :heads, cut] + back_cover))
            arcs[side].append(combine(torch.stack(ways)))
        for side in (0, 1):
            ways = []
            for child in range(1, width + 1):
                rest = width - child
                outer = finished[side][rest][child : child + heads]
                crosses, word = crossing[side, :heads, child], slice(child, child + heads)
                penalty = crosses * dependent_cover[side, word, rest] + (1 - crosses) * within[side, word, rest]
                ways.append(arcs[side][child][:heads] + outer + penalty)
            unfinished[side].append(combine(torch.stack(ways)))
            finished[side].append(unfinished[side][width] + stop[side, :heads, 1])
    totals = torch.zeros_like(root[0])
    words = np.full(root.shape[1], count) if words is None else words
    for length in np.unique(words).tolist():
        before_length = torch.from_numpy(words == length)
        right = [finished[0][length - 1 - a][a] for a in range(length)]
        left = [finished[1][a][count - 1 - a] for a in range(length)]
        parts = root[:length] + torch.stack(right) + torch.stack(left)
        totals = torch.where(before_length, combine(parts), totals)
    return totals


def _fragment_tables(fragments: Fragments | None, like: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The tables of `Fragments` in their order, as logs except ``crossing``. All are zeros without fragments."""
    if fragments is None:
        return (torch.zeros_like(like),) * 4
    within = np.ones_like(fragments.cover) if fragments.within is None else fragments.within
    tables = np.log(fragments.cover), fragments.crossing, np.log(fragments.dependent_cover), np.log(within)
    cover, crossing, dependent_cover, inside = (torch.from_numpy(table).to(like.dtype) for table in tables)
    return cover, crossing, dependent_cover, inside
