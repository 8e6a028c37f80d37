"""Version of `dependency_sums` in logarithms with derivatives by autograd, which is never out of range.

It also finds the best trees.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from induce.models.em.dependency_tables import Fragments, TreeCounts, TreeWeights

LOWEST = -1e30  # replaces log 0, which has no derivative


def plain_tree_counts(weights: TreeWeights, fragments: Fragments | None = None, *, best: bool = False) -> TreeCounts:
    """Result of `tree_counts`, with expected uses as derivatives of the log total by the logs of the weights.

    With ``best``, these are the uses in the tree with the highest weight, and the log of its weight.
    """
    tables = [weights.first, weights.later, weights.stop, weights.root]
    with torch.inference_mode(False), torch.enable_grad():  # parsing disables gradients
        logs = [torch.from_numpy(_log(table)).requires_grad_() for table in tables]
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
    count, combine = len(root), _maximum if best else _log_sum
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


def _log_sum(ways: Tensor) -> Tensor:
    return ways.logsumexp(0)


def _maximum(ways: Tensor) -> Tensor:
    return ways.max(0).values


def _fragment_tables(fragments: Fragments | None, like: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The tables of `Fragments` in their order, as logs except ``crossing``. All are zeros without fragments."""
    if fragments is None:
        return (torch.zeros_like(like),) * 4
    within = np.ones_like(fragments.cover) if fragments.within is None else fragments.within
    tables = np.log(fragments.cover), fragments.crossing, np.log(fragments.dependent_cover), np.log(within)
    cover, crossing, dependent_cover, inside = (torch.from_numpy(table).to(like.dtype) for table in tables)
    return cover, crossing, dependent_cover, inside


def _log(table: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        logs: np.ndarray = np.maximum(np.log(table.astype(np.float64)), LOWEST)
    return logs
