"""Options that are called one at a time: each acts until it says that it is done (thesis, algorithm 4, lines 7 and 8).

N worlds, K options.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from induce.tasks.craft.episodes import Episodes
from induce.tasks.craft.ocn import Cells, MixtureOfExperts, OptionController

LONGEST = 24  # actions of one call; the thesis tells no bound
DONE = -1  # in the place of an action
LEAST = 1e-9  # probability of an action or an end


class Option(NamedTuple):
    """An option as it was learned, which nothing changes."""

    cell: Cells  # a single one
    first: Tensor  # (1, 1, H) the state in which it begins
    once: bool  # whether it is called anew for each action, as in a mixture of experts


def options_of(models: Sequence[OptionController]) -> list[Option]:
    """The options of all ``models``, one model after the other."""
    return [
        Option(cell, first[None].detach(), isinstance(model, MixtureOfExperts))
        for model in models
        for cell, first in zip(model.options.apart(), model.first_option_state, strict=True)
    ]


class Event(NamedTuple):
    """What an option did in R worlds, so many steps after it was called."""

    option: int
    rows: np.ndarray  # (R,) which worlds
    seen: np.ndarray  # (R, 1075) uint8
    actions: np.ndarray  # (R,) `DONE` where it said that it was done
    chances: np.ndarray  # (R,) the logarithm of how probable that was


class Called(NamedTuple):
    """What one call brought in each world (N,)."""

    reward: np.ndarray  # the sum over the actions
    solved: np.ndarray
    timed_out: np.ndarray
    actions: np.ndarray  # how many there were
    events: list[Event]  # those of each option in their order, if they are kept

    @property
    def over(self) -> np.ndarray:
        """Which episodes have ended."""
        return self.solved | self.timed_out


class Calls:
    """Episodes in which what is chosen is an option.

    Actions are drawn from what the option finds probable, and so is, before each action but the first, whether it is
    done; the same draws for the same ``seed``. A call ends after ``longest`` actions at most, and with its episode.
    """

    def __init__(self, options: Sequence[Option], episodes: Episodes, *, seed: int, longest: int = LONGEST) -> None:
        self.options, self.episodes, self.longest = options, episodes, longest
        self.rng = np.random.default_rng(seed)
        self.keeps_events = False

    def observe(self) -> np.ndarray:
        """What the agents see: (N, 1075)."""
        return self.episodes.observe()

    def step(self, chosen: np.ndarray) -> Called:
        """Call an option (N,) in each world."""
        count = len(chosen)
        solved, timed_out = np.zeros((2, count), bool)
        called = Called(np.zeros(count, np.float32), solved, timed_out, np.zeros(count, np.int64), [])
        for option in np.unique(chosen).tolist():
            self._run(option, np.flatnonzero(chosen == option), called)
        return called

    @torch.inference_mode()
    def _run(self, index: int, rows: np.ndarray, called: Called) -> None:
        """Let option ``index`` act in the worlds ``rows`` until it is done, and add up what that brings."""
        option = self.options[index]
        hidden = option.first.expand(-1, len(rows), -1)
        for time in range(1 if option.once else self.longest):
            seen = self.episodes.observe(rows)
            output = option.cell(option.cell.look(torch.from_numpy(seen).to(option.first)), hidden)
            end = output.end[0].cpu().numpy() if time else np.zeros(len(rows), np.float32)
            going_on = self.rng.random(len(rows)) >= end if time else np.ones(len(rows), bool)
            chances = output.scores[0].softmax(-1).cpu().numpy()
            actions = np.full(len(rows), DONE)
            actions[going_on] = draw_each(self.rng, chances[going_on])
            if self.keeps_events:
                chosen = (1 - end) * chances[np.arange(len(rows)), actions]
                likely = np.log(np.where(going_on, chosen, end).clip(min=LEAST))
                called.events.append(Event(index, rows, seen.astype(np.uint8), actions, likely))
            rows, hidden = rows[going_on], output.hidden[:, torch.from_numpy(going_on)]
            outcome = self.episodes.step(actions[going_on], rows)
            called.reward[rows] += outcome.reward
            called.solved[rows], called.timed_out[rows] = outcome.solved, outcome.timed_out
            called.actions[rows] += 1
            rows, hidden = rows[~outcome.over], hidden[:, torch.from_numpy(~outcome.over)]
            if not len(rows):
                return


def draw_each(rng: np.random.Generator, chances: np.ndarray) -> np.ndarray:
    """One index for each row of ``chances`` (R, A), which sum to 1."""
    summed = chances.astype(np.float64).cumsum(-1)
    return (summed < rng.random((len(chances), 1)) * summed[:, -1:]).sum(-1)
