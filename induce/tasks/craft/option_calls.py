"""Calls of options, one at a time, and the training of options while a controller learns to call them.

Each option acts until it is done (thesis, algorithm 4, lines 7 and 8). A call is one action of the controller and
several actions of its option, which share the advantage of the call. Options are trained with the clipped objective of
proximal policy optimization, in which each action and each decision to end counts by itself. The controller is trained
in `induce.tasks.craft.ppo`.

A policy without options, `OrderedMemoryPolicy`, is the only option, which never ends by itself, so that a call lasts
for an episode. It starts from the weights that it learned from demonstrations and from the mean vector of their tasks.

Shapes: N worlds, K options; R worlds or calls of one option, T steps of the longest call, F features, D units of a
slot, S slots, A actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from induce.tasks.craft.baselines import Memory, OrderedMemoryPolicy
from induce.tasks.craft.ocn import CellOutput, MixtureOfExperts, OptionController
from induce.tasks.craft.world import ACTIONS, Episodes

MAX_ACTIONS = 24  # actions of one call; the thesis states no bound
DONE = -1  # instead of an action
MIN_PROBABILITY = 1e-9  # probability of an action or an end


class Option(NamedTuple):
    """A trained option."""

    cell: Any  # `Cells` with one cell, or a module with the same methods
    first: Tensor  # (1, 1, H) initial state
    once: bool  # whether a call has one action, as in a mixture of experts


def options_of(models: Sequence[OptionController]) -> list[Option]:
    """The options of all ``models``, one model after the other."""
    return [
        Option(cell, first[None].detach(), isinstance(model, MixtureOfExperts))
        for model in models
        for cell, first in zip(model.options.split(), model.first_option_state, strict=True)
    ]


class Event(NamedTuple):
    """Actions of an option in R worlds, at the same step of its calls."""

    option: int
    rows: np.ndarray  # (R,) indices of the worlds
    observations: np.ndarray  # (R, 1075) uint8
    actions: np.ndarray  # (R,) `DONE` if the option was done
    log_probabilities: np.ndarray  # (R,)


class Called(NamedTuple):
    """Result of one call in each world (N,)."""

    reward: np.ndarray  # sum over the actions
    solved: np.ndarray
    timed_out: np.ndarray
    actions: np.ndarray  # number of actions
    events: list[Event]  # of each option in order, if they are recorded

    @property
    def over(self) -> np.ndarray:
        """Whether each episode has ended."""
        return self.solved | self.timed_out


class Calls:
    """Episodes whose steps are calls of options.

    Actions are sampled from the probabilities of the option, and so is, before each action after the first, whether it
    is done, with the random seed ``seed``. A call ends after ``max_actions`` actions, and with its episode.
    """

    def __init__(
        self, options: Sequence[Option], episodes: Episodes, *, seed: int, max_actions: int = MAX_ACTIONS
    ) -> None:
        self.options, self.episodes, self.max_actions = options, episodes, max_actions
        self.rng = np.random.default_rng(seed)
        self.records_events = False

    def observe(self) -> np.ndarray:
        """Observations (N, 1075) of the agents."""
        return self.episodes.observe()

    def step(self, chosen: np.ndarray) -> Called:
        """Call the option with the index ``chosen`` (N,) in each of the N worlds, and run it until it ends."""
        count = len(chosen)
        solved, timed_out = np.zeros((2, count), bool)
        called = Called(np.zeros(count, np.float32), solved, timed_out, np.zeros(count, np.int64), [])
        for option in np.unique(chosen).tolist():
            self._run(option, np.flatnonzero(chosen == option), called)
        return called

    @torch.inference_mode()
    def _run(self, index: int, rows: np.ndarray, called: Called) -> None:
        """Let option ``index`` act in the worlds ``rows`` until it is done, and add the results to ``called``."""
        option = self.options[index]
        hidden = option.first.expand(-1, len(rows), -1)
        for time in range(1 if option.once else self.max_actions):
            observations = self.episodes.observe(rows)
            output = option.cell(option.cell.look(torch.from_numpy(observations).to(option.first)), hidden)
            end = output.end[0].cpu().numpy() if time else np.zeros(len(rows), np.float32)
            continues = self.rng.random(len(rows)) >= end if time else np.ones(len(rows), bool)
            chances = output.scores[0].softmax(-1).cpu().numpy()
            actions = np.full(len(rows), DONE)
            actions[continues] = draw_each(self.rng, chances[continues])
            if self.records_events:
                chosen = (1 - end) * chances[np.arange(len(rows)), actions]
                likely = np.log(np.where(continues, chosen, end).clip(min=MIN_PROBABILITY))
                called.events.append(Event(index, rows, observations.astype(np.uint8), actions, likely))
            rows, hidden = rows[continues], output.hidden[:, torch.from_numpy(continues)]
            outcome = self.episodes.step(actions[continues], rows)
            called.reward[rows] += outcome.reward
            called.solved[rows], called.timed_out[rows] = outcome.solved, outcome.timed_out
            called.actions[rows] += 1
            rows, hidden = rows[~outcome.over], hidden[:, torch.from_numpy(~outcome.over)]
            if not len(rows):
                return


def draw_each(rng: np.random.Generator, chances: np.ndarray) -> np.ndarray:
    """Sample one index for each row of ``chances`` (R, A), which sum to 1."""
    summed = chances.astype(np.float64).cumsum(-1)
    return (summed < rng.random((len(chances), 1)) * summed[:, -1:]).sum(-1)


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


CLIP = 0.2  # of the ratio of probabilities
PASSES = 2  # passes over the calls of an iteration
NOTHING = -2  # instead of an action, after the end of a call


class OptionSteps(NamedTuple):
    """Steps of one option in R calls."""

    observations: np.ndarray  # (R, T, F) uint8
    actions: np.ndarray  # (R, T) with `DONE` at the end and `NOTHING` after it
    log_probabilities: np.ndarray  # (R, T)
    advantages: np.ndarray  # (R,)


class LearningOptions:
    """The options of ``calls`` as trainable parameters."""

    def __init__(self, calls: Calls, *, rate: float, batch: int, clip: float, seed: int) -> None:
        """Train on batches of about ``batch`` calls, with gradients clipped to the norm ``clip``."""
        self.options = [Option(old.cell, nn.Parameter(old.first.clone()), old.once) for old in calls.options]
        calls.options, calls.records_events = self.options, True
        self.rate, self.batch, self.clip = rate, batch, clip
        self.parameters = [value for option in self.options for value in (*option.cell.parameters(), option.first)]
        self.updates = torch.optim.Adam(self.parameters, lr=rate)
        self.rng = np.random.default_rng(seed)

    def learn(self, calls: Sequence[Called], advantages: np.ndarray, rate_share: float) -> None:
        """Learn from calls with their ``advantages`` (calls, worlds), with ``rate_share`` of the learning rate."""
        spread = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        for group in self.updates.param_groups:
            group["lr"] = self.rate * rate_share
        for _ in range(PASSES):
            for number, option in enumerate(self.options):
                for steps in self._batches(number, calls, spread):
                    self.updates.zero_grad()
                    objective(option, steps).backward()
                    nn.utils.clip_grad_norm_(self.parameters, self.clip)
                    self.updates.step()

    def _batches(self, number: int, calls: Sequence[Called], advantages: np.ndarray) -> Iterator[OptionSteps]:
        """The steps of option ``number`` in random order, in batches of about `batch` calls."""
        parts: list[OptionSteps] = []
        for index in self.rng.permutation(len(calls)).tolist():
            events = [event for event in calls[index].events if event.option == number]
            if events:
                parts.append(stack_events(events, advantages[index]))
            if sum(len(part.actions) for part in parts) >= self.batch:
                yield concatenate(parts)
                parts = []
        if parts:
            yield concatenate(parts)

    def export(self, model: OptionController | OrderedMemoryPolicy) -> None:
        """Copy the options into ``model``."""
        if isinstance(model, OrderedMemoryPolicy):
            export(self.options[0], model)
            return
        parts = [option.cell.state_dict() for option in self.options]
        model.options.load_state_dict({name: torch.cat([part[name] for part in parts]) for name in parts[0]})
        model.first_option_state.data = torch.cat([option.first.detach() for option in self.options])


def stack_events(events: Sequence[Event], advantages: np.ndarray) -> OptionSteps:
    """The steps of the calls that start with the first of ``events``, with the ``advantages`` (N,) of all worlds."""
    rows, shape = events[0].rows, (len(events[0].rows), len(events))
    observations = np.zeros((*shape, events[0].observations.shape[1]), np.uint8)
    actions, log_probabilities = np.full(shape, NOTHING), np.zeros(shape, np.float32)
    for time, event in enumerate(events):
        active = np.searchsorted(rows, event.rows)
        observations[active, time], actions[active, time] = event.observations, event.actions
        log_probabilities[active, time] = event.log_probabilities
    return OptionSteps(observations, actions, log_probabilities, advantages[rows])


def concatenate(parts: Sequence[OptionSteps]) -> OptionSteps:
    """The calls of all ``parts``, padded to the longest."""
    steps = max(part.actions.shape[1] for part in parts)

    def longer(values: np.ndarray, fill: int) -> np.ndarray:
        missing = [(0, 0), (0, steps - values.shape[1])] + [(0, 0)] * (values.ndim - 2)
        return np.pad(values, missing, constant_values=fill)

    return OptionSteps(
        np.concatenate([longer(part.observations, 0) for part in parts]),
        np.concatenate([longer(part.actions, NOTHING) for part in parts]),
        np.concatenate([longer(part.log_probabilities, 0) for part in parts]),
        np.concatenate([part.advantages for part in parts]),
    )


def objective(option: Option, steps: OptionSteps) -> Tensor:
    """Negative clipped objective, a mean over actions and ends."""
    actions = torch.from_numpy(steps.actions)
    ratio = (log_probabilities(option, steps) - torch.from_numpy(steps.log_probabilities)).exp()
    advantages = torch.from_numpy(steps.advantages)[:, None].to(ratio)
    gained = torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages)
    return -gained[actions != NOTHING].mean()


def log_probabilities(option: Option, steps: OptionSteps) -> Tensor:
    """Log-probabilities (R, T) of the actions and ends of an option, without meaning after an end."""
    observations, actions = torch.from_numpy(steps.observations).to(option.first), torch.from_numpy(steps.actions)
    looked = option.cell.look(observations.flatten(0, 1)).unflatten(1, actions.shape)  # (1, R, T, D)
    hidden, columns = option.first.expand(-1, len(actions), -1), []
    for time in range(actions.shape[1]):
        output = option.cell(looked[:, :, time], hidden)
        hidden, end = output.hidden, output.end[0].clamp(MIN_PROBABILITY, 1 - torch.finfo(output.end.dtype).eps)
        chosen = output.scores[0].log_softmax(-1).gather(1, actions[:, time, None].clamp(min=0))[:, 0]
        continued = chosen + torch.log1p(-end) if time else chosen
        columns.append(torch.where(actions[:, time] == DONE, end.log(), continued))
    return torch.stack(columns, 1)
