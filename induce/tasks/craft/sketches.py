"""Subtasks of Craft, and sketches: the subtasks of a task in their order, one letter each, such as ``AC``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from induce.tasks.craft.world import COLLECTED, KIND, RINGS, Treasure
from treebank.base.errors import SynparseError, UnknownNameError
from treebank.base.registry import nearest


class Subtask(NamedTuple):
    """One thing to do."""

    name: str
    goal: str  # the kind that has to be used, to a gain
    ringed: bool = False  # whether the goal lies behind water or stone


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
LETTERS = {letter: number for number, letter in enumerate(SUBTASKS)}

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

    Raises SynparseError for an unknown letter, for something that is there once and wanted twice, and for two rings.
    """
    letters = NAMED.get(text, text)
    if not letters or any(letter not in SUBTASKS for letter in letters):
        raise UnknownNameError(
            f"{text!r} is no task of Craft: write letters of {''.join(SUBTASKS)}, such as AC, or a name; "
            f"{nearest(text, NAMED)}"
        )
    goals = [SUBTASKS[letter].goal for letter in letters]
    twice = next((goal for goal in COLLECTED if goals.count(goal) > 1), "")
    if twice or sum(SUBTASKS[letter].ringed for letter in letters) > 1:
        raise SynparseError(f"task {text!r} cannot be done: " + (f"{twice} is there once" if twice else "two rings"))
    return letters


def read_sketches(text: str) -> tuple[str, ...]:
    """The sketches in ``text``, which blanks or commas separate. Raises SynparseError as `read_sketch` does."""
    sketches = tuple(map(read_sketch, text.replace(",", " ").split()))
    if not sketches or len(set(sketches)) < len(sketches):
        raise SynparseError(f"setting task.sketches = {text!r}: name different tasks, such as 'AC CD DA'")
    return sketches


def treasure_of(sketch: str) -> Treasure:
    """What has to be in a world, beside what is in every one, for ``sketch`` to be done."""
    tasks = [SUBTASKS[letter] for letter in sketch]
    scattered = tuple(one.goal for one in tasks if one.goal in RINGS and not one.ringed)
    return Treasure(scattered, next((one.goal for one in tasks if one.ringed), ""))


def goals_of(sketch: str) -> np.ndarray:
    """The kinds (L,) that the subtasks want used, in their order."""
    return np.array([KIND[SUBTASKS[letter].goal] for letter in sketch])
