"""Craft for programs of reinforcement learning, after Gymnasium's interface: one world, one with options, many as one.

Importing this file needs the package gymnasium (``pip install synparse[skills]``); nothing else here does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from induce.tasks.craft.episodes import LIMIT, Episodes
from induce.tasks.craft.observation import FEATURES
from induce.tasks.craft.option_calls import LONGEST, Calls, Option
from induce.tasks.craft.world import ACTIONS, write_maps


def spaces() -> tuple[Box, Discrete]:
    """What an agent sees, and what it can do."""
    return Box(0.0, float(LIMIT), (FEATURES,), np.float32), Discrete(len(ACTIONS))


class CraftEnv(gymnasium.Env[np.ndarray, np.integer[Any]]):
    """One world at a time in which ``sketch``, such as ``ADC``, is to be done within 64 actions."""

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 (the interface wants a plain dictionary)

    def __init__(self, sketch: str = "AC", *, reward: str = "sparse", render_mode: str | None = None) -> None:
        self.sketch, self.reward, self.render_mode = sketch, reward, render_mode
        self.observation_space, self.action_space = spaces()
        self.episodes: Episodes | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """A new world; with ``seed`` the first one of its series."""
        super().reset(seed=seed)
        if self.episodes is None or seed is not None:
            drawn = int(self.np_random.integers(2**32))
            self.episodes = Episodes(self.sketch, 1, seed=drawn, reward=self.reward, renew=False)
        else:
            self.episodes.restart(np.arange(1))
        return self.episodes.observe()[0], {"subtasks": 0}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One action; ``info`` tells how many subtasks are done."""
        if self.episodes is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        outcome = self.episodes.step(np.array([action]))
        subtasks = {"subtasks": int(self.episodes.progress[0])}
        over = bool(outcome.solved[0]), bool(outcome.timed_out[0])
        return self.episodes.observe()[0], float(outcome.reward[0]), *over, subtasks

    def render(self) -> str | None:
        """The map as lines of symbols (see `induce.tasks.craft.world`)."""
        if self.render_mode != "ansi" or self.episodes is None:
            return None
        return write_maps(self.episodes.worlds)[0].replace("/", "\n")


class OptionEnv(gymnasium.Env[np.ndarray, np.integer[Any]]):
    """One world at a time in which ``sketch`` is to be done by calling ``options``.

    A step calls one: it acts until it finds that it is done, for ``longest`` actions at most. The reward is the sum
    over these actions; ``info`` tells how many there were.
    """

    def __init__(
        self, options: Sequence[Option], sketch: str = "ADC", *, reward: str = "sparse", longest: int = LONGEST
    ) -> None:
        self.options, self.sketch, self.reward, self.longest = options, sketch, reward, longest
        self.observation_space, self.action_space = spaces()[0], Discrete(len(options))
        self.calls: Calls | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """A new world; with ``seed`` the first one of its series."""
        super().reset(seed=seed)
        if self.calls is None or seed is not None:
            world, draws = self.np_random.integers(2**32, size=2).tolist()
            episodes = Episodes(self.sketch, 1, seed=world, reward=self.reward, renew=False)
            self.calls = Calls(self.options, episodes, seed=draws, longest=self.longest)
        else:
            self.calls.episodes.restart(np.arange(1))
        return self.calls.observe()[0], {"actions": 0}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One call."""
        if self.calls is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        called = self.calls.step(np.array([action]))
        over = bool(called.solved[0]), bool(called.timed_out[0])
        return self.calls.observe()[0], float(called.reward[0]), *over, {"actions": int(called.actions[0])}


class CraftVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """``num_envs`` worlds side by side; an episode that ends is followed by the next one in the same step."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int, sketch: str = "AC", *, reward: str = "sparse") -> None:
        self.num_envs, self.sketch, self.reward = num_envs, sketch, reward
        self.single_observation_space, self.single_action_space = spaces()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.episodes: Episodes | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New worlds; with ``seed`` the first ones of its series."""
        if self.episodes is None or seed is not None:
            drawn = int(np.random.default_rng(seed).integers(2**32))
            self.episodes = Episodes(self.sketch, self.num_envs, seed=drawn, reward=self.reward)
        else:
            self.episodes.restart(np.arange(self.num_envs))
        return self.episodes.observe(), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One action in each world."""
        if self.episodes is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        outcome = self.episodes.step(actions)
        return self.episodes.observe(), outcome.reward, outcome.solved, outcome.timed_out, {}
