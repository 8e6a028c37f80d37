"""Options that are called one at a time: when a call ends, what it brings, and the same through Gymnasium."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from induce.tasks.craft.episodes import Episodes
from induce.tasks.craft.observation import NEAR
from induce.tasks.craft.ocn import MixtureOfExperts, OptionController, OptionControllerConfig
from induce.tasks.craft.option_calls import Calls, Option, draw_each, options_of
from induce.tasks.craft.rollout import success_of_calls
from induce.tasks.craft.world import ACTIONS, KIND, USE, read_map

SURE = 100.0
LEFT, RIGHT = ACTIONS.index("left"), ACTIONS.index("right")


def two_options(kind: type[OptionController] = OptionController) -> OptionController:
    """Option 0 uses what it faces until it carries wood; option 1 goes right and is never done."""
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
    """Calls of the two options in worlds with these upper lines, in which episodes are not followed by others."""
    episodes = Episodes(sketch, len(maps), seed=1, reward="dense", renew=False, limit=7)
    episodes.worlds = read_map(["/".join([line, *["........"] * 7]) for line in maps])
    return Calls(options or options_of([two_options()]), episodes, seed=1, longest=longest)


def test_a_call_ends_when_the_option_is_done_and_after_the_longest_at_most() -> None:
    calls = calls_in(">w......", ">w......", ">.......")
    called = calls.step(np.array([0, 1, 0]))
    assert called.actions.tolist() == [1, 5, 5]  # has wood; never done; never has wood
    assert called.reward.tolist() == [1, 0, 0]
    assert not called.over.any()
    assert calls.episodes.worlds.inventory[:, KIND["wood"]].tolist() == [1, 0, 0]
    assert calls.episodes.age.tolist() == [1, 5, 5]


def test_a_call_ends_with_its_episode() -> None:
    calls = calls_in(">w......", ">.......", ">.......", sketch="A")
    assert calls.step(np.array([0, 1, 0])).solved.tolist() == [True, False, False]
    assert calls.step(np.array([0, 1, 0])).timed_out.tolist() == [False, True, True]
    assert calls.episodes.age[1:].tolist() == [7, 7]


def test_experts_are_called_for_one_action() -> None:
    calls = calls_in(">.......", ">.......", options=options_of([two_options(MixtureOfExperts)]))
    assert calls.step(np.array([0, 1])).actions.tolist() == [1, 1]


def test_the_options_of_several_models_stand_in_a_row() -> None:
    torch.manual_seed(1)
    config = OptionControllerConfig(hidden_size=3, inner_size=4, options=2, tasks=1)
    models = [OptionController(config, len(ACTIONS) + 2) for _ in range(2)]
    seen, hidden = torch.rand(5, 1075), torch.rand(1, 5, 3)
    for model, options in zip(models, (options_of(models)[:2], options_of(models)[2:]), strict=True):
        together = model.options(model.options.look(seen), hidden.expand(2, -1, -1))
        for place, option in enumerate(options):
            alone = option.cell(option.cell.look(seen), hidden)
            for one, all_of_them in zip(alone, together, strict=True):
                torch.testing.assert_close(one[0], all_of_them[place])


def test_draws_follow_the_chances() -> None:
    drawn = draw_each(np.random.default_rng(0), np.tile(np.array([0.5, 0.0, 0.3, 0.2], np.float32), (4000, 1)))
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 4000, [0.5, 0, 0.3, 0.2], atol=0.03)


def test_success_of_a_controller_that_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """It calls the option that uses wood; in half of the worlds the agent faces wood when they begin."""
    model = two_options()
    with torch.no_grad():
        model.controller.outer_bias[0, 0, 0] = SURE
    maps = [">w......" if place % 2 else "w>......" for place in range(8)]
    worlds = read_map(["/".join([line, *["........"] * 7]) for line in maps])
    monkeypatch.setattr(
        "induce.tasks.craft.episodes.draw", lambda rng, count, treasure: worlds.select(np.arange(count))
    )
    assert success_of_calls(model, "A", 0, count=8, seed=0) == 0.5
    assert success_of_calls(model, "D", 0, count=8, seed=0) == 0.0


def test_gymnasium_accepts_the_environment_of_options() -> None:
    gymnasium = pytest.importorskip("gymnasium", reason="needs the extra [skills]")
    from gymnasium.utils.env_checker import check_env

    from induce.tasks.craft.environment import OptionEnv

    env = OptionEnv(options_of([two_options()]), "AD", reward="dense")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    check_env(env, skip_render_check=True)
    env.reset(seed=3)
    assert env.calls is not None
    env.calls.episodes.worlds = read_map(["/".join([">w......", *["........"] * 7])])
    observation, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated, info["actions"]) == (1.0, False, False, 1)
    assert observation[2 * NEAR + KIND["wood"]] == 1
