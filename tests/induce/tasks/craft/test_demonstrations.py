"""Demonstrations: the shortest way, against a search in one world; generated, written, read back, and in batches."""

from __future__ import annotations

from collections import deque
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from induce.data.loaders import BatchSettings
from induce.settings.presets import resolve
from induce.tasks.craft import demonstrations
from induce.tasks.craft.demonstrations import Craft, CraftSettings, load_demonstrations, parse_line, part_of, replay
from induce.tasks.craft.demonstrator import demonstrate
from induce.tasks.craft.loader import FIRST, DemonstrationLoader
from induce.tasks.craft.observation import observe
from induce.tasks.craft.sketches import goals_of, treasure_of
from induce.tasks.craft.world import ACTIONS, Worlds, draw, read_map
from treebank.base.errors import SynparseError
from treebank.core.sentence import Place

RUN = resolve(task="craft", settings=["task.expressions=24"])
CONFIG = CraftSettings(sketches="AC CD DA", expressions=24)


def fewest_actions(world: Worlds, goal: int) -> int:
    """Actions until the one thing of kind ``goal`` has been used, by breadth-first search through whole worlds."""
    waiting, seen = deque([(world, 0)]), set()
    while waiting:
        one, count = waiting.popleft()
        for action in range(len(ACTIONS)):
            after = one.copy()
            used = after.act(np.array([action]))
            if used.changed[0] and used.kind[0] == goal:
                return count + 1
            key = (*after.position[0].tolist(), int(after.direction[0]), after.grid.tobytes())
            if key not in seen and not used.changed[0]:
                seen.add(key)
                waiting.append((after, count + 1))
    return -1


@pytest.mark.parametrize("sketch", ["A", "T", "Y"])
def test_the_way_to_a_goal_is_the_shortest(sketch: str) -> None:
    """Also where a bridge has to be used on the way."""
    worlds = draw(np.random.default_rng(4), 4, treasure_of(sketch))
    worlds.inventory[:, 9 if sketch == "T" else 19] = 1  # wood to make something of; a bridge
    shown = demonstrate(worlds, sketch)
    for row in range(4):
        wanted = fewest_actions(worlds.select(np.array([row])), int(goals_of(sketch)[0]))
        assert wanted == (shown.actions[row] >= 0).sum() > 0
        assert shown.ends[row, 0] == wanted - 1


@pytest.mark.parametrize("sketch", ["ADC", "ATDW", "CAFY", "AWCTZ"])
def test_demonstrations_do_the_whole_sketch(sketch: str) -> None:
    worlds = draw(np.random.default_rng(1), 20, treasure_of(sketch))
    shown = demonstrate(worlds, sketch)
    assert shown.solved.mean() >= 0.9
    assert (np.diff(shown.ends[shown.solved], axis=1) > 0).all()
    goals = goals_of(sketch)
    for time in range(shown.actions.shape[1]):
        used = worlds.act(np.maximum(shown.actions[:, time], 0))
        for row, place in np.argwhere(shown.ends == time):
            assert used.changed[row]
            assert used.kind[row] == goals[place]


def test_what_cannot_be_reached_is_not_solved() -> None:
    walled = read_map(["wT....../TT....../......../..>...../......../......../......../i......."])
    assert demonstrate(walled, "A").solved.tolist() == [False]
    assert demonstrate(walled, "C").solved.tolist() == [True]
    assert demonstrate(walled, "C", limit=3).solved.tolist() == [False]


def test_worlds_none_of_which_belongs_to_the_part_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """As happens, seldom, with more worlds at a time."""
    monkeypatch.setattr(demonstrations, "CHUNK", 2)
    found = [shown.map for shown in islice(demonstrations.generate_sketch("AC", "dev"), 2)]
    assert [part_of(world) for world in found] == ["dev", "dev"]


def test_generated_ones_are_the_same_at_every_call_and_in_one_part_only() -> None:
    parts = {part: list(Craft().generate(CONFIG, part, 30)) for part in ("train", "dev", "test")}
    for part, found in parts.items():
        assert [one.sketch for one in found[:4]] == ["AC", "CD", "DA", "AC"]
        assert list(map(str, Craft().generate(CONFIG, part, 7))) == list(map(str, found[:7]))
        assert {part_of(one.map) for one in found} == {part}
        assert len({one.map for one in found}) == 30
    for one in parts["dev"]:
        assert parse_line(str(one), Place("-", 1)) == one


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("AC ../..", "3: expected a task, a map and actions"),
        ("AX {map} use", "3: 'AX' is no task of Craft"),
        ("A {map} jump", "3: 'jump' is no action"),
        ("A {map} down", "3: the actions do 0 of the 1 subtasks of A"),
        ("A {map} use use", "3: A is done after 1 of the 2 actions"),
        ("C {map} use right right use", "3: task 'C' is none of task.sketches"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "shown.txt"
    good = ">w.i..../......../......../......../......../......../......../........"
    path.write_text(f"A\t{good}\tuse\n\n{line.format(map=good)}\n", encoding="utf-8")
    with pytest.raises(SynparseError, match=problem):
        list(Craft().read([str(path)], CraftSettings(sketches="A")))


def test_files_and_what_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "shown.txt"
    shown = list(Craft().generate(CONFIG, "train", 10))
    path.write_text("".join(f"{one}\n" for one in shown), encoding="utf-8")
    training, development = load_demonstrations(RUN, [str(path)], ())
    assert training.demonstrations + development.demonstrations == [*shown[:4], *shown[5:9], shown[4], shown[9]]
    assert load_demonstrations(RUN, [str(path)], [str(path)])[1].demonstrations == shown
    generated = load_demonstrations(RUN, (), ())
    assert [part.sentences for part in generated] == [24, 6]
    assert generated[0].digest.hexdigest() != generated[1].digest.hexdigest()
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    with pytest.raises(SynparseError, match="holds no demonstration"):
        load_demonstrations(RUN, [str(tmp_path / "empty.txt")], ())


def test_a_batch_holds_what_was_seen_before_each_action() -> None:
    shown = list(Craft().generate(CONFIG, "train", 5))
    loader = DemonstrationLoader(replay(shown, ("AC", "CD", "DA")), BatchSettings(batch_size=5), device="cpu")
    batch = loader.batch([3, 1])
    assert batch.sketches.tolist() == [0, 1]
    assert batch.lengths.tolist() == [shown[3].size, shown[1].size]
    for row, one in enumerate((shown[3], shown[1])):
        worlds = read_map([one.map])
        for time, word in enumerate(one.actions):
            assert (batch.observations[row, time].numpy() == observe(worlds)[0]).all()
            assert batch.tokens[row, time] == ACTIONS.index(word) + FIRST
            worlds.act(np.array([ACTIONS.index(word)]))
        assert not batch.observations[row, one.size :].any()
    half = batch.parts(2)[1]
    assert half.tokens.shape == (1, shown[1].size)
    assert (half.observations == batch.observations[1:, : shown[1].size]).all()
    assert half.sketches.tolist() == [1]
