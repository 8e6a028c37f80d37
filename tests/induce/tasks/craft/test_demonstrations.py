"""Demonstrations: shortest paths compared with a search in each world, files, and batches."""

from __future__ import annotations

from collections import deque
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from induce.data.vocabulary import FIRST
from induce.settings.presets import resolve
from induce.tasks.craft import demonstrations
from induce.tasks.craft.demonstrations import (
    Craft,
    CraftSettings,
    DemonstrationLoader,
    DemonstrationSettings,
    demonstrate,
    load_demonstrations,
    parse_line,
    part_of,
    replay,
)
from induce.tasks.craft.world import ACTIONS, Worlds, draw, goals_of, observe, read_map, treasure_of
from treebank.base.errors import SynparseError
from treebank.core.sentence import Location

RUN = resolve(purpose="craft", settings=["task.expressions=24"])
CONFIG = CraftSettings(sketches="AC CD DA", expressions=24)


def fewest_actions(world: Worlds, goal: int) -> int:
    """Number of actions until an object ``goal`` is used, by breadth-first search over states of the world."""
    waiting, seen = deque([(world, 0)]), set()
    while waiting:
        each, count = waiting.popleft()
        for action in range(len(ACTIONS)):
            after = each.copy()
            used = after.act(np.array([action]))
            if used.changed[0] and used.kind[0] == goal:
                return count + 1
            key = (*after.position[0].tolist(), int(after.direction[0]), after.grid.tobytes())
            if key not in seen and not used.changed[0]:
                seen.add(key)
                waiting.append((after, count + 1))
    return -1


@pytest.mark.parametrize("sketch", ["A", "T", "Y"])
def test_path_to_a_goal_is_the_shortest(sketch: str) -> None:
    """Some paths require the use of a bridge."""
    worlds = draw(np.random.default_rng(4), 4, treasure_of(sketch))
    worlds.inventory[:, 9 if sketch == "T" else 19] = 1  # wood as an ingredient; a bridge
    paths = demonstrate(worlds, sketch)
    for row in range(4):
        expected = fewest_actions(worlds.select(np.array([row])), int(goals_of(sketch)[0]))
        assert expected == (paths.actions[row] >= 0).sum() > 0
        assert paths.ends[row, 0] == expected - 1


@pytest.mark.parametrize("sketch", ["ADC", "ATDW", "CAFY", "AWCTZ"])
def test_demonstrations_complete_the_sketch(sketch: str) -> None:
    worlds = draw(np.random.default_rng(1), 20, treasure_of(sketch))
    paths = demonstrate(worlds, sketch)
    assert paths.solved.mean() >= 0.9
    assert (np.diff(paths.ends[paths.solved], axis=1) > 0).all()
    goals = goals_of(sketch)
    for time in range(paths.actions.shape[1]):
        used = worlds.act(np.maximum(paths.actions[:, time], 0))
        for row, step in np.argwhere(paths.ends == time):
            assert used.changed[row]
            assert used.kind[row] == goals[step]


def test_unreachable_goal_is_not_solved() -> None:
    walled = read_map(["wT....../TT....../......../..>...../......../......../......../i......."])
    assert demonstrate(walled, "A").solved.tolist() == [False]
    assert demonstrate(walled, "C").solved.tolist() == [True]
    assert demonstrate(walled, "C", limit=3).solved.tolist() == [False]


def test_worlds_of_other_parts_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """With small chunks, some contain no world of the requested part."""
    monkeypatch.setattr(demonstrations, "CHUNK", 2)
    maps = [demonstration.map for demonstration in islice(demonstrations.generate_sketch("AC", "dev"), 2)]
    assert [part_of(world) for world in maps] == ["dev", "dev"]


