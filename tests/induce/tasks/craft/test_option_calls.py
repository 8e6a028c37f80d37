"""Calls of options, one at a time, and training of options while they are called: results, gradients, success."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from induce.tasks.craft.ocn import Cells, MixtureOfExperts, OptionController, OptionControllerConfig
from induce.tasks.craft.option_calls import (
    DONE,
    NOTHING,
    Called,
    Calls,
    LearningOptions,
    Option,
    concatenate,
    draw_each,
    log_probabilities,
    objective,
    options_of,
    stack_events,
)
from induce.tasks.craft.policy_scores import success_of_calls
from induce.tasks.craft.world import ACTIONS, FEATURES, KIND, NEAR, USE, Episodes, StepOutcome, read_map

SURE = 100.0
LEFT, RIGHT = ACTIONS.index("left"), ACTIONS.index("right")


def two_options(kind: type[OptionController] = OptionController) -> OptionController:
    """Option 0 uses the faced cell until it carries wood. Option 1 goes right and is never done."""
    config = OptionControllerConfig(hidden_size=1, inner_size=2, options=2, tasks=1, temperature=1.0)
    model = kind(config, len(ACTIONS) + 2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        cells = model.options
        cells.outer_bias[0, 0, USE] = cells.outer_bias[1, 0, RIGHT] = SURE
        cells.observed[0, 2 * NEAR + KIND["wood"], 0] = SURE  # how much wood is carried
        cells.inner[0, 0, 0] = SURE
        cells.outer[0, 0, -1] = 2 * SURE
        cells.outer_bias[:, 0, -1] = -SURE
    return model


def calls_in(*maps: str, sketch: str = "AD", options: list[Option] | None = None, longest: int = 5) -> Calls:
    """Calls of the two options in worlds with these upper rows, without new episodes."""
    episodes = Episodes(sketch, len(maps), seed=1, reward="dense", renew=False, limit=7)
    episodes.worlds = read_map(["/".join([line, *["........"] * 7]) for line in maps])
    return Calls(options or options_of([two_options()]), episodes, seed=1, max_actions=longest)


def test_call_ends_when_the_option_is_done_or_after_max_actions() -> None:
    calls = calls_in(">w......", ">w......", ">.......")
    called = calls.step(np.array([0, 1, 0]))
    assert called.actions.tolist() == [1, 5, 5]  # has wood; never done; never has wood
    assert called.reward.tolist() == [1, 0, 0]
    assert not called.over.any()
    assert calls.episodes.worlds.inventory[:, KIND["wood"]].tolist() == [1, 0, 0]
    assert calls.episodes.age.tolist() == [1, 5, 5]


def test_call_ends_with_its_episode() -> None:
    calls = calls_in(">w......", ">.......", ">.......", sketch="A")
    assert calls.step(np.array([0, 1, 0])).solved.tolist() == [True, False, False]
    assert calls.step(np.array([0, 1, 0])).timed_out.tolist() == [False, True, True]
    assert calls.episodes.age[1:].tolist() == [7, 7]


def test_experts_are_called_for_one_action() -> None:
    calls = calls_in(">.......", ">.......", options=options_of([two_options(MixtureOfExperts)]))
    assert calls.step(np.array([0, 1])).actions.tolist() == [1, 1]


def test_options_of_several_models_are_concatenated() -> None:
    torch.manual_seed(1)
    config = OptionControllerConfig(hidden_size=3, inner_size=4, options=2, tasks=1)
    models = [OptionController(config, len(ACTIONS) + 2) for _ in range(2)]
    observations, hidden = torch.rand(5, 1075), torch.rand(1, 5, 3)
    for model, options in zip(models, (options_of(models)[:2], options_of(models)[2:]), strict=True):
        joint = model.options(model.options.look(observations), hidden.expand(2, -1, -1))
        for index, option in enumerate(options):
            single = option.cell(option.cell.look(observations), hidden)
            for part, joint_part in zip(single, joint, strict=True):
                torch.testing.assert_close(part[0], joint_part[index])


def test_samples_follow_the_probabilities() -> None:
    drawn = draw_each(np.random.default_rng(0), np.tile(np.array([0.5, 0.0, 0.3, 0.2], np.float32), (4000, 1)))
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 4000, [0.5, 0, 0.3, 0.2], atol=0.03)


def test_success_of_calls_is_the_share_of_solved_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller calls the option that uses wood, and in half of the worlds the agent starts facing wood."""
    model = two_options()
    with torch.no_grad():
        model.controller.outer_bias[0, 0, 0] = SURE
    maps = [">w......" if index % 2 else "w>......" for index in range(8)]
    worlds = read_map(["/".join([line, *["........"] * 7]) for line in maps])
    monkeypatch.setattr("induce.tasks.craft.world.draw", lambda rng, count, treasure: worlds.select(np.arange(count)))
    assert success_of_calls(model, "A", 0, count=8, seed=0) == 0.5
    assert success_of_calls(model, "D", 0, count=8, seed=0) == 0.0


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
