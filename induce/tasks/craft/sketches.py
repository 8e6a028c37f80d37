"""Subtasks of Craft, and sketches: the subtasks of a task in their order, one letter each, such as ``AC``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from induce.tasks.craft.world import COLLECTED, KIND, RINGS, Treasure
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
