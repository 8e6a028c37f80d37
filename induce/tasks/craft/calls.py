"""Options that are called one at a time: each acts until it says that it is done (thesis, algorithm 4, lines 7 and 8).

N worlds, K options.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from induce.models.ocn import Cells, MixtureOfExperts, OptionController
from induce.tasks.craft.episodes import Episodes

LONGEST = 24  # actions of one call; the thesis tells no bound


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


class Called(NamedTuple):
    """What one call brought in each world (N,)."""

    reward: np.ndarray  # the sum over the actions
    solved: np.ndarray
    timed_out: np.ndarray
    actions: np.ndarray  # how many there were

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

    def observe(self) -> np.ndarray:
        """What the agents see: (N, 1075)."""
        return self.episodes.observe()

    def step(self, chosen: np.ndarray) -> Called:
        """Call an option (N,) in each world."""
        count = len(chosen)
        solved, timed_out = np.zeros((2, count), bool)
        called = Called(np.zeros(count, np.float32), solved, timed_out, np.zeros(count, np.int64))
        for option in np.unique(chosen):
            self._run(self.options[int(option)], np.flatnonzero(chosen == option), called)
        return called

    @torch.inference_mode()
    def _run(self, option: Option, rows: np.ndarray, called: Called) -> None:
        """Let ``option`` act in the worlds ``rows`` until it is done, and add up what that brings."""
        hidden = option.first.expand(-1, len(rows), -1)
        for time in range(1 if option.once else self.longest):
            seen = torch.from_numpy(self.episodes.observe(rows)).to(option.first)
            output = option.cell(option.cell.look(seen), hidden)
            going_on = np.ones(len(rows), bool)
            if time:
                going_on = self.rng.random(len(rows)) >= output.end[0].cpu().numpy()
            chances = output.scores[0].softmax(-1).cpu().numpy()[going_on]
            rows, hidden = rows[going_on], output.hidden[:, torch.from_numpy(going_on)]
            outcome = self.episodes.step(draw_each(self.rng, chances), rows)
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
