"""Ordered Memory Policy Network (Lu, Shen, Zhou, Courville, Tenenbaum & Gan 2021), a baseline of the thesis.

A policy with a memory of S slots, the top one for what lasts longest. At each step it decides how far up its last
subtasks are done; that slot and those below it are made anew, from the top down. The released program is followed.

Shapes: B demonstrations, N steps, F features, D units of a slot, A actions. Slot 0 is the top, S - 1 the lowest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.data.vocabulary import FIRST
from induce.layers.padding import real_words
from induce.models.base import Loss, Model, Query
from induce.settings.field import count, setting
from induce.structures import Distances
from induce.tasks.batches import DemonstrationBatch

LEAST = 1e-9  # probability of being done, or of not being done


@dataclass(frozen=True, kw_only=True)
class OrderedMemoryPolicyConfig:
    """Sizes of an Ordered Memory Policy Network; the defaults are those of the published Craft runs."""

    features: int = setting(1075, at_least=1, at_most=1e6, help="numbers in an observation")
    slot_size: int = count(128, "units of a memory slot and of a word embedding")
    slots: int = setting(3, at_least=2, at_most=1000, help="memory slots")
    tasks: int = setting(3, at_least=1, at_most=1e6, help="tasks, each with a vector of its own")
    memory: str = setting(
        "released",
        choices=("released", "paper"),
        help="what slots above the chosen one keep: released, the candidates, which the program wrote over them; "
        "paper, what they held",
    )

    def check(self) -> None:
        """Raises ValueError for a memory that there is not."""
        if self.memory not in ("released", "paper"):
            raise ValueError(f"memory = {self.memory!r} is none of released, paper")


class GatedCell(nn.Module):
    """A gated sum of ``inputs`` vectors (B, D) and of a new one made of them and a context (B, 2 D), normalised."""

    def __init__(self, size: int, inputs: int) -> None:
        super().__init__()
        self.size, self.inputs = size, inputs
        self.inner = nn.Linear((inputs + 2) * size, 4 * size)
        self.outer = nn.Linear(4 * size, (inputs + 2) * size)  # rows: a gate each, that of the new vector, the vector
        self.norm = nn.LayerNorm((inputs + 1) * size)

    def forward(self, *vectors: Tensor, context: Tensor) -> Tensor:
        """The vector (B, D) of a slot."""
        outer = self.outer(self.inner(torch.cat((*vectors, context), -1)).relu())
        scores, new = outer.split(((self.inputs + 1) * self.size, self.size), -1)
        gates = self.norm(scores).sigmoid().split(self.size, -1)
        total = sum(gate * vector for gate, vector in zip(gates, (*vectors, new), strict=True))
        assert isinstance(total, Tensor)
        return functional.layer_norm(total, (self.size,))


class Memory(NamedTuple):
    """What is carried from one step to the next."""

    slots: Tensor  # (S, B, D)
    task: Tensor  # (B, D)


class Moves(NamedTuple):
    """What went on in B demonstrations of N steps."""

    actions: Tensor  # (B, N, A + 1) probabilities; the last one is that of being done
    levels: Tensor  # (B, N, S + 1) how far up the last subtasks are done: all of them, slot 0, .., the lowest alone
    end: Tensor  # (B, N) the same as one number, from 0 (the lowest alone) to 1; 1 before the first step


class OrderedMemoryPolicy(Model):
    """An ordered memory that chooses actions."""

    Config = OrderedMemoryPolicyConfig
    reads = (DemonstrationBatch,)
    gives = (Distances,)

    def __init__(self, config: OrderedMemoryPolicyConfig, vocabulary_size: int) -> None:
        super().__init__()
        config.check()
        self.config = config
        size = config.slot_size
        self.observed = nn.Linear(config.features, size)
        self.tasks = nn.Embedding(config.tasks, size)
        self.level = nn.Sequential(nn.Linear(4 * size, size), nn.LeakyReLU(), nn.Linear(size, 1))
        self.compose = nn.ModuleList(GatedCell(size, 2) for _ in range(config.slots))
        self.expand = nn.ModuleList(GatedCell(size, 1) for _ in range(config.slots - 1))
        self.actor = nn.Linear(3 * size, vocabulary_size - FIRST)

    def start(self, tasks: Tensor) -> Memory:
        """The memory before the first step of demonstrations of ``tasks`` (B,): the top slot knows the task."""
        return self.start_with(self.tasks(tasks))

    def start_with(self, task: Tensor) -> Memory:
        """The same for vectors ``task`` (B, D)."""
        top = functional.layer_norm(task, (self.config.slot_size,))
        return Memory(torch.stack([top, *[torch.zeros_like(top)] * (self.config.slots - 1)]), task)

    def candidates(self, slots: Tensor, x: Tensor, context: Tensor) -> Tensor:
        """What each slot would hold (S, B, D) if everything below it were done, from the lowest up."""
        made, below = [], x
        for cell, slot in zip(reversed(self.compose), reversed(slots.unbind(0)), strict=True):
            below = cell(below, slot, context=context)
            made.append(below)
        return torch.stack(made[::-1])

    def levels(self, slots: Tensor, candidates: Tensor, context: Tensor) -> Tensor:
        """How far up subtasks are done (B, S + 1): all, slot 0, .., the lowest; by breaking a stick from below."""
        count = len(slots)
        stay = self.level(torch.cat((context.expand(count, -1, -1), slots, candidates), -1))[..., 0].sigmoid()  # (S, B)
        left = torch.ones_like(stay[0])
        found = []
        for chance in reversed(stay.unbind(0)):
            found.append(chance * left)
            left = left * (1 - chance)
        return torch.stack([left, *found[::-1]], -1)

    def step(self, x: Tensor, memory: Memory, *, first: bool = False) -> tuple[Tensor, Tensor, Memory]:
        """Probabilities of actions (B, A + 1) and of levels (B, S + 1), and the new memory, for ``x`` (B, D).

        The ``first`` step of a demonstration makes everything below the task anew.
        """
        slots, task = memory
        context = torch.cat((x, task), -1)
        if first:
            made = slots
            levels = functional.one_hot(torch.ones(len(x), dtype=torch.long, device=x.device), len(slots) + 1).to(x)
        else:
            made = self.candidates(slots, x, context)
            levels = self.levels(slots, made, context)
        new = self._renew(slots, made, levels[:, 1:], context)
        scores = self.actor(torch.cat((new[-1], task, x), -1))
        done = levels[:, :1].clamp(LEAST, 1 - LEAST)
        actions = torch.cat((scores.softmax(-1) * (1 - done), done), -1)
        return actions, levels, Memory(new, task)

    def _renew(self, slots: Tensor, made: Tensor, chosen: Tensor, context: Tensor) -> Tensor:
        """The slots (S, B, D) after those below the ``chosen`` one (B, S) have been made anew, from the top down."""
        share = (chosen / chosen.sum(-1, keepdim=True)).t()[..., None]  # (S, B, 1)
        above = share.cumsum(0)  # the chosen slot is this one or a higher one
        below = share.flip(0).cumsum(0).flip(0)
        kept = made if self.config.memory == "released" else slots
        from_above, found = torch.zeros_like(made[0]), []
        for k in range(len(slots)):
            found.append(kept[k] * (1 - above[k]) + made[k] * share[k] + from_above * (1 - below[k]))
            if k + 1 < len(slots):
                held = below[k] * made[k] + (1 - below[k]) * from_above
                from_above = self.expand[k](held, context=context)
        return torch.stack(found)

    def run(self, observations: Tensor, tasks: Tensor) -> Moves:
        """What the network does along ``observations`` (B, N, F) in demonstrations of ``tasks`` (B,)."""
        memory, found = self.start(tasks), []
        for time, x in enumerate(self.observed(observations).unbind(1)):
            actions, levels, memory = self.step(x, memory, first=time == 0)
            found.append((actions, levels, height(levels) if time else torch.ones_like(levels[:, 0])))
        return Moves(*(torch.stack(part, 1) for part in zip(*found, strict=True)))

    def along(self, batch: DemonstrationBatch) -> Moves:
        """`run` for demonstrations."""
        return self.run(batch.observations, batch.sketches)

    def act(self, observations: Tensor, state: Memory, *, first: bool) -> tuple[Tensor, Tensor, Memory]:
        """Probabilities of actions (B, A), of an end before this step (B,), and the new memory."""
        actions, levels, memory = self.step(self.observed(observations), state, first=first)
        return actions[:, :-1], torch.ones_like(levels[:, 0]) if first else height(levels), memory

    def loss(self, batch: DemonstrationBatch, state: None = None) -> Loss:
        """Behaviour cloning: the mean negative log-likelihood of the actions shown."""
        moves = self.run(batch.observations, batch.sketches)
        real = real_words(batch.tokens, batch.lengths)
        shown = (batch.tokens - FIRST).clamp(min=0)
        nll = -moves.actions.gather(-1, shown[..., None])[..., 0][real].clamp(min=LEAST).log().mean()
        right = (moves.actions[..., :-1].argmax(-1) == shown) & real
        return Loss(nll, nll, int(real.sum()), correct=int(right.sum()))

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """The gap before each action is how far up the subtasks before it are done."""
        assert isinstance(batch, DemonstrationBatch)
        return Distances(self.run(batch.observations, batch.sketches).end, batch.lengths)


def height(levels: Tensor) -> Tensor:
    """Mean height (…) of ``levels`` (…, S + 1), from 0 (the lowest slot) to 1 (everything)."""
    steps = levels.shape[-1] - 1
    weights = torch.arange(steps, -1, -1, device=levels.device, dtype=levels.dtype) / steps
    return (levels * weights).sum(-1)
