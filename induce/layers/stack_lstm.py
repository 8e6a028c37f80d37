"""Stack LSTM with composition: states before each action of a shift-reduce derivation (Kim et al. 2019).

A derivation of N words has T = 2 N - 1 actions. Each action pushes one constituent: a shift pushes a word, a reduction
replaces the two topmost constituents by their composition. The state on top of the stack predicts the next action.

The trees are given, so nothing is computed action by action: constituents are composed level by level, by the height of
their trees, and states are computed by their depth in the stack, because a state depends only on the state below it.

R derivations of one length, D units, L layers. A pair (…, 2, D) holds a hidden vector and a cell.

`filtered_words` computes the probability of each word by a particle filter. After each word, K derivations represent
all others. They are extended by all reductions that can precede the next word, whose probability is the sum over the
extensions, and K extensions are selected in proportion to their probabilities. The selection is systematic with fixed
offsets, so that the result is the same in every call. If there are at most K extensions, all of them are kept, and the
probability is exact. B sentences of one length N, C capacity of a stack.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

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


class Generator(Protocol):
    """Parts of a recurrent neural network grammar that derive words."""

    stack: StackLstm
    embedding: nn.Embedding
    decoder_bias: nn.Parameter
    action: nn.Linear


class Tops(NamedTuple):
    """Derivations (M = B K) with the entries on top of their stacks."""

    constituent: Tensor  # (M, 2, D)
    state: Tensor  # (M, L, 2, D)
    size: Tensor  # (M,): number of constituents on the stack
    score: Tensor  # (M,): log-probability, -inf if there is no such derivation


class Stacks(NamedTuple):
    """Complete stacks. Entry 0 is the bottom."""

    constituents: Tensor  # (M, C, 2, D)
    states: Tensor  # (M, C, L, 2, D)
    size: Tensor  # (M,)
    score: Tensor  # (M,)

    @classmethod
    def empty(cls, model: Generator, batch: int, particles: int, capacity: int, start: int) -> Stacks:
        """Empty stacks. The derivations of a sentence are equal, so that only the first one has a probability."""
        bottom = model.stack.bottom(model.embedding.weight[start])
        rows, size = batch * particles, bottom.shape[-1]
        states = bottom.new_zeros(rows, capacity, *bottom.shape[1:])
        states[:, 0] = bottom
        score = bottom.new_full((batch, particles), -torch.inf)
        score[:, 0] = 0
        empty = torch.zeros(rows, dtype=torch.long, device=bottom.device)
        return cls(bottom.new_zeros(rows, capacity, 2, size), states, empty, score.flatten())

    def pushed(self, model: Generator, choices: list[Tops], row: Tensor, reductions: Tensor, words: Tensor) -> Stacks:
        """Stacks of the derivations ``row`` (M,) after their ``reductions`` (M,) and a shift of ``words`` (M,)."""
        new = torch.arange(len(row), device=row.device)
        constituent, state, size, _ = (torch.stack(parts)[reductions, row] for parts in zip(*choices, strict=True))
        constituents, states = self.constituents[row], self.states[row]
        constituents[new, size], states[new, size] = constituent, state
        word = model.embedding(words)
        constituents[new, size + 1] = torch.stack([word, torch.zeros_like(word)], 1)
        states[new, size + 1] = model.stack.push(word, state)
        return Stacks(constituents, states, size + 1, self.score)

    @property
    def tops(self) -> Tops:
        """The topmost entries."""
        row = torch.arange(len(self.size), device=self.size.device)
        return Tops(self.constituents[row, self.size], self.states[row, self.size], self.size, self.score)


@torch.no_grad()
def filtered_words(model: Generator, symbols: Tensor, particles: int) -> Tensor:
    """Log-probability (B, N + 1) in nats of each word, and of the end, given the previous words.

    ``symbols`` (B, N + 2) are the words between the start and the end symbol.
    """
    batch, length = len(symbols), symbols.shape[1] - 2
    stacks = Stacks.empty(model, batch, particles, length + 2, int(symbols[0, 0]))
    totals = [stacks.score.new_zeros(batch)]
    for position in range(1, length + 1):
        words = symbols[:, position].repeat_interleave(particles)
        choices = _after_reductions(model, stacks)
        scores = torch.stack([tops.score + _shift(model, tops, words) for tops in choices], 1)  # (M, reductions)
        total, index, score = _selected(scores.view(batch, -1), particles)
        row = (index // len(choices) + particles * torch.arange(batch, device=index.device)[:, None]).flatten()
        stacks = stacks.pushed(model, choices, row, (index % len(choices)).flatten(), words[row])
        stacks = stacks._replace(score=score.flatten())
        totals.append(total)
    ends = symbols[:, -1].repeat_interleave(particles)
    endings = []
    for tops in _after_reductions(model, stacks):  # derivations of one tree, to which the end symbol is joined
        score = tops.score + _shift(model, tops, ends)
        after = tops._replace(state=model.stack.push(model.embedding(ends), tops.state))
        joined = score + functional.logsigmoid(_action(model, after))
        endings.append(joined.masked_fill(tops.size != 1, -torch.inf))
    totals.append(torch.stack(endings, 1).view(batch, -1).logsumexp(1))
    return torch.stack(totals, 1).diff(dim=1)


def _selected(scores: Tensor, particles: int) -> tuple[Tensor, Tensor, Tensor]:
    """Total log-probability (B,) of derivations with ``scores`` (B, M), and the indices and scores (B, K) of K of them.

    The scores of the selection have the same total.
    """
    total = scores.logsumexp(1)
    best, order = scores.topk(particles, 1)
    cumulative = (scores - total[:, None]).exp().double().cumsum(1)
    offsets = (torch.arange(particles, dtype=torch.float64, device=scores.device) + 0.5) / particles
    drawn = torch.searchsorted(cumulative, (offsets * cumulative[:, -1:]).contiguous()).clamp(max=scores.shape[1] - 1)
    is_complete = (scores > -torch.inf).sum(1, keepdim=True) <= particles
    equal = (total - math.log(particles))[:, None].expand_as(best)
    return total, torch.where(is_complete, order, drawn), torch.where(is_complete, best, equal)


def _after_reductions(model: Generator, stacks: Stacks) -> list[Tops]:
    """Derivations after 0, 1, 2 … reductions, as many as the largest stack allows."""
    row = torch.arange(len(stacks.size), device=stacks.size.device)
    choices = [stacks.tops]
    while int((tops := choices[-1]).size.max()) > 1:
        reduces = tops.size > 1
        score = tops.score + functional.logsigmoid(_action(model, tops)).masked_fill(~reduces, -torch.inf)
        size = (tops.size - 1).clamp(min=1)
        constituent = model.stack.compose(stacks.constituents[row, size], tops.constituent)
        state = model.stack.push(constituent[:, 0], stacks.states[row, size - 1])
        choices.append(Tops(constituent, state, size, score))
    return choices


def _action(model: Generator, tops: Tops) -> Tensor:
    """Logit (M,) of a reduction."""
    return model.action(tops.state[:, -1, 0])[:, 0]


def _shift(model: Generator, tops: Tops, words: Tensor) -> Tensor:
    """Log-probability (M,) of a shift, which is certain below two constituents, and of the next ``words`` (M,)."""
    action = functional.logsigmoid(-_action(model, tops)).masked_fill(tops.size < 2, 0.0)
    logits = functional.linear(tops.state[:, -1, 0], model.embedding.weight, model.decoder_bias)
    return action + logits.log_softmax(-1).gather(1, words[:, None])[:, 0]
