"""Probability of each word under a recurrent neural network grammar, by a particle filter.

After each word, K derivations represent all others. They are extended by all reductions that can precede the next word,
whose probability is the sum over the extensions, and K extensions are selected in proportion to their probabilities.
The selection is systematic with fixed offsets, so that the result is the same in every call. If there are at most K
extensions, all of them are kept, and the probability is exact.

B sentences of one length N, C capacity of a stack, D units, L layers.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.layers.stack_lstm import StackLstm


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
