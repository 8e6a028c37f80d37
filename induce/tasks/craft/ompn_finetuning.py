"""Reinforcement learning of an Ordered Memory Policy Network: a policy without options, whose call is an episode.

Transfer learns a controller that calls options. A policy that has none is the only option, which never ends by itself,
so that a call lasts for an episode. It is trained by `induce.tasks.craft.option_finetuning`, starting from the weights
that it learned from demonstrations and from the mean vector of their tasks.

Shapes: R worlds, D units of a slot, S slots, A actions.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import torch
from torch import Tensor, nn

from induce.tasks.craft.ocn import CellOutput
from induce.tasks.craft.ompn import MIN_PROBABILITY, Memory, OrderedMemoryPolicy
from induce.tasks.craft.option_calls import Option
from induce.tasks.craft.world import ACTIONS


class EpisodeCell(nn.Module):
    """Copy of an Ordered Memory Policy Network with the interface of a single option, to train it on a new task."""

    def __init__(self, policy: OrderedMemoryPolicy) -> None:
        super().__init__()
        self.policy = deepcopy(policy).requires_grad_(True)

    def look(self, observations: Tensor) -> Tensor:
        """Projections (1, R, D) of ``observations`` (R, F)."""
        projections: Tensor = self.policy.observed(observations)
        return projections[None]

    def forward(self, looked: Tensor, hidden: Tensor) -> CellOutput:
        """Log-probabilities of actions (1, R, A), the new state (1, R, (1 + S) D), and no end (1, R).

        ``hidden`` is the vector of the task (1, R, D) before the first step. It is followed by the slots of the memory
        afterwards.
        """
        size = self.policy.config.slot_size
        task, rest = hidden[0].split([size, hidden.shape[-1] - size], -1)
        first = not rest.shape[-1]
        memory = self.policy.start_with(task) if first else Memory(rest.unflatten(-1, (-1, size)).transpose(0, 1), task)
        actions, _, memory = self.policy.step(looked[0], memory, first=first)
        state = torch.cat((task, memory.slots.transpose(0, 1).flatten(1)), -1)
        scores = actions[:, :-1].clamp(min=MIN_PROBABILITY).log()  # the last entry is that of being done
        return CellOutput(scores[None], state[None], scores.new_zeros(1, len(scores)))


def as_option(policy: OrderedMemoryPolicy) -> Option:
    """``policy``, which has one task, as an option. The vector of the task is its first state (1, 1, D)."""
    return Option(EpisodeCell(policy), policy.tasks.weight.detach()[None], once=False)


def with_one_task(policy: OrderedMemoryPolicy) -> OrderedMemoryPolicy:
    """A copy of ``policy`` for a new task, whose vector is the mean of those of its tasks."""
    copy = OrderedMemoryPolicy(replace(policy.config, tasks=1), len(ACTIONS) + 2)
    weights = policy.state_dict()
    copy.load_state_dict({**weights, "tasks.weight": weights["tasks.weight"].mean(0, keepdim=True)})
    return copy.requires_grad_(False)


def export(option: Option, policy: OrderedMemoryPolicy) -> None:
    """Copy the trained ``option`` into ``policy``."""
    policy.load_state_dict({**option.cell.policy.state_dict(), "tasks.weight": option.first.detach()[0]})