def test_generated_demonstrations_are_deterministic_and_in_one_part() -> None:
    parts = {part: list(Craft().generate(CONFIG, part, 30)) for part in ("train", "dev", "test")}
    for part, parsed in parts.items():
        assert [each.sketch for each in parsed[:4]] == ["AC", "CD", "DA", "AC"]
        assert list(map(str, Craft().generate(CONFIG, part, 7))) == list(map(str, parsed[:7]))
        assert {part_of(each.map) for each in parsed} == {part}
        assert len({each.map for each in parsed}) == 30
    for each in parts["dev"]:
        assert parse_line(str(each), Location("-", 1)) == each


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("AC ../..", "3: expected a task, a map and actions"),
        ("AX {map} use", "3: 'AX' is not a task of Craft"),
        ("A {map} jump", "3: 'jump' is not an action"),
        ("A {map} down", "3: the actions do 0 of the 1 subtasks of A"),
        ("A {map} use use", "3: A is done after 1 of the 2 actions"),
        ("C {map} use right right use", "3: task 'C' is none of task.sketches"),
    ],
)
def test_malformed_line_is_reported(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "shown.txt"
    good = ">w.i..../......../......../......../......../......../......../........"
    path.write_text(f"A\t{good}\tuse\n\n{line.format(map=good)}\n", encoding="utf-8")
    with pytest.raises(SynparseError, match=problem):
        list(Craft().read([str(path)], CraftSettings(sketches="A")))


def test_files_are_read_and_development_demonstrations_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "shown.txt"
    paths = list(Craft().generate(CONFIG, "train", 10))
    path.write_text("".join(f"{each}\n" for each in paths), encoding="utf-8")
    training, development = load_demonstrations(RUN, [str(path)], ())
    assert training.demonstrations + development.demonstrations == [*paths[:4], *paths[5:9], paths[4], paths[9]]
    assert load_demonstrations(RUN, [str(path)], [str(path)])[1].demonstrations == paths
    generated = load_demonstrations(RUN, (), ())
    assert [part.sentences for part in generated] == [24, 6]
    assert generated[0].sha256 != generated[1].sha256
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    with pytest.raises(SynparseError, match="contains no demonstration"):
        load_demonstrations(RUN, [str(tmp_path / "empty.txt")], ())


def test_learning_rate_falls_evenly_over_all_epochs() -> None:
    """The published preset has a linear schedule, and no other."""
    paths = replay(list(Craft().generate(CONFIG, "train", 6)), ("AC", "CD", "DA"))
    settings = resolve(purpose="craft", preset="craft", settings=["loader.batch_size=3"])
    assert settings.optimizer.decay == 1
    loader = DemonstrationLoader(paths, settings.loader, device="cpu", epochs=2)
    rates = [step.rate for number in (1, 2) for step in loader.steps(np.random.RandomState(1), 0, number)]
    assert rates == [1, 0.75, 0.5, 0.25]
    resumed = [step.rate for step in loader.steps(np.random.RandomState(1), 1, 2)]
    assert resumed == rates[3:]


def test_batch_has_the_observation_before_each_action() -> None:
    paths = list(Craft().generate(CONFIG, "train", 5))
    loader = DemonstrationLoader(replay(paths, ("AC", "CD", "DA")), DemonstrationSettings(batch_size=5), device="cpu")
    batch = loader.batch([3, 1])
    assert batch.sketches.tolist() == [0, 1]
    assert batch.lengths.tolist() == [paths[3].size, paths[1].size]
    for row, each in enumerate((paths[3], paths[1])):
        worlds = read_map([each.map])
        for time, word in enumerate(each.actions):
            assert (batch.observations[row, time].numpy() == observe(worlds)[0]).all()
            assert batch.tokens[row, time] == ACTIONS.index(word) + FIRST
            worlds.act(np.array([ACTIONS.index(word)]))
        assert not batch.observations[row, each.size :].any()
    half = batch.parts(2)[1]
    assert half.tokens.shape == (1, paths[1].size)
    assert (half.observations == batch.observations[1:, : paths[1].size]).all()
    assert half.sketches.tolist() == [1]
