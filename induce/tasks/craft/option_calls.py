"""Calls of options, one at a time: each acts until it is done (thesis, algorithm 4, lines 7 and 8).

N worlds, K options.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from induce.tasks.craft.episodes import Episodes
from induce.tasks.craft.ocn import MixtureOfExperts, OptionController

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
