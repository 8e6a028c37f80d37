"""Schedule of a recipe: minutes of the parts, shares of a long text, and passes over it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from induce.data.loaders import longest_of_pass, words_learned
from induce.recipes.recipe import Costs, Part, PartRun, Recipe, read_recipe
from induce.recipes.schedule import SLACK, Schedule, fit_passes, packed_minutes, wall_minutes
from induce.settings.presets import resolve

BEST = read_recipe("best")


def stage(*minutes: float) -> list[PartRun]:
    return [PartRun(Part(f"part{number}", ("npcfg-small",), part), 1) for number, part in enumerate(minutes)]


@pytest.mark.parametrize(
    ("minutes", "cores", "packed", "wall"),
    [((3, 3, 3), 1, 9, 9), ((3, 3, 3), 2, 4.5, 6), ((3, 3, 3), 8, 3, 3), ((1, 5, 3), 2, 5, 5), ((0.1, 3), 1, 3.1, 3.1)],
)
def test_time_of_a_stage(minutes: tuple[float, ...], cores: int, packed: float, wall: float) -> None:
    assert packed_minutes(stage(*minutes), cores) == pytest.approx(packed)
    assert wall_minutes(stage(*minutes), cores) == pytest.approx(wall)


@pytest.mark.parametrize(
    ("number", "left", "room"),
    [
        (0, 30, 2.0),  # 10 minutes are for the later stage
        (0, 10, 0.5),  # half of the rest is
        (1, 20, 1.0),
        (1, 5, 0.25),
    ],
)
def test_room_of_a_stage(number: int, left: float, room: float) -> None:
    """Two cores and twice the minutes: 10 for the first stage, where one core waits, and 20 for the students."""
    parts = [Part("a", ("x",), 5), Part("b", ("x",), 1), Part("c", ("x",), 10, count=2, teachers="vote")]
    schedule = Schedule(Recipe("r", tuple(parts), 9, Costs(training_share=1)), 10.0, 2)
    assert schedule.stretch == 2.0
    assert schedule.room(number, schedule.recipe.stages[number], left) == pytest.approx(room)


def test_half_of_the_rest_is_for_parsing_unless_the_students_need_less() -> None:
    parts = (Part("a", ("x",), 5), Part("c", ("x",), 4, count=2, teachers="vote"))
    schedule = Schedule(Recipe("r", parts, 9, Costs(training_share=1)), 5.0, 2)
    assert [schedule.parsing_minutes(left) for left in (2, 8, 12)] == [1, 4, 8]


@pytest.mark.parametrize("minutes", [10, 20, 40])
def test_grammars_of_a_job_that_is_on_time_are_not_shortened(minutes: float) -> None:
    """Two cores, of which parsing takes a tenth of the time."""
    schedule, left = Schedule(BEST, minutes, 2), minutes
    for number, runs in enumerate(BEST.stages):
        room = schedule.room(number, runs, left)
        assert room >= (1 if number == 3 else SLACK if number < 2 else 1.4)
        left -= schedule.stretch * wall_minutes(runs, 2) + 0.03 * minutes


@pytest.mark.parametrize("cores", [1, 2, 3, 4])
@pytest.mark.parametrize("minutes", [10.0, 40.0])
def test_training_and_students_fit_into_the_time(cores: int, minutes: float) -> None:
    schedule = Schedule(BEST, minutes, cores)
    assert 0.6 * minutes <= schedule.stretch * sum(wall_minutes(stage, cores) for stage in BEST.stages) < 0.95 * minutes


@pytest.mark.parametrize(("minutes", "stretch"), [(10, 0.443), (20, 0.886), (60, 2.657), (600, 4)])
def test_two_cores_train_for_their_share_of_the_time(minutes: float, stretch: float) -> None:
    assert Schedule(BEST, minutes, 2).stretch == pytest.approx(stretch, abs=5e-4)


@pytest.mark.parametrize(
    ("minutes", "words", "shares"),
    [
        (5, 100_000, (0.6, 0.3)),
        (5, 40_000, (1, 1)),
        (5, 75_000, (0.8, 0.4)),
        (10, 100_000, (1, 0.7)),
        (5, 10**9, (0.001, 0.001)),
        (5, 0, (1, 1)),
    ],
)
def test_as_much_of_a_long_text_is_used_as_can_be_parsed(
    minutes: float, words: int, shares: tuple[float, float]
) -> None:
    """Two cores, which train for .6 of the minutes, at 4,000 words per second: in what 5 minutes leave, a
    grammar would learn from 960,000 words, others be taught 120,000, or 60,000 be voted on."""
    parts = (Part("a", ("x",), 1, count=2), Part("b", ("x",), 1e-9, teachers="vote"))
    costs = Costs(words_per_second=4000, teaching=8, voting=16, max_stretch=100)
    assert Schedule(Recipe("r", parts, 9, costs), minutes, 2).shares(words) == shares


@pytest.mark.parametrize(
    ("minutes", "teaching_seconds", "share"),
    [(1.0, 50.0, 0.3), (0.5, 50.0, 0.15), (1.0, 120.0, 0.15), (1.0, 6000.0, 0.03), (-1.0, 60.0, 0.3)],
)
def test_students_learn_from_as_much_as_can_be_parsed_in_time(
    minutes: float, teaching_seconds: float, share: float
) -> None:
    """Two cores, for which parsing for parts was planned to take a minute, and the same for students."""
    recipe = replace(BEST, costs=Costs(words_per_second=1000, teaching=1, voting=2))
    assert Schedule(recipe, 10.0, 2).vote_share(200_000, (0.6, 0.3), teaching_seconds, minutes) == share


def test_one_pass_learns_from_the_longest_sentences() -> None:
    loader = resolve(preset="npcfg-small").loader
    epochs, schedule = fit_passes(loader, np.arange(1, 31), 1, 1)
    assert (epochs, longest_of_pass(schedule, 1)) == (1, loader.longest)


@pytest.mark.parametrize(("minutes", "passes", "longer"), [(0.01, 2, 14), (1, 4, 5), (2, 9, 2), (100, 16, 2)])
def test_longest_sentences_come_before_the_end(minutes: float, passes: int, longer: int) -> None:
    """A hundred sentences of each length up to 30. Those of more than 26 words are never learned from."""
    lengths = np.repeat(np.arange(1, 31), 100)
    epochs, schedule = fit_passes(resolve(preset="npcfg-small").loader, lengths, 1e5 * minutes, 16)
    assert (epochs, schedule.longer) == (passes, longer)
    assert longest_of_pass(schedule, passes) == 26
    assert passes == 2 or words_learned(lengths, schedule, epochs) <= 1e5 * minutes
