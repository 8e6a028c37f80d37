"""Schedule of a recipe: minutes of the parts, shares of a long text, and passes over it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from induce.data.loaders import fit_passes, longest_of_pass, words_learned
from induce.recipes.recipe import Costs, Part, PartRun, Recipe, read_recipe
from induce.recipes.schedule import FIRST_PASSES, SLACK, Schedule, wall_minutes
from induce.settings.presets import resolve

BEST = read_recipe("best")


def stage(*minutes: float) -> list[PartRun]:
    return [PartRun(Part(f"part{number}", ("npcfg-small",), part), 1) for number, part in enumerate(minutes)]


@pytest.mark.parametrize(
    ("minutes", "cores", "wall"),
    [((3, 3, 3), 1, 9), ((3, 3, 3), 2, 6), ((3, 3, 3), 8, 3), ((1, 5, 3), 2, 5), ((0.1, 3), 1, 3.1)],
)
def test_time_of_a_stage(minutes: tuple[float, ...], cores: int, wall: float) -> None:
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


@pytest.mark.parametrize("minutes", [10, 20, 40])
def test_grammars_of_a_job_that_is_on_time_are_not_shortened(minutes: float) -> None:
    """Two cores, of which parsing takes a tenth of the time."""
    schedule, left = Schedule(BEST, minutes, 2), minutes
    for number, runs in enumerate(BEST.stages):
        room = schedule.room(number, runs, left)
        assert room >= (1 if number == 4 else SLACK if number < 2 else 1.4)
        left -= schedule.stretch * wall_minutes(runs, 2) + 0.03 * minutes


@pytest.mark.parametrize("cores", [1, 2, 3, 4])
@pytest.mark.parametrize("minutes", [10.0, 40.0])
def test_training_and_students_fit_into_the_time(cores: int, minutes: float) -> None:
    schedule = Schedule(BEST, minutes, cores)
    assert 0.6 * minutes <= schedule.stretch * sum(wall_minutes(stage, cores) for stage in BEST.stages) < 0.95 * minutes


@pytest.mark.parametrize(("minutes", "stretch"), [(10, 0.404), (20, 0.807), (60, 2.422), (600, 4)])
def test_two_cores_train_for_their_share_of_the_time(minutes: float, stretch: float) -> None:
    assert Schedule(BEST, minutes, 2).stretch == pytest.approx(stretch, abs=5e-4)


@pytest.mark.parametrize(
    ("number", "minutes", "words", "speed", "share"),
    [
        (0, 5, 100_000, 4000, 0.6),
        (0, 5, 100_000, 8000, 1),  # training takes half of the time, so there is more for parsing
        (0, 5, 10**9, 4000, 0.001),
        (0, 5, 0, 4000, 1),
        (0, 0.001, 40_000, 4000, 0.25),  # and so are other models
        (1, 2, 100_000, 4000, 0.6),
        (1, 2, 100_000, 1000, 0.15),
        (1, 0.1, 100_000, 4000, 0.1),  # students of a few sentences are worse than none
    ],
)
def test_as_much_of_a_long_text_is_used_as_can_be_parsed(
    number: int, minutes: float, words: int, speed: float, share: float
) -> None:
    """Two cores, for 5 minutes. In a minute they learn from 480,000 words, teach 60,000, or vote on 30,000."""
    parts = (Part("a", ("x",), 1, count=2), Part("b", ("x",), 1e-9, teachers="vote"))
    costs = Costs(words_per_second=4000, teaching=8, voting=16, max_stretch=100)
    schedule = Schedule(Recipe("r", parts, 9, costs), 5, 2)
    assert schedule.share(number, words, minutes, speed) == pytest.approx(share, abs=5e-4)


def simulated(minutes: float, words: int, speed: float) -> tuple[list[float], list[float]]:
    """Minutes of each stage of `BEST`, and its shares of a text, on two cores ``speed`` times as fast as planned.

    As in CRAFT, half of the words are in sentences of more than 26 words. Speeds are those of the recipe's costs.
    """
    schedule, costs, left, took, shares = Schedule(BEST, minutes, 2), BEST.costs, minutes, [], []
    per_minute = 60 * costs.words_per_second * speed  # words that a core learns from
    for number, stage in enumerate(BEST.stages):
        measured = costs.words_per_second * (speed if number else 1.0)
        shares.append(shares[0] if number == 1 else schedule.share(number, words, left, measured))
        text = shares[-1] * words
        parsing = {2: costs.teaching, 3: costs.teaching, 4: costs.voting}.get(number, 0.0) * text / per_minute / 2
        lengths = np.repeat(np.arange(1, 53), int(text / np.arange(1, 53).sum()))
        ends = [0.0, 0.0]
        for run in stage:
            room = schedule.room(number, stage, left - parsing, measured)
            learned, loader = schedule.words(run, room, measured), resolve(preset=run.preset).loader
            if run.part.words:
                epochs = resolve(preset=run.preset).train.epochs
                passes = min(run.part.max_passes, max(epochs, int(learned / text)))
                needed = passes * text * run.part.minutes / run.part.words / speed
            elif run.part.max_passes:
                enough = run.part.enough_words or math.inf
                passes, loader = fit_passes(
                    loader, lengths, learned, run.part.max_passes, enough=enough, first_passes=FIRST_PASSES
                )
                needed = words_learned(lengths, loader, passes) / per_minute
            else:
                needed = run.part.minutes / speed
            core = ends.index(min(ends))
            ends[core] += min(needed, schedule.limit(run, room))
        took.append(parsing + max(ends))
        left -= took[-1]
    return took, shares


@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("minutes", "words"), [(10, 380_000), (20, 380_000), (20, 1_000_000), (60, 2_000_000)])
def test_job_with_a_large_text_uses_its_time(minutes: float, words: int, speed: float) -> None:
    took, shares = simulated(minutes, words, speed)
    assert sum(took) <= 1.01 * minutes, (took, shares)
    full = shares[-1] == 1.0 and minutes * speed > 30  # nothing is left to learn from
    assert full or sum(took) >= 0.9 * minutes, (took, shares)


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


@pytest.mark.parametrize(("sentences", "passes"), [(1_000, 7), (4_000, 5), (100_000, 4)])
def test_larger_text_is_read_less_often(sentences: int, passes: int) -> None:
    """Passes over sentences of ten words that learn from 200,000 words, between four and seven."""
    options = {"enough": 200_000, "first_passes": 4}
    lengths = np.full(sentences, 10)
    assert fit_passes(resolve(preset="npcfg-small").loader, lengths, math.inf, 7, **options)[0] == passes
    assert fit_passes(resolve(preset="npcfg-small").loader, lengths, 0, 7, **options)[0] == 2  # without time


def test_longest_sentences_are_learned_from_without_a_limit() -> None:
    loader = replace(resolve(preset="npcfg-small").loader, longest=0, first_longest=10, longer=2)
    passes, fitted = fit_passes(loader, np.array([5, 90]), math.inf, 4)
    assert longest_of_pass(fitted, passes) >= 90
