"""Options that learn while they are called: their chances by hand, an arm that pays, an end that comes in time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from induce.tasks.craft.episodes import Outcome
from induce.tasks.craft.observation import FEATURES
from induce.tasks.craft.ocn import Cells
from induce.tasks.craft.option_calls import DONE, Called, Calls, Option
from induce.tasks.craft.option_finetuning import (
    NOTHING,
    LearningOptions,
    log_chances,
    objective,
    side_by_side,
    together,
)
from induce.tasks.craft.world import ACTIONS

WORLDS = 16


class Lights:
    """Worlds that show nothing; the first action brings 1 if it is ``pays`` (None: any), each later one -1.

    An episode is a call, and ends after ``limit`` actions.
    """

    def __init__(self, pays: int | None, limit: int) -> None:
        self.pays, self.limit, self.age = pays, limit, np.zeros(WORLDS, np.int64)
        self.worlds = range(WORLDS)

    def restart(self, rows: np.ndarray) -> None:
        self.age[rows] = 0

    def observe(self, rows: np.ndarray | None = None) -> np.ndarray:
        seen = np.zeros((WORLDS if rows is None else len(rows), FEATURES), np.float32)
        seen[:, 3] = 1
        return seen

    def step(self, actions: np.ndarray, rows: np.ndarray) -> Outcome:
        first = self.age[rows] == 0
        paid = np.ones(len(rows), bool) if self.pays is None else actions == self.pays
        self.age[rows] += 1
        over = self.age[rows] >= self.limit
        self.restart(rows[over])
        reward = np.where(first, paid, -1).astype(np.float32)
        return Outcome(reward, over, np.zeros(len(rows), bool))


class Apart(Calls):
    """Calls each of which is an episode."""

    def step(self, chosen: np.ndarray) -> Called:
        self.episodes.restart(np.arange(WORLDS))
        return super().step(chosen)


def calls(episodes: Any, options: int = 1) -> Calls:
    torch.manual_seed(2)
    made = [Option(Cells(1, FEATURES, 4, 3, len(ACTIONS)), torch.zeros(1, 1, 3), False) for _ in range(options)]
    return Apart(made, episodes, seed=4, longest=5)


def test_chances_are_those_of_what_was_done() -> None:
    """Ratios are 1 before anything is learned, ends and padding included."""
    acting = calls(Lights(2, 4), options=2)
    LearningOptions(acting, rate=0.1, batch=8, clip=0.5, seed=1)
    brought = [acting.step(np.arange(WORLDS) % 2) for _ in range(3)]
    parts = [side_by_side([one for one in called.events if one.option == 1], np.arange(16.0)) for called in brought]
    assert parts[0].advantages.tolist() == [1, 3, 5, 7, 9, 11, 13, 15]
    done = together(parts)
    assert done.seen.shape == (24, done.actions.shape[1], FEATURES)
    real = done.actions != NOTHING
    assert (done.actions == DONE).any()
    assert not real.all()
    assert real.sum(1).max() > 2
    found = log_chances(acting.options[1], done).detach().numpy()
    np.testing.assert_allclose(found[real], done.chances[real], atol=1e-5)
    wanted = -np.repeat(done.advantages[:, None], real.shape[1], 1)[real].mean()
    assert objective(acting.options[1], done).item() == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("sure", [-200.0, 200.0])
def test_an_end_that_is_sure_has_gradients(sure: float) -> None:
    """In float32 its probability is 0 or 1, whose logarithms have none."""
    acting = calls(Lights(2, 4))
    LearningOptions(acting, rate=0.1, batch=8, clip=0.5, seed=1)
    done = together([side_by_side(acting.step(np.zeros(WORLDS, np.int64)).events, np.ones(WORLDS))])
    cell, _, _ = option = acting.options[0]
    cell.outer.data[..., -1] = 0
    cell.outer_bias.data[..., -1] = sure
    objective(option, done).backward()
    assert all(bool(value.grad.isfinite().all()) for value in cell.parameters() if value.grad is not None)


@pytest.mark.parametrize("pays", [2, None])
def test_an_option_learns_what_pays(pays: int | None) -> None:
    """One action of five pays, or any does and each further one costs: the end has to come."""
    pytest.importorskip("stable_baselines3", reason="needs the extra [skills]")
    from induce.tasks.craft.ppo import CalledWorlds, Learner

    acting = calls(Lights(pays, 1 if pays else 4))
    worlds = CalledWorlds(acting)
    learner = Learner(worlds, width=4, rate=0.02, batch=32, clip=0.5, seed=1, unfrozen=True)
    before = np.mean([one.reward.mean() for one in learner.iterate(1.0)])
    for _ in range(9):
        brought = learner.iterate(1.0)
    assert np.mean([one.reward.mean() for one in brought]) > max(0.8, before + 0.3)
    taught: Any = SimpleNamespace(
        options=Cells(1, FEATURES, 4, 3, len(ACTIONS)), first_option_state=torch.nn.Parameter()
    )
    assert learner.options is not None
    learner.options.teach(taught)
    torch.testing.assert_close(taught.options.outer, acting.options[0].cell.outer)
    assert taught.first_option_state.shape == (1, 1, 3)
