"""Evaluation of policies in new worlds: success in tasks, and the effect of each option by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from induce.decoding.distances import EVEN
from induce.tasks.craft.episodes import LIMIT, Episodes
from induce.tasks.craft.observation import observe
from induce.tasks.craft.ocn import OptionController
from induce.tasks.craft.ompn import OrderedMemoryPolicy
from induce.tasks.craft.option_calls import Calls, draw_each, options_of
from induce.tasks.craft.sketches import goals_of, treasure_of
from induce.tasks.craft.world import draw

Policy = OptionController | OrderedMemoryPolicy  # models that choose actions step by step


@torch.inference_mode()
def success(model: Policy, sketch: str, task: int, *, count: int, seed: int) -> float:
    """Share of ``count`` worlds in which the model completes ``sketch``, its task ``task``, within 64 actions.

    The model always takes its most probable action.
    """
    device = next(model.parameters()).device
    episodes = Episodes(sketch, count, seed=seed, renew=False)
    state: Any = model.start(torch.full((count,), task, device=device))
    solved = np.zeros(count, dtype=bool)
    for time in range(LIMIT):
        observations = torch.from_numpy(episodes.observe()).to(device)
        actions, _, state = model.act(observations, state, first=time == 0)
        running = np.where(solved, 0, actions.argmax(-1).cpu().numpy())
        episodes.progress[solved] = 0  # a solved world stays solved
        solved |= episodes.step(running).solved
    return float(solved.mean())


@torch.inference_mode()
def success_of_calls(model: OptionController, sketch: str, task: int, *, count: int, seed: int) -> float:
    """Share of ``count`` worlds in which the model completes ``sketch`` by calling one option at a time.

    Choices, actions and ends are sampled from the model's probabilities, as in reinforcement learning (algorithm 4).
    """
    device = model.first_controller_state.device
    calls = Calls(options_of([model]), Episodes(sketch, count, seed=seed), seed=seed)
    hidden = model.start(torch.full((count,), task, device=device)).controller
    running, solved = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
    while running.any():
        observations = model.controller.look(torch.from_numpy(calls.observe()).to(device))
        choice, hidden = model.choose(observations, hidden)
        called = calls.step(draw_each(calls.rng, choice.cpu().numpy()))
        solved |= running & called.solved  # later steps belong to another episode
        running &= ~called.over
    return float(solved.mean())


@torch.inference_mode()
def option_success(model: OptionController, letters: Sequence[str], *, count: int, seed: int) -> np.ndarray:
    """Share of ``count`` worlds in which an option completes a subtask, for each option and subtask (K, L) (table 13).

    An option acts until it is done with a probability of one half or more, for at most 64 actions. It completes a
    subtask if the first object that it gains is the goal of that subtask.
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
