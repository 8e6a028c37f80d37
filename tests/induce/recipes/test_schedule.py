"""Wall-clock time of the stages of a recipe."""

from __future__ import annotations

import pytest

from induce.recipes.recipe import Member, Part
from induce.recipes.schedule import packed_minutes, wall_minutes


def stage(*minutes: float) -> list[Member]:
    return [Member(Part(f"part{number}", ("npcfg-small",), part), 1) for number, part in enumerate(minutes)]


@pytest.mark.parametrize(
    ("minutes", "cores", "packed", "wall"),
    [((3, 3, 3), 1, 9, 9), ((3, 3, 3), 2, 4.5, 6), ((3, 3, 3), 8, 3, 3), ((1, 5, 3), 2, 5, 5), ((0.1, 3), 1, 3.1, 3.1)],
)
def test_time_of_a_stage(minutes: tuple[float, ...], cores: int, packed: float, wall: float) -> None:
    assert packed_minutes(stage(*minutes), cores) == pytest.approx(packed)
    assert wall_minutes(stage(*minutes), cores) == pytest.approx(wall)
