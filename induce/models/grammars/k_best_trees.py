"""The k most probable trees of a sentence under a grammar, with the nonterminals of their phrases.

CKY on logarithms, in which each nonterminal over each span keeps its k best trees (`induce.decoding.k_best`). A tree
consists of its phrases and their nonterminals. Each word has the preterminal with which the tree is most probable, as
in `best_trees`, so that no two of the k trees are the same. S nonterminals, T preterminals, M = S + T symbols.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from induce.decoding.k_best import merge, traced

RankedSpans = tuple[float, list[tuple[int, int, int]]]  # log probability in nats, and spans with their nonterminals


class Child(NamedTuple):
    """The left or right children of several spans: phrases, or single words."""

    scores: Tensor  # log probabilities (spans, S) of the best trees of phrases, or (spans, T) of words
    is_word: bool

    def phrases(self) -> Tensor:
        """Scores (spans, S) of phrases, or zeros (spans, 1) for words, whose scores are part of `rules`."""
        return self.scores.new_zeros(len(self.scores), 1) if self.is_word else self.scores

    def rules(self, logs: Tensor, axis: int) -> Tensor:
        """``logs`` (spans or 1, …, M, …) for these children, whose symbols are at ``axis``.

        The axis has S entries for phrases. For words it has one entry, the maximum over the preterminals.
        """
        size = self.scores.shape[1]
        if not self.is_word:
            return logs.narrow(axis, 0, size)
        shape = [1] * logs.dim()
        shape[0], shape[axis] = self.scores.shape
        return (logs.narrow(axis, logs.shape[axis] - size, size) + self.scores.view(shape)).amax(axis, keepdim=True)


class Ways(NamedTuple):
    """The best ways to build spans of two children, best first, each (spans, S, ways)."""

    total: Tensor  # log probability with the best trees of the children
    rule: Tensor  # log probability of the rule, and of the words among the children
    left: Tensor  # nonterminal of the left child, 0 for a word
    right: Tensor


class Maxima(Protocol):
    """Logarithms of the rules of a grammar, with the maxima over splits and children that CKY needs."""

    def parents(self, lefts: Tensor, rights: Tensor) -> Tensor:
        """Best logarithms (B, spans, S) of parents of children (B, spans, splits, M)."""

    def children(self, sentence: int, parent: int, lefts: Tensor, rights: Tensor) -> tuple[int, int, int]:
        """Best split of one span and its two symbols, from the children ``lefts`` and ``rights`` (splits, M)."""

    def ways(self, left: Child, right: Child, k: int) -> Ways:
        """The best ways, at most ``k`` for each parent, to build spans of these children."""


@torch.no_grad()
def k_best_trees(emissions: Tensor, root: Tensor, rules: Maxima, k: int) -> list[RankedSpans]:
    """Log probability and spans ``(start, end, nonterminal)`` of the ``k`` most probable trees, best first.

    ``emissions`` (N, T): log probabilities of each word given each preterminal, N at least 2. ``root`` (S,):
    probabilities. All are float64 on the CPU. There may be fewer than ``k`` trees.
    """
    count, size = len(emissions), len(root)
    scores = np.full((count, count + 1, size, k), -np.inf)
    choices = np.zeros((5, count, count + 1, size, k), dtype=np.int64)  # middle; symbol and rank on the left, right
    for width in range(2, count + 1):
        starts = np.arange(count - width + 1)
        ways, middles = _best_ways(emissions, scores, starts, width, rules, k)
        rule, left, right = (part.numpy() for part in ways[1:])
        lists = [
            _child_lists(scores, starts[:, None, None], middles, left),
            _child_lists(scores, middles, (starts + width)[:, None, None], right),
        ]
        rule, lefts, rights = (part.reshape(-1, *part.shape[2:]) for part in (rule, *lists))
        merged = merge(rule, lefts, rights, k)
        rows = (part.reshape(-1, part.shape[2]) for part in (middles, left, right))
        middle, left, right = (np.take_along_axis(part, merged.ways, 1) for part in rows)
        parts = np.stack([middle, left, merged.left_ranks, right, merged.right_ranks])
        scores[starts, starts + width] = merged.scores.reshape(-1, size, k)
        choices[:, starts, starts + width] = parts.reshape(5, -1, size, k)
    totals = (scores[0, count] + root.log().numpy()[:, None]).ravel()
    order = [int(entry) for entry in np.argsort(-totals, kind="stable")[:k] if totals[entry] > -np.inf]
    return [(float(totals[entry]), traced(choices, *divmod(entry, k))) for entry in order]


def _best_ways(
    emissions: Tensor, scores: NDArray[np.float64], starts: NDArray[np.int64], width: int, rules: Maxima, k: int
) -> tuple[Ways, NDArray[np.int64]]:
    """The best ways to build the spans of one ``width``, over all splits, and the middle of each."""
    best: list[Tensor] = []
    for split in range(1, width):
        left = _children(emissions, scores, starts, starts + split)
        ways = rules.ways(left, _children(emissions, scores, starts + split, starts + width), k)
        middle = torch.from_numpy(starts + split)[:, None, None].expand_as(ways.left)
        candidates = [*ways, middle]
        if best:
            candidates = [torch.cat(pair, -1) for pair in zip(best, candidates, strict=True)]
        order = candidates[0].sort(stable=True, dim=-1, descending=True).indices[..., :k]
        best = [part.gather(-1, order) for part in candidates]
    return Ways(*best[:4]), best[4].numpy()


def _children(
    emissions: Tensor, scores: NDArray[np.float64], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> Child:
    if ends[0] - starts[0] == 1:
        return Child(emissions[starts], True)
    return Child(torch.from_numpy(scores[starts, ends, :, 0]), False)


def _child_lists(
    scores: NDArray[np.float64], starts: NDArray[np.int64], ends: NDArray[np.int64], symbols: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Scores (spans, S, ways, k) of the trees of children. A word has one tree, whose score is part of the rule."""
    lists = scores[starts, ends, symbols]
    lists[np.broadcast_to(ends - starts == 1, symbols.shape)] = [0.0] + [-np.inf] * (scores.shape[3] - 1)
    return lists
