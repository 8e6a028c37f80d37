"""Wall-clock time of stages, and the factor on the minutes that ends them in time."""

from __future__ import annotations

import pytest

from induce.recipes.recipe import Member, Part, read_recipe
from induce.recipes.schedule import SLACK, Schedule, packed_minutes, wall_minutes


def stage(*minutes: float) -> list[Member]:
    return [Member(Part(f"part{number}", ("npcfg-small",), part), 1) for number, part in enumerate(minutes)]


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
    stages = [stage(5, 1), stage(10, 10)]
    assert Schedule(stages, 2.0, 2).room(number, stages[number], left) == pytest.approx(room)


def test_half_of_the_rest_is_for_parsing_unless_the_students_need_less() -> None:
    schedule = Schedule([stage(5), stage(4, 4)], 1.0, 2)
    assert [schedule.parsing_minutes(left) for left in (2, 8, 12)] == [1, 4, 8]


@pytest.mark.parametrize("minutes", [10, 20, 60])
def test_grammars_of_a_job_that_is_on_time_are_not_shortened(minutes: float) -> None:
    """Two cores, of which parsing takes a tenth of the time."""
    recipe = read_recipe("best")
    stages = [*recipe.stages(recipe.series(1)), recipe.student_members()]
    schedule = Schedule(stages, minutes * 2 * 0.6 / 27.1, 2)
    left = minutes
    for number, members in enumerate(stages):
        room = schedule.room(number, members, left)
        assert room >= (1 if number == 3 else SLACK if number < 2 else 1.4)
        left -= schedule.stretch * wall_minutes(members, 2) + 0.03 * minutes
