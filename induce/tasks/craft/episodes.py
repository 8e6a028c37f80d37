"""Tasks of Craft as sketches, such as ``AC``, and their episodes in many worlds at once.

A sketch is the sequence of the subtasks of a task, one letter for each. An episode has a progress in its sketch, a
reward and an end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from induce.tasks.craft.world import COLLECTED, KIND, RINGS, Treasure, Worlds, draw, observe
from treebank.base.arguments import nearest
from treebank.base.errors import SynparseError, UnknownNameError


class Subtask(NamedTuple):
    """A subtask with its goal."""

    name: str
    goal: str  # type of the object that has to be used with a gain
    ringed: bool = False  # whether the goal is surrounded by water or stone


SUBTASKS = {  # A to D as in table 12 of the thesis
    "A": Subtask("get wood", "wood"),
    "B": Subtask("get gold", "gold"),
    "C": Subtask("get iron", "iron"),
    "D": Subtask("get grass", "grass"),
    "E": Subtask("get gem", "gem"),
    "F": Subtask("make at factory", "factory"),
    "T": Subtask("make at toolshed", "toolshed"),
    "W": Subtask("make at workbench", "workbench"),
    "Y": Subtask("get gold across water", "gold", ringed=True),
    "Z": Subtask("get gem behind stone", "gem", ringed=True),
}

NAMED = {  # the tasks of Lu et al. 2021
    "get-wood": "A",
    "get-grass": "D",
    "get-iron": "C",
    "make-plank": "AT",
    "make-stick": "AW",
    "make-cloth": "DF",
    "make-rope": "DT",
    "make-bridge": "CAF",
    "make-bed": "ATDW",
    "make-axe": "AWCT",
    "make-shears": "AWCW",
    "get-gold": "CAFY",
    "get-gem": "AWCTZ",
}


def read_sketch(text: str) -> str:
    """The letters of a sketch, or of the task called ``text``.

    Raises SynparseError if a letter is unknown, an object is required twice, or there is more than one ringed goal.
    """
    letters = NAMED.get(text, text)
    if not letters or any(letter not in SUBTASKS for letter in letters):
        raise UnknownNameError(
            f"{text!r} is not a task of Craft; write letters of {''.join(SUBTASKS)}, such as AC, or a name; "
            f"{nearest(text, NAMED)}"
        )
    goals = [SUBTASKS[letter].goal for letter in letters]
    repeated = next((goal for goal in COLLECTED if goals.count(goal) > 1), "")
    if repeated or sum(SUBTASKS[letter].ringed for letter in letters) > 1:
        raise SynparseError(
            f"task {text!r} cannot be done: " + (f"a world has one {repeated}" if repeated else "two rings")
        )
    return letters


def read_sketches(text: str) -> tuple[str, ...]:
    """The sketches in ``text``, separated by spaces or commas. Raises SynparseError as `read_sketch` does."""
    sketches = tuple(map(read_sketch, text.replace(",", " ").split()))
    if not sketches or len(set(sketches)) < len(sketches):
        raise SynparseError(f"setting task.sketches = {text!r}: name different tasks, such as 'AC CD DA'")
    return sketches


def treasure_of(sketch: str) -> Treasure:
    """Objects that a world for ``sketch`` needs in addition to those in every world."""
    tasks = [SUBTASKS[letter] for letter in sketch]
    scattered = tuple(task.goal for task in tasks if task.goal in RINGS and not task.ringed)
    return Treasure(scattered, next((task.goal for task in tasks if task.ringed), ""))


def goals_of(sketch: str) -> np.ndarray:
    """Object types (L,) that the subtasks use, in their order."""
    return np.array([KIND[SUBTASKS[letter].goal] for letter in sketch])


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
