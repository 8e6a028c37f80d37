"""Episodes of one task in many worlds at once: progress in the sketch, reward, and end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from induce.tasks.craft.observation import observe
from induce.tasks.craft.sketches import goals_of, read_sketch, treasure_of
from induce.tasks.craft.world import Worlds, draw

LIMIT = 64  # actions
REWARDS = ("sparse", "dense")


class StepOutcome(NamedTuple):
    """Result of one step in each world (N,)."""

    reward: np.ndarray
    solved: np.ndarray  # the last subtask is done
    timed_out: np.ndarray  # `LIMIT` actions without a solution

    @property
    def over(self) -> np.ndarray:
        """Whether each episode has ended."""
        return self.solved | self.timed_out


class Episodes:
    """``count`` worlds with the task ``sketch``, determined by ``seed`` and the actions.

    The reward is 1 for each subtask done in order (``dense``), or 1 for the last one (``sparse``).
    """

    def __init__(
        self, sketch: str, count: int, *, seed: int, reward: str = "sparse", limit: int = LIMIT, renew: bool = True
    ) -> None:
        """If ``renew`` is true, an episode that ends is replaced by a new one. ``limit`` is the number of actions."""
        self.sketch, self.reward, self.limit, self.renew = read_sketch(sketch), reward, limit, renew
        self.goals = np.append(goals_of(self.sketch), -1)
        self.rng = np.random.default_rng(seed)
        self.worlds: Worlds = draw(self.rng, count, treasure_of(self.sketch))
        self.progress = np.zeros(count, dtype=np.int64)  # subtasks done
        self.age = np.zeros(count, dtype=np.int64)  # actions so far

    def observe(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Observations (N, 1075) of all agents, or of those in the worlds ``rows``."""
        return observe(self.worlds if rows is None else self.worlds.select(rows))

    def restart(self, rows: np.ndarray) -> None:
        """Start a new episode in a new world at each of ``rows``."""
        self.worlds.replace(rows, draw(self.rng, len(rows), treasure_of(self.sketch)))
        self.progress[rows] = self.age[rows] = 0

    def step(self, actions: np.ndarray, rows: np.ndarray | None = None) -> StepOutcome:
        """Carry out one action (N,) in each world, or in the worlds ``rows`` only."""
        worlds = self.worlds if rows is None else self.worlds.select(rows)
        used = worlds.act(actions)
        if rows is None:
            rows = np.arange(len(worlds))
        else:
            self.worlds.replace(rows, worlds)
        self.age[rows] += 1
        done = used.changed & (used.kind == self.goals[self.progress[rows]])
        self.progress[rows] += done
        solved = self.progress[rows] == len(self.sketch)
        reward = (done if self.reward == "dense" else done & solved).astype(np.float32)
        outcome = StepOutcome(reward, solved, ~solved & (self.age[rows] >= self.limit))
        if self.renew and outcome.over.any():
            self.restart(rows[outcome.over])
        return outcome
