"""The most probable tree of each sentence under a grammar, with its labels, and the k most probable ones.

Both are CKY on logarithms, the inside pass with maxima instead of sums. `best_trees` has no back-pointers: the best
split and children are computed again at the N - 1 spans of the best tree. In `k_best_trees`, each nonterminal over each
span keeps its k best trees (`induce.decoding.chart`). A tree consists of its phrases and their nonterminals. Each word
has the preterminal with which the tree is most probable, so that no two of the k trees are the same.

S nonterminals, T preterminals, M = S + T symbols.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from induce.decoding.chart import merge, traced

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


LabelledSpans = list[tuple[int, int, int]]


@dataclass(frozen=True)
class TableMaxima:
    """Maxima over a full table of rules, ``logs`` (S, M, M) or (B, S, M, M).

    The maximum over splits comes first, for each pair of children, and then the rules once.
    """

    logs: Tensor

    def parents(self, lefts: Tensor, rights: Tensor) -> Tensor:
        """Best log probabilities (B, spans, S) of parents, given those of their children (B, spans, splits, M)."""
        batch, spans, splits, symbols = lefts.shape
        pairs = lefts.new_full((batch, spans, symbols, symbols), -torch.inf)
        for k in range(splits):
            torch.maximum(pairs, lefts[:, :, k, :, None] + rights[:, :, k, None], out=pairs)
        is_shared = self.logs.dim() == 3
        result = []
        for parent in range(self.logs.shape[-3]):
            table = self.logs[parent] if is_shared else self.logs[:, parent, None]
            result.append((pairs + table).flatten(2).amax(-1))
        return torch.stack(result, -1)

    def children(self, sentence: int, parent: int, lefts: Tensor, rights: Tensor) -> tuple[int, int, int]:
        """Best split of one span and the symbols of both children, for one parent and children (splits, M)."""
        logs = self.logs if self.logs.dim() == 3 else self.logs[sentence]
        totals = lefts[:, :, None] + rights[:, None] + logs[parent]
        split, pair = divmod(int(totals.argmax()), totals[0].numel())
        return split, *divmod(pair, totals.shape[2])

    def ways(self, left: Child, right: Child, k: int) -> Ways:
        """The best ways to build spans of these children, if the rules (S, M, M) are those of one sentence."""
        rules = right.rules(left.rules(self.logs[None], 2), 3)  # (spans, S, left symbols, right symbols)
        totals = rules + left.phrases()[:, None, :, None] + right.phrases()[:, None, None, :]
        best = totals.flatten(2).topk(min(k, totals[0, 0].numel()))
        rule = rules.expand_as(totals).flatten(2).gather(2, best.indices)
        return Ways(best.values, rule, best.indices // totals.shape[3], best.indices % totals.shape[3])


@torch.no_grad()
def best_trees(emissions: Tensor, root: Tensor, rules: Maxima) -> list[LabelledSpans]:
    """Spans ``(start, end, nonterminal)`` of two or more words, N - 1 for each sentence, the full sentence first.

    ``emissions`` (B, N, T): log probabilities of each word given each preterminal, N at least 2; all sentences of one
    length. ``root`` (S,) or (B, S): probabilities. Of several best trees, the first in order wins: the leftmost split,
    then the lowest numbers of symbols.
    """
    batch, count, words = emissions.shape
    size = root.shape[-1]
    chart = emissions.new_full((batch, count, count + 1, size + words), -torch.inf)  # start, end, symbol
    indices = torch.arange(count, device=emissions.device)
    chart[:, indices, indices + 1, size:] = emissions
    for width in range(2, count + 1):
        starts = indices[: count - width + 1]
        lefts = torch.stack([chart[:, starts, starts + k] for k in range(1, width)], 2)  # (B, spans, splits, M)
        rights = torch.stack([chart[:, starts + k, starts + width] for k in range(1, width)], 2)
        chart[:, starts, starts + width, :size] = rules.parents(lefts, rights)
    tops = (chart[:, 0, count, :size] + root.log()).argmax(-1).tolist()
    trees: list[LabelledSpans] = []
    for sentence, (table, top) in enumerate(zip(chart, tops, strict=True)):
        trees.append([(0, count, top)])
        for start, end, label in trees[-1]:  # grows during the loop
            split, left, right = rules.children(
                sentence, label, table[start, indices[start + 1 : end]], table[indices[start + 1 : end], end]
            )
            middle = start + 1 + split
            trees[-1] += [(start, middle, left)] * (left < size) + [(middle, end, right)] * (right < size)
    return trees
