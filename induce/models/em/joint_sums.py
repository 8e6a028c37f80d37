"""Sums over dependency trees with valence whose brackets also have weights: the product of two models of one tree.

A head attaches its right dependents first, from the nearest outwards, then its left dependents (Klein and Manning
2004). Each attachment makes a bracket over all words that the head covers at that point. A dependency tree of N words
is therefore a binary tree of N - 1 brackets. Its weight is the product of the weights of its arcs, stops, root and
brackets. With (i, j, h) for the words i up to j, j excluded, and the head h among them:

    right[h, j]   = bracket[h, j] Σ_k right[h, k] arcs[k, j, h]                      right[h, h + 1] = 1
    left[i, j, h] = bracket[i, j] Σ_{k≤h} arcs[i, k, h] left[k, j, h]                left[h, j, h] = right[h, j] stop
    done[i, j, h] = left[i, j, h] stop[h, left, i < h]
    arcs[k, j, h] = Σ_c arc[h, c] done[k, j, c]                                      h outside of k … j
    Z             = Σ_h root[h] done[0, N, h]

``arcs`` sums over the dependent before the split point is known (Eisner and Satta 1999), so time grows with N^4. An arc
is the first of its head on that side if and only if the span of the dependent is next to the head. All sums are
logarithms, and expected uses are derivatives by autograd.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from induce.models.em.bracket_sums import BracketCounts
from induce.models.em.dependency_tables import Array, TreeCounts, TreeWeights

LOWEST = -1e30  # replaces log 0, which has no derivative


@dataclass(frozen=True)
class JointCounts(BracketCounts):
    """Expected brackets, and expected uses of arcs, stops and roots."""

    trees: TreeCounts


def joint_counts(weights: TreeWeights, log_brackets: Array) -> JointCounts:
    """Expected counts of B sentences of N words, from positive weights and log weights of brackets (N, N + 1, B)."""
    tables = [np.log(np.maximum(table, 1e-300)) for table in (weights.first, weights.later, weights.stop, weights.root)]
    with torch.enable_grad(), torch.inference_mode(False):
        logs = [torch.from_numpy(table).requires_grad_() for table in (*tables, log_brackets.copy())]
        total = joint_log_total(*logs)
        gradients = torch.autograd.grad(total.sum(), logs, allow_unused=True)
    uses = [np.zeros(log.shape) if count is None else count.numpy() for log, count in zip(logs, gradients, strict=True)]
    first, later, stop, root, brackets = uses
    log_total = total.detach().numpy()
    return JointCounts(brackets, log_total, TreeCounts(first, later, stop, root, log_total))


def joint_log_total(first: Tensor, later: Tensor, stop: Tensor, root: Tensor, brackets: Tensor) -> Tensor:
    """Log Z (B,), from the logs of the weights in the shapes of `TreeWeights` and of brackets (N, N + 1, B)."""
    count = len(root)
    words = torch.arange(count)
    first, later = _by_pair(first), _by_pair(later)
    stops = torch.stack([stop[0], stop[1].flip(0)])  # (2, N, 2, B) of [side, head, v]
    right, left, under = [root * 0], list[Tensor](), list[Tensor]()  # entry width - 1: (spans, [heads,] B)
    for width in range(1, count + 1):
        starts = words[: count - width + 1]
        weight = brackets[starts, starts + width]  # (spans, B)
        if width > 1:
            ways = [right[k - 1][starts] + under[width - k - 1][starts + k, starts] for k in range(1, width)]
            right.append(weight + torch.logsumexp(torch.stack(ways), 0))
        at_left = right[width - 1] + stops[0, starts, min(width - 1, 1)]  # (spans, B): the head is the first word
        if width == 1:
            left.append(at_left[:, None])
        else:
            left.append(torch.cat([at_left[:, None], _left_children(starts, width, under, left, weight)], 1))
        heads = starts[:, None] + words[:width]  # (spans, width)
        has_left = (words[:width] > 0).long().expand_as(heads)
        done = left[width - 1] + stops[1, heads, has_left]
        under.append(_over(first, later, done, heads))
    return torch.logsumexp(root + done[0], 0)


def _left_children(starts: Tensor, width: int, under: list[Tensor], left: list[Tensor], weight: Tensor) -> Tensor:
    """``left`` (spans, width - 1, B) of spans of one width whose head is not their first word, in order of heads."""
    ways = []
    for k in range(1, width):  # words of the outermost left dependent's span; the head follows it
        heads = starts[:, None] + torch.arange(k, width)
        part = under[k - 1][starts[:, None], heads] + left[width - k - 1][starts + k]
        ways.append(functional.pad(part, (0, 0, k - 1, 0), value=LOWEST))
    return weight[:, None] + torch.logsumexp(torch.stack(ways), 0)


def _by_pair(table: Tensor) -> Tensor:
    """Convert [side, word, width, B] (see `dependency_sums`) to [head, dependent, B], with `LOWEST` on the diagonal."""
    count = table.shape[1]
    head, child = torch.arange(count)[:, None], torch.arange(count)
    side = (child < head).long()
    pairs = table[side, torch.where(side > 0, count - 1 - head, head), (child - head).abs()]
    return torch.where((head == child)[..., None], torch.tensor(LOWEST, dtype=table.dtype), pairs)


def _over(first: Tensor, later: Tensor, done: Tensor, heads: Tensor) -> Tensor:
    """``arcs`` (spans, N, B) of spans of one width, for each word outside a span as the head of the span's head.

    ``first`` and ``later`` (N, N, B) of [head, dependent], for the first dependent on that side and for later ones,
    ``done`` (spans, width, B), ``heads`` (spans, width). Entries for words inside a span are never read.
    """
    above = torch.arange(len(first))[:, None]
    spans = heads[:, None]  # (spans, 1, width)
    adjacent = (above == spans[..., :1] - 1) | (above == spans[..., -1:] + 1)  # (spans, N, 1)
    arcs = torch.where(adjacent[..., None], first[above, spans], later[above, spans])
    return torch.logsumexp(arcs + done[:, None], 2)
