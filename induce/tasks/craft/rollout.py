"""Policies in worlds that nobody has shown them: how often a task is done, and what each option does by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from induce.decoding.distances import EVEN
from induce.tasks.craft.episodes import LIMIT, Episodes
from induce.tasks.craft.observation import observe
from induce.tasks.craft.ocn import OptionController
from induce.tasks.craft.option_calls import Calls, draw_each, options_of
from induce.tasks.craft.sketches import goals_of, treasure_of
from induce.tasks.craft.world import draw


@runtime_checkable
class Policy(Protocol):
    """What chooses actions, step by step."""

    def start(self, tasks: Tensor) -> Any:
        """The state before the first step in worlds of ``tasks`` (B,)."""
        ...

    def act(self, observations: Tensor, state: Any, *, first: bool) -> tuple[Tensor, Tensor, Any]:
        """Probabilities of actions (B, A), of an end before this step (B,), and the new state."""
        ...

    def parameters(self) -> Iterator[nn.Parameter]:
        """All parameters."""
        ...


@torch.inference_mode()
def success(model: Policy, sketch: str, task: int, *, count: int, seed: int) -> float:
    """The share of ``count`` worlds in which the model does ``sketch``, its task number ``task``, within 64 actions.

    It always takes the action that it finds most probable.
    """
    device = next(model.parameters()).device
    episodes = Episodes(sketch, count, seed=seed, renew=False)
    state = model.start(torch.full((count,), task, device=device))
    solved = np.zeros(count, dtype=bool)
    for time in range(LIMIT):
        seen = torch.from_numpy(episodes.observe()).to(device)
        actions, _, state = model.act(seen, state, first=time == 0)
        running = np.where(solved, 0, actions.argmax(-1).cpu().numpy())
        episodes.progress[solved] = 0  # what is done stays so, whatever else is done there
        solved |= episodes.step(running).solved
    return float(solved.mean())


@torch.inference_mode()
def success_of_calls(model: OptionController, sketch: str, task: int, *, count: int, seed: int) -> float:
    """The same where options are called one at a time, as when a controller is learned by reinforcement.

    Choices, actions and ends are drawn from the model's probabilities (algorithm 4).
    """
    device = model.first_controller_state.device
    calls = Calls(options_of([model]), Episodes(sketch, count, seed=seed), seed=seed)
    hidden = model.start(torch.full((count,), task, device=device)).controller
    running, solved = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
    while running.any():
        seen = model.controller.look(torch.from_numpy(calls.observe()).to(device))
        choice, hidden = model.choose(seen, hidden)
        called = calls.step(draw_each(calls.rng, choice.cpu().numpy()))
        solved |= running & called.solved  # what comes after is another episode
        running &= ~called.over
    return float(solved.mean())


@torch.inference_mode()
def option_success(model: OptionController, letters: Sequence[str], *, count: int, seed: int) -> np.ndarray:
    """For each option and subtask (K, L) the share of ``count`` worlds in which the option does the subtask (table 13).

    An option runs by itself until it finds it likelier than not that it is done, for 64 actions at most, and does a
    subtask if the first thing that it gains is the goal of that subtask.
    """
    device = model.first_controller_state.device
    worlds = draw(np.random.default_rng(seed), count, treasure_of("".join(letters)))
    goals = [int(goals_of(letter)[0]) for letter in letters]
    table = np.zeros((model.config.options, len(letters)))
    for option in range(model.config.options):
        running = worlds.copy()
        gained, done = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
        hidden = model.first_option_state.expand(-1, count, -1)
        for time in range(LIMIT):
            output = model.options(model.options.look(torch.from_numpy(observe(running)).to(device)), hidden)
            hidden = output.hidden
            if time:
                done |= (output.end[option] >= EVEN).cpu().numpy()
            used = running.act(output.scores[option].argmax(-1).cpu().numpy())
            first = used.changed & (gained == 0) & ~done
            gained[first] = used.kind[first]
            if done.all():
                break
        table[option] = [(gained == goal).mean() for goal in goals]
    return table
