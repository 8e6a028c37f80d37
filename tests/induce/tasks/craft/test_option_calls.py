"""Calls of options, one at a time: their ends and results."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from induce.tasks.craft.episodes import Episodes
from induce.tasks.craft.ocn import MixtureOfExperts, OptionController, OptionControllerConfig
from induce.tasks.craft.option_calls import Calls, Option, draw_each, options_of
from induce.tasks.craft.policy_scores import success_of_calls
from induce.tasks.craft.world import ACTIONS, KIND, NEAR, USE, read_map

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
    monkeypatch.setattr(
        "induce.tasks.craft.episodes.draw", lambda rng, count, treasure: worlds.select(np.arange(count))
    )
    assert success_of_calls(model, "A", 0, count=8, seed=0) == 0.5
    assert success_of_calls(model, "D", 0, count=8, seed=0) == 0.0
