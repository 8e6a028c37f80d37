"""Stack LSTM with composition: states before each action of a shift-reduce derivation (Kim et al. 2019).

A derivation of N words has T = 2 N - 1 actions. Each action pushes one constituent: a shift pushes a word, a reduction
replaces the two topmost constituents by their composition. The state on top of the stack predicts the next action.

The trees are given, so nothing is computed action by action: constituents are composed level by level, by the height of
their trees, and states are computed by their depth in the stack, because a state depends only on the state below it.

R derivations of one length, D units, L layers. A pair (…, 2, D) holds a hidden vector and a cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

BOTTOM = -1  # index of the state below the first constituent


class Derivation(NamedTuple):
    """Derivations of R trees over N words. Indices are those of actions, and of the constituents that they push."""

    reduces: Tensor  # (R, T): whether the action is a reduction
    counted: Tensor  # (R, T): whether there is a choice, because two or more constituents are on the stack
    left: Tensor  # (R, T): children of a reduction
    right: Tensor
    below: Tensor  # (R, T): the constituent under the new one, or BOTTOM
    height: Tensor  # (R, T): of the tree of the new constituent, 0 for a word
    depth: Tensor  # (R, T): number of constituents under the new one


def derivation(closings: Tensor) -> Derivation:
    """Derivation of the trees with ``closings`` (R, N), the number of spans of two or more words that end at each word.

    The sum over the first k words must be less than k, and N - 1 over all N words.
    """
    counts = closings.cpu().numpy()
    rows, words = counts.shape
    shifts = np.arange(words) + np.cumsum(counts, 1) - counts
    reduces = np.ones((rows, 2 * words - 1), dtype=bool)
    np.put_along_axis(reduces, shifts, False, 1)
    left, right, below, height, depth, size_before = (np.zeros(reduces.shape, dtype=np.int64) for _ in range(6))
    stack = np.full((rows, words + 2), BOTTOM)  # entry 0 is the bottom
    size, row = np.zeros(rows, dtype=np.int64), np.arange(rows)
    for step in range(reduces.shape[1]):
        joins = reduces[:, step]
        size_before[:, step] = size
        right[:, step] = np.where(joins, stack[row, size], 0)
        left[:, step] = np.where(joins, stack[row, np.maximum(size - 1, 0)], 0)
        tallest = np.maximum(height[row, left[:, step]], height[row, right[:, step]])
        height[:, step] = np.where(joins, tallest + 1, 0)
        size = size - 2 * joins
        below[:, step], depth[:, step] = stack[row, size], size
        size = size + 1
        stack[row, size] = step
    parts = (reduces, size_before >= 2, left, right, below, height, depth)
    return Derivation(*(torch.from_numpy(part).to(closings.device) for part in parts))


class StackLstm(nn.Module):
    """Stack LSTM with a tree LSTM that composes constituents. Words and states have the same size."""

    def __init__(self, size: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.layers = nn.ModuleList(nn.Linear(2 * size, 4 * size) for _ in range(layers))
        self.composition = nn.Linear(2 * size, 5 * size)
        self.dropout = nn.Dropout(dropout)  # between layers

    def push(self, x: Tensor, state: Tensor) -> Tensor:
        """States (M, L, 2, D) after the inputs ``x`` (M, D), from the ``state`` (M, L, 2, D) below."""
        result = []
        for k, linear in enumerate(self.layers):
            below = self.dropout(x) if k else x
            into, forget, out, new = linear(torch.cat([below, state[:, k, 0]], -1)).chunk(4, -1)
            cell = forget.sigmoid() * state[:, k, 1] + into.sigmoid() * new.tanh()
            x = out.sigmoid() * cell.tanh()
            result.append(torch.stack([x, cell], 1))
        return torch.stack(result, 1)

    def bottom(self, start: Tensor) -> Tensor:
        """State (1, L, 2, D) under the first constituent: one step on the vector ``start`` (D,) from zeros."""
        return self.push(start[None], start.new_zeros(1, len(self.layers), 2, self.size))

    def compose(self, left: Tensor, right: Tensor) -> Tensor:
        """Constituents (M, 2, D) with the children ``left`` and ``right`` (M, 2, D)."""
        gates = self.composition(torch.cat([right[:, 0], left[:, 0]], -1))
        into, forget_right, forget_left, out, new = gates.chunk(5, -1)
        cell = forget_right.sigmoid() * right[:, 1] + forget_left.sigmoid() * left[:, 1] + into.sigmoid() * new.tanh()
        return torch.stack([out.sigmoid() * cell.tanh(), cell], 1)

    def forward(self, words: Tensor, start: Tensor, steps: Derivation) -> Tensor:
        """State on top of the stack (R, T, D) before each action, for ``words`` (R, N, D) and the symbol ``start``."""
        rows, count = steps.depth.shape
        vectors = self._constituents(words, steps)
        depth, below = steps.depth.flatten(), _flat(steps.below)
        order, position = [], torch.zeros_like(depth)
        bottom = state = self.bottom(start)
        tops = []
        for level in range(int(depth.max()) + 1):
            index = (depth == level).nonzero()[:, 0]
            previous = state[position[below[index]]] if level else bottom.expand(len(index), -1, -1, -1)
            state = self.push(vectors[index], previous)
            position[index] = torch.arange(len(index), device=index.device)
            order.append(index)
            tops.append(state[:, -1, 0])
        after = torch.cat(tops)[torch.cat(order).argsort()].view(rows, count, -1)
        return torch.cat([bottom[:, -1, 0].expand(rows, 1, -1), after[:, :-1]], 1)

    def _constituents(self, words: Tensor, steps: Derivation) -> Tensor:
        """Vector (R T, D) of the constituent that each action pushes."""
        height, left, right = steps.height.flatten(), _flat(steps.left), _flat(steps.right)
        leaves = words.flatten(0, 1)
        pool = torch.stack([leaves, torch.zeros_like(leaves)], 1)
        position = torch.zeros_like(height)
        position[height == 0] = torch.arange(len(pool), device=words.device)
        for level in range(1, int(height.max()) + 1):
            index = (height == level).nonzero()[:, 0]
            new = self.compose(pool[position[left[index]]], pool[position[right[index]]])
            position[index] = torch.arange(len(pool), len(pool) + len(index), device=words.device)
            pool = torch.cat([pool, new])
        return pool[position, 0]


def _flat(index: Tensor) -> Tensor:
    """Indices (R, T) of actions of each row, as indices into all actions (R T,)."""
    rows = torch.arange(len(index), device=index.device)[:, None] * index.shape[1]
    return (rows + index).flatten()
