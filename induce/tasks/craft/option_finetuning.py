"""Options that go on learning while a controller learns to call them.

A call is one action of the controller, and what its option does until it is done is many of its own; all of these share
the call's advantage. Options are moved by the clipped objective of proximal policy optimisation, each action and each
end (or that there is none) counting by itself; the controller is left to `induce.tasks.craft.ppo`.

Shapes: R calls of one option, T steps of the longest, F features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from induce.tasks.craft.ocn import OptionController
from induce.tasks.craft.option_calls import DONE, LEAST, Called, Calls, Event, Option

CLIP = 0.2  # of the ratio of probabilities
PASSES = 2  # times that each call is learned from
NOTHING = -2  # in the place of an action: the call is over


class Done(NamedTuple):
    """What one option did in R calls."""

    seen: np.ndarray  # (R, T, F) uint8
    actions: np.ndarray  # (R, T) `DONE` where it was done, `NOTHING` behind that
    chances: np.ndarray  # (R, T) logarithms
    advantages: np.ndarray  # (R,)


class LearningOptions:
    """The options of ``calls``, which learn from here on."""

    def __init__(self, calls: Calls, *, rate: float, batch: int, clip: float, seed: int) -> None:
        """``batch`` calls, about, are learned from at a time; gradients are clipped to the norm ``clip``."""
        self.options = [Option(one.cell, nn.Parameter(one.first.clone()), one.once) for one in calls.options]
        calls.options, calls.keeps_events = self.options, True
        self.rate, self.batch, self.clip = rate, batch, clip
        self.parameters = [value for one in self.options for value in (*one.cell.parameters(), one.first)]
        self.updates = torch.optim.Adam(self.parameters, lr=rate)
        self.rng = np.random.default_rng(seed)

    def learn(self, brought: Sequence[Called], advantages: np.ndarray, left: float) -> None:
        """Learn from calls whose ``advantages`` (calls, worlds) are known, at the share ``left`` of the rate."""
        spread = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        for group in self.updates.param_groups:
            group["lr"] = self.rate * left
        for _ in range(PASSES):
            for number, option in enumerate(self.options):
                for done in self._batches(number, brought, spread):
                    self.updates.zero_grad()
                    objective(option, done).backward()
                    nn.utils.clip_grad_norm_(self.parameters, self.clip)
                    self.updates.step()

    def _batches(self, number: int, brought: Sequence[Called], advantages: np.ndarray) -> Iterator[Done]:
        """What option ``number`` did, in a new order, in parts of about `batch` calls."""
        parts: list[Done] = []
        for place in self.rng.permutation(len(brought)).tolist():
            events = [event for event in brought[place].events if event.option == number]
            if events:
                parts.append(side_by_side(events, advantages[place]))
            if sum(len(part.actions) for part in parts) >= self.batch:
                yield together(parts)
                parts = []
        if parts:
            yield together(parts)

    def teach(self, model: OptionController) -> None:
        """Give ``model`` the options as they are now."""
        parts = [one.cell.state_dict() for one in self.options]
        model.options.load_state_dict({name: torch.cat([part[name] for part in parts]) for name in parts[0]})
        model.first_option_state.data = torch.cat([one.first.detach() for one in self.options])

    def state(self) -> dict[str, Any]:
        """What decides how it goes on, beside the options themselves."""
        return self.updates.state_dict()

    def take_up(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.updates.load_state_dict(state)


def side_by_side(events: Sequence[Event], advantages: np.ndarray) -> Done:
    """The steps of the calls that began with the first of ``events``; ``advantages`` (N,) are those of all worlds."""
    rows, shape = events[0].rows, (len(events[0].rows), len(events))
    seen = np.zeros((*shape, events[0].seen.shape[1]), np.uint8)
    actions, chances = np.full(shape, NOTHING), np.zeros(shape, np.float32)
    for time, event in enumerate(events):
        places = np.searchsorted(rows, event.rows)
        seen[places, time], actions[places, time], chances[places, time] = event.seen, event.actions, event.chances
    return Done(seen, actions, chances, advantages[rows])


def together(parts: Sequence[Done]) -> Done:
    """The calls of all ``parts``, as long as the longest."""
    steps = max(part.actions.shape[1] for part in parts)

    def longer(values: np.ndarray, fill: int) -> np.ndarray:
        missing = [(0, 0), (0, steps - values.shape[1])] + [(0, 0)] * (values.ndim - 2)
        return np.pad(values, missing, constant_values=fill)

    return Done(
        np.concatenate([longer(part.seen, 0) for part in parts]),
        np.concatenate([longer(part.actions, NOTHING) for part in parts]),
        np.concatenate([longer(part.chances, 0) for part in parts]),
        np.concatenate([part.advantages for part in parts]),
    )


def objective(option: Option, done: Done) -> Tensor:
    """What is minimised: the clipped objective, a mean over actions and ends."""
    actions = torch.from_numpy(done.actions)
    ratio = (log_chances(option, done) - torch.from_numpy(done.chances)).exp()
    advantages = torch.from_numpy(done.advantages)[:, None].to(ratio)
    gained = torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages)
    return -gained[actions != NOTHING].mean()


def log_chances(option: Option, done: Done) -> Tensor:
    """How probable the option finds what it did (R, T), in logarithms; anything behind its end."""
    seen, actions = torch.from_numpy(done.seen).to(option.first), torch.from_numpy(done.actions)
    looked = option.cell.look(seen.flatten(0, 1)).unflatten(1, actions.shape)  # (1, R, T, D)
    hidden, found = option.first.expand(-1, len(actions), -1), []
    for time in range(actions.shape[1]):
        output = option.cell(looked[:, :, time], hidden)
        hidden, end = output.hidden, output.end[0].clamp(LEAST, 1 - torch.finfo(output.end.dtype).eps)
        chosen = output.scores[0].log_softmax(-1).gather(1, actions[:, time, None].clamp(min=0))[:, 0]
        going_on = chosen + torch.log1p(-end) if time else chosen
        found.append(torch.where(actions[:, time] == DONE, end.log(), going_on))
    return torch.stack(found, 1)
