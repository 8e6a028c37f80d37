"""Training of options while they are called: log-probabilities, gradients, and success in a bandit task."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from induce.tasks.craft.episodes import StepOutcome
from induce.tasks.craft.ocn import Cells
from induce.tasks.craft.option_calls import DONE, Called, Calls, Option
from induce.tasks.craft.option_finetuning import (
    NOTHING,
    LearningOptions,
    concatenate,
    log_probabilities,
    objective,
    stack_events,
)
from induce.tasks.craft.world import ACTIONS, FEATURES

WORLDS = 16


class Lights:
    """Worlds without information, in which the first action has reward 1 if it is ``pays`` (None: any), others -1.

    An episode is a call, and ends after ``limit`` actions.
    """

    def __init__(self, pays: int | None, limit: int) -> None:
        self.pays, self.limit, self.age = pays, limit, np.zeros(WORLDS, np.int64)
        self.worlds = range(WORLDS)

    def restart(self, rows: np.ndarray) -> None:
        self.age[rows] = 0

    def observe(self, rows: np.ndarray | None = None) -> np.ndarray:
        features = np.zeros((WORLDS if rows is None else len(rows), FEATURES), np.float32)
        features[:, 3] = 1
        return features

    def step(self, actions: np.ndarray, rows: np.ndarray) -> StepOutcome:
        first = self.age[rows] == 0
        paid = np.ones(len(rows), bool) if self.pays is None else actions == self.pays
        self.age[rows] += 1
        over = self.age[rows] >= self.limit
        self.restart(rows[over])
        reward = np.where(first, paid, -1).astype(np.float32)
        return StepOutcome(reward, over, np.zeros(len(rows), bool))


class SingleCalls(Calls):
    """Calls that are one episode each."""

    def step(self, chosen: np.ndarray) -> Called:
        self.episodes.restart(np.arange(WORLDS))
        return super().step(chosen)


def calls(episodes: Any, options: int = 1) -> Calls:
    torch.manual_seed(2)
    made = [Option(Cells(1, FEATURES, 4, 3, len(ACTIONS)), torch.zeros(1, 1, 3), False) for _ in range(options)]
    return SingleCalls(made, episodes, seed=4, max_actions=5)


def test_ratios_of_probabilities_are_1_before_training() -> None:
    acting = calls(Lights(2, 4), options=2)
    LearningOptions(acting, rate=0.1, batch=8, clip=0.5, seed=1)
    results = [acting.step(np.arange(WORLDS) % 2) for _ in range(3)]
    events = [[event for event in called.events if event.option == 1] for called in results]
    parts = [stack_events(of_call, np.arange(16.0)) for of_call in events]
    assert parts[0].advantages.tolist() == [1, 3, 5, 7, 9, 11, 13, 15]
    steps = concatenate(parts)
    assert steps.observations.shape == (24, steps.actions.shape[1], FEATURES)
    real = steps.actions != NOTHING
    assert (steps.actions == DONE).any()
    assert not real.all()
    assert real.sum(1).max() > 2
    computed = log_probabilities(acting.options[1], steps).detach().numpy()
    np.testing.assert_allclose(computed[real], steps.log_probabilities[real], atol=1e-5)
    expected = -np.repeat(steps.advantages[:, None], real.shape[1], 1)[real].mean()
    assert objective(acting.options[1], steps).item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("sure", [-200.0, 200.0])
def test_certain_end_has_finite_gradients(sure: float) -> None:
    """In float32 its probability is 0 or 1, and one of the two logarithms is infinite."""
    acting = calls(Lights(2, 4))
    LearningOptions(acting, rate=0.1, batch=8, clip=0.5, seed=1)
    steps = stack_events(acting.step(np.zeros(WORLDS, np.int64)).events, np.ones(WORLDS))
    cell, _, _ = option = acting.options[0]
    cell.outer.data[..., -1] = 0
    cell.outer_bias.data[..., -1] = sure
    objective(option, steps).backward()
    assert all(bool(value.grad.isfinite().all()) for value in cell.parameters() if value.grad is not None)


@pytest.mark.parametrize("pays", [2, None])
def test_option_learns_rewarded_action_and_end(pays: int | None) -> None:
    """One of five actions is rewarded, or any action, with a cost for each later one."""
    pytest.importorskip("stable_baselines3", reason="needs the extra [skills]")
    from induce.tasks.craft.ppo import CalledWorlds, ControllerLearner

    acting = calls(Lights(pays, 1 if pays else 4))
    worlds = CalledWorlds(acting)
    learner = ControllerLearner(worlds, width=4, rate=0.02, batch=32, clip=0.5, seed=1, unfrozen=True)
    before = np.mean([called.reward.mean() for called in learner.iterate(1.0)])
    for _ in range(9):
        results = learner.iterate(1.0)
    assert np.mean([called.reward.mean() for called in results]) > max(0.8, before + 0.3)
    student: Any = SimpleNamespace(
        options=Cells(1, FEATURES, 4, 3, len(ACTIONS)), first_option_state=torch.nn.Parameter()
    )
    learner.options.export(student)
    torch.testing.assert_close(student.options.outer, acting.options[0].cell.outer)
    assert student.first_option_state.shape == (1, 1, 3)
