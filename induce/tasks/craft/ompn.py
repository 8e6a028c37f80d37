"""Ordered Memory Policy Network (Lu, Shen, Zhou, Courville, Tenenbaum & Gan 2021), a baseline of the thesis.

A policy with a memory of S slots; the top slot holds the longest subtask. At each step the policy decides up to which
slot its subtasks are done. That slot and all lower slots are recomputed from the top down, as in the released program.

Shapes: B demonstrations, N steps, F features, D units of a slot, A actions. Slot 0 is the top, S - 1 the lowest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.vocabulary import FIRST
from induce.setting import choice, count, limited
from induce.tasks.craft.cloning import CloningModel

MIN_PROBABILITY = 1e-9  # probability of being done, or of not being done


@dataclass(frozen=True, kw_only=True)
class OrderedMemoryPolicyConfig:
    """Sizes of an Ordered Memory Policy Network. The defaults are those of the published Craft runs."""

    features: int = count(1075, "numbers in an observation")
    slot_size: int = count(128, "units of a memory slot and of a word embedding")
    slots: int = limited(3, 2, 1000, "memory slots")
    tasks: int = count(3, "tasks, each with its own vector")
    memory: str = choice(
        "released",
        ("released", "paper"),
        "content of slots above the chosen one: released, the candidates, as in the program; "
        "paper, their previous content",
    )


class GatedCell(nn.Module):
    """Cell that computes a slot: a gated sum of its ``inputs`` vectors (B, D) and of a candidate, then normalized.

    The candidate vector and the gates are computed from the vectors and a context (B, 2 D) (Lu et al. 2021).
    """

    def __init__(self, size: int, inputs: int) -> None:
        super().__init__()
        self.size, self.inputs = size, inputs
        self.inner = nn.Linear((inputs + 2) * size, 4 * size)
        self.outer = nn.Linear(4 * size, (inputs + 2) * size)  # gates of the inputs and of the new vector; the vector
        self.norm = nn.LayerNorm((inputs + 1) * size)

    def forward(self, *vectors: Tensor, context: Tensor) -> Tensor:
        """The new content (B, D) of a slot, from ``inputs`` vectors (B, D) and a ``context`` (B, 2 D)."""
        outer = self.outer(self.inner(torch.cat((*vectors, context), -1)).relu())
        scores, new = outer.split(((self.inputs + 1) * self.size, self.size), -1)
        gates = self.norm(scores).sigmoid().split(self.size, -1)
        total = sum(gate * vector for gate, vector in zip(gates, (*vectors, new), strict=True))
        assert isinstance(total, Tensor)
        return functional.layer_norm(total, (self.size,))


class Memory(NamedTuple):
    """Content of the memory after a step, and the vector of the task."""

    slots: Tensor  # (S, B, D)
    task: Tensor  # (B, D)


class Moves(NamedTuple):
    """Predictions for B demonstrations of N steps."""

    actions: Tensor  # (B, N, A + 1) probabilities; the last entry is that of being done
    levels: Tensor  # (B, N, S + 1) distribution of the highest completed subtask: all, slot 0, .., the lowest slot
    end: Tensor  # (B, N) mean level, from 0 (the lowest slot) to 1 (all); 1 before the first step


class OrderedMemoryPolicy(CloningModel):
    """Ordered Memory Policy Network: predicts the next action, and which subtasks are complete, at each step."""

    Config = OrderedMemoryPolicyConfig

    def __init__(self, config: OrderedMemoryPolicyConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        size = config.slot_size
        self.observed = nn.Linear(config.features, size)
        self.tasks = nn.Embedding(config.tasks, size)
        self.level = nn.Sequential(nn.Linear(4 * size, size), nn.LeakyReLU(), nn.Linear(size, 1))
        self.compose = nn.ModuleList(GatedCell(size, 2) for _ in range(config.slots))
        self.expand = nn.ModuleList(GatedCell(size, 1) for _ in range(config.slots - 1))
        self.actor = nn.Linear(3 * size, vocabulary_size - FIRST)

    def start(self, tasks: Tensor) -> Memory:
        """The memory before the first step of demonstrations of ``tasks`` (B,): the top slot holds the task."""
        return self.start_with(self.tasks(tasks))

    def start_with(self, task: Tensor) -> Memory:
        """The memory before the first step for task vectors ``task`` (B, D)."""
        top = functional.layer_norm(task, (self.config.slot_size,))
        return Memory(torch.stack([top, *[torch.zeros_like(top)] * (self.config.slots - 1)]), task)

    def candidates(self, slots: Tensor, x: Tensor, context: Tensor) -> Tensor:
        """New content (S, B, D) of each slot if all lower slots are done, computed from the lowest slot up."""
        made, below = [], x
        for cell, slot in zip(reversed(self.compose), reversed(slots.unbind(0)), strict=True):
            below = cell(below, slot, context=context)
            made.append(below)
        return torch.stack(made[::-1])

    def levels(self, slots: Tensor, candidates: Tensor, context: Tensor) -> Tensor:
        """Distribution (B, S + 1) of the highest completed subtask, by stick-breaking from the lowest slot.

        The entries stand for: all subtasks, slot 0, .., the lowest slot.
        """
        count = len(slots)
        stay = self.level(torch.cat((context.expand(count, -1, -1), slots, candidates), -1))[..., 0].sigmoid()  # (S, B)
        remainder = torch.ones_like(stay[0])
        shares = []
        for probability in reversed(stay.unbind(0)):
            shares.append(probability * remainder)
            remainder = remainder * (1 - probability)
        return torch.stack([remainder, *shares[::-1]], -1)

    def step(self, x: Tensor, memory: Memory, *, first: bool = False) -> tuple[Tensor, Tensor, Memory]:
        """Probabilities of actions (B, A + 1) and of levels (B, S + 1), and the new memory, for ``x`` (B, D).

        At the ``first`` step of a demonstration all slots below the top one are recomputed.
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
        done = levels[:, :1].clamp(MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        actions = torch.cat((scores.softmax(-1) * (1 - done), done), -1)
        return actions, levels, Memory(new, task)

    def _renew(self, slots: Tensor, made: Tensor, chosen: Tensor, context: Tensor) -> Tensor:
        """Slots (S, B, D) after those below the ``chosen`` one (B, S) are recomputed from the top down."""
        share = (chosen / chosen.sum(-1, keepdim=True)).t()[..., None]  # (S, B, 1)
        above = share.cumsum(0)  # the chosen slot is this one or a higher one
        below = share.flip(0).cumsum(0).flip(0)
        previous = made if self.config.memory == "released" else slots
        from_above, renewed = torch.zeros_like(made[0]), []
        for k in range(len(slots)):
            renewed.append(previous[k] * (1 - above[k]) + made[k] * share[k] + from_above * (1 - below[k]))
            if k + 1 < len(slots):
                held = below[k] * made[k] + (1 - below[k]) * from_above
                from_above = self.expand[k](held, context=context)
        return torch.stack(renewed)

    def run(self, observations: Tensor, tasks: Tensor) -> Moves:
        """Predictions for ``observations`` (B, N, F) in demonstrations of ``tasks`` (B,)."""
        memory, outputs = self.start(tasks), []
        for time, x in enumerate(self.observed(observations).unbind(1)):
            actions, levels, memory = self.step(x, memory, first=time == 0)
            outputs.append((actions, levels, height(levels) if time else torch.ones_like(levels[:, 0])))
        return Moves(*(torch.stack(part, 1) for part in zip(*outputs, strict=True)))

    def act(self, observations: Tensor, state: Memory, *, first: bool) -> tuple[Tensor, Tensor, Memory]:
        """Probabilities of actions (B, A), of an end before this step (B,), and the new memory."""
        actions, levels, memory = self.step(self.observed(observations), state, first=first)
        return actions[:, :-1], torch.ones_like(levels[:, 0]) if first else height(levels), memory

    def count_correct(self, actions: Tensor, real: Tensor, targets: Tensor) -> int:
        """Number of correct steps. Being done is not an action."""
        return super().count_correct(actions[..., :-1], real, targets)


def height(levels: Tensor) -> Tensor:
    """Mean height (…) of ``levels`` (…, S + 1), from 0 (the lowest slot) to 1 (everything)."""
    steps = levels.shape[-1] - 1
    weights = torch.arange(steps, -1, -1, device=levels.device, dtype=levels.dtype) / steps
    return (levels * weights).sum(-1)
