"""Craft's rules against scripted episodes and a plain twin, what an agent sees, episodes, and Gymnasium's own check."""

from __future__ import annotations

import numpy as np
import pytest

from induce.tasks.craft.episodes import LIMIT, Episodes
from induce.tasks.craft.observation import FEATURES, NEAR, observe
from induce.tasks.craft.sketches import NAMED, SUBTASKS, read_sketch, read_sketches, treasure_of
from induce.tasks.craft.world import ACTIONS, KIND, KINDS, RECIPES, SIZE, STEPS, Worlds, draw, read_map, write_maps
from treebank.base.errors import SynparseError

EMPTY_MAP = ["........"] * 8


def world(*lines: str) -> Worlds:
    """A world whose upper lines are ``lines``."""
    return read_map(["/".join([*lines, *EMPTY_MAP[len(lines) :]])])


def play(worlds: Worlds, script: str) -> list[bool]:
    """Whether each action of ``script``, in first letters, gained something."""
    letters = {name[:2]: number for number, name in enumerate(ACTIONS)}
    return [bool(worlds.act(np.array([letters[word]])).changed[0]) for word in script.split()]


def carried(worlds: Worlds) -> dict[str, int]:
    """What the first agent carries."""
    return {name: int(count) for name, count in zip(KINDS, worlds.inventory[0], strict=True) if count}


def test_moving_turns_first_and_goes_where_it_is_free() -> None:
    one = world("..>w....", "........")
    assert play(one, "ri") == [False]
    assert one.position[0].tolist() == [3, 8]  # wood is in the way
    play(one, "do")
    assert (one.position[0].tolist(), one.direction[0]) == ([3, 7], 0)
    play(one, "up up")
    assert one.position[0].tolist() == [3, 8]  # the boundary is in the way
    assert one.direction[0] == 1


def test_collecting_empties_the_cell() -> None:
    one = world("..>w....")
    assert play(one, "us us") == [True, False]
    assert carried(one) == {"wood": 1}
    play(one, "ri")
    assert one.position[0].tolist() == [4, 8]


def test_a_workshop_makes_everything_that_it_can() -> None:
    """Wood and grass at the toolshed give a plank and a rope at once."""
    one = world("w>Tg....")
    assert play(one, "us le us ri us us") == [False, False, True, False, True, False]
    assert carried(one) == {"plank": 1}
    one.inventory[0, [KIND["stick"], KIND["iron"], KIND["grass"]]] = 1
    assert play(one, "us") == [True]
    assert carried(one) == {"plank": 1, "axe": 1, "rope": 1}


@pytest.mark.parametrize(("product", "workshop", "parts"), RECIPES)
def test_each_recipe(product: str, workshop: str, parts: dict[str, int]) -> None:
    one = world(f">{ {'toolshed': 'T', 'workbench': 'W', 'factory': 'F'}[workshop] }......")
    for missing in parts:
        one.inventory[0] = 0
        one.inventory[0, [KIND[part] for part in parts if part != missing]] = 1
        play(one, "us")
        assert product not in carried(one)
    for part, count in parts.items():
        one.inventory[0, KIND[part]] = count
    play(one, "us")
    assert product in carried(one)


@pytest.mark.parametrize(("obstacle", "tool"), [("~", "bridge"), ("%", "axe")])
def test_a_tool_clears_the_way_and_is_kept(obstacle: str, tool: str) -> None:
    one = world(f">{obstacle}$.....")
    assert play(one, "us ri us") == [False, False, False]
    one.inventory[0, KIND[tool]] = 1
    assert play(one, "us ri us") == [False, False, True]
    assert carried(one) == {tool: 1, "gold": 1}


def test_a_scripted_episode_makes_a_bridge_and_gets_gold() -> None:
    one = world(">iw.....", ".F~$....")
    assert play(one, "us ri us do us") == [True, False, True, False, True]
    assert carried(one) == {"bridge": 1}
    assert play(one, "ri do us do ri us") == [False, False, False, False, False, True]
    assert carried(one) == {"bridge": 1, "gold": 1}
    assert one.position[0].tolist() == [3, 7]


def plain_act(grid: np.ndarray, place: list[int], look: int, bag: list[int], action: int) -> tuple[list[int], int]:
    """One action in one world, cell by cell."""
    if action < 4:
        x, y = (place[k] + int(STEPS[action][k]) for k in (0, 1))
        return ([x, y] if grid[x, y] == 0 else place), action
    x, y = (place[k] + int(STEPS[look][k]) for k in (0, 1))
    name = KINDS[grid[x, y]]
    if name in ("iron", "grass", "wood", "gold", "gem"):
        bag[grid[x, y]] += 1
        grid[x, y] = 0
    elif (name == "water" and bag[KIND["bridge"]]) or (name == "stone" and bag[KIND["axe"]]):
        grid[x, y] = 0
    for product, workshop, parts in RECIPES:
        if workshop == name and all(bag[KIND[part]] >= count for part, count in parts.items()):
            for part, count in parts.items():
                bag[KIND[part]] -= count
            bag[KIND[product]] += 1
    return place, look


def test_many_worlds_do_what_each_does_by_itself() -> None:
    rng = np.random.default_rng(5)
    worlds = draw(rng, 30, treasure_of("BCAFZ"))
    worlds.inventory[:, 7:20] = rng.integers(0, 2, (30, 13))
    copies = [(worlds.grid[k].copy(), worlds.position[k].tolist(), int(worlds.direction[k])) for k in range(30)]
    bags = [worlds.inventory[k].tolist() for k in range(30)]
    for _ in range(150):
        actions = np.where(rng.random(30) < 0.4, 4, rng.integers(4, size=30))
        worlds.act(actions)
        for k, (grid, place, look) in enumerate(copies):
            copies[k] = (grid, *plain_act(grid, place, look, bags[k], int(actions[k])))
            assert (worlds.grid[k] == grid).all()
            assert worlds.position[k].tolist() == copies[k][1]
            assert (worlds.direction[k], worlds.inventory[k].tolist()) == (copies[k][2], bags[k])


def test_what_is_seen() -> None:
    """Against a loop over cells: windows of 5 x 5 and of 25 x 25, what is carried, where the agent looks."""
    worlds = draw(np.random.default_rng(2), 6, treasure_of("AY"))
    worlds.inventory[:, KIND["wood"]] = 2
    seen = observe(worlds)
    assert seen.shape == (6, FEATURES) == (6, 1075)
    for k in range(6):
        x, y = worlds.position[k]
        near, blocks = np.zeros((5, 5, 21)), np.zeros((5, 5, 21))
        for dx in range(-12, 13):
            for dy in range(-12, 13):
                if not (0 <= x + dx < SIZE and 0 <= y + dy < SIZE):
                    continue
                kind = worlds.grid[k, x + dx, y + dy]
                blocks[(dx + 12) // 5, (dy + 12) // 5, kind] = 1
                if max(abs(dx), abs(dy)) <= 2:
                    near[dx + 2, dy + 2, kind] = 1
        assert (seen[k, :NEAR] == near.reshape(-1)).all()
        assert (seen[k, NEAR : 2 * NEAR] == blocks.reshape(-1)).all()
        assert seen[k, -4:].tolist() == np.eye(4)[worlds.direction[k]].tolist()
        assert seen[k, 2 * NEAR + KIND["wood"]] == 2


def test_worlds_hold_what_the_task_needs_and_their_maps_read_back() -> None:
    for sketch in ("AC", "BD", "CAFY", "AWCTZ"):
        worlds = draw(np.random.default_rng(1), 40, treasure_of(sketch))
        for name in ("iron", "grass", "wood", "toolshed", "workbench", "factory", *treasure_of(sketch).scattered):
            assert ((worlds.grid == KIND[name]).sum((1, 2)) == 1).all()
        assert (worlds.grid[np.arange(40), worlds.position[:, 0], worlds.position[:, 1]] == 0).all()
        again = read_map(write_maps(worlds))
        for name in ("grid", "position", "direction", "inventory"):
            assert (getattr(again, name) == getattr(worlds, name)).all()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("......", "a map has 8 lines of 8 cells"),
        ("/".join(EMPTY_MAP), "0 agents are on the map"),
        ("/".join(["v<......", *EMPTY_MAP[1:]]), "2 agents are on the map"),
        ("/".join(["v?......", *EMPTY_MAP[1:]]), r"'\?' is nothing that stands on a map"),
    ],
)
def test_what_is_no_map(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_map([text])


def test_sketches() -> None:
    assert read_sketches("AC, make-bridge") == ("AC", "CAF")
    assert all(set(letters) <= set(SUBTASKS) for letters in NAMED.values())
    for text, problem in (
        ("AX", "'AX' is no task of Craft"),
        ("make-brigde", "make-bridge"),
        ("AA", "wood is there once"),
        ("YZ", "two rings"),
    ):
        with pytest.raises(SynparseError, match=problem):
            read_sketch(text)
    with pytest.raises(SynparseError, match="name different tasks"):
        read_sketches("AC AC")


@pytest.mark.parametrize(("reward", "expected"), [("dense", [0, 1, 0, 1]), ("sparse", [0, 0, 0, 1])])
def test_rewards_are_for_subtasks_in_their_order(reward: str, expected: list[float]) -> None:
    episodes = Episodes("AC", 1, seed=0, reward=reward, renew=False)
    episodes.worlds = world("iw>.....")
    outcomes = [episodes.step(np.array([ACTIONS.index(name)])) for name in ("left", "use", "left", "use")]
    assert [float(one.reward[0]) for one in outcomes] == expected
    assert [bool(one.solved[0]) for one in outcomes] == [False, False, False, True]


def test_a_subtask_out_of_order_counts_for_nothing() -> None:
    episodes = Episodes("AC", 1, seed=0, reward="dense", renew=False)
    episodes.worlds = world("i<w.....")
    assert [float(episodes.step(np.array([action])).reward[0]) for action in (4, 3, 4)] == [0, 0, 1]
    assert episodes.progress[0] == 1


def test_episodes_end_in_time_and_are_the_same_for_a_seed() -> None:
    first, second = (Episodes("ADC", 8, seed=3) for _ in range(2))
    rng = np.random.default_rng(1)
    for time in range(1, 2 * LIMIT + 1):
        actions = rng.integers(4, size=8)  # nothing is used, so nothing is done
        outcomes = [one.step(actions) for one in (first, second)]
        assert outcomes[0].timed_out.all() == (time % LIMIT == 0)
        assert (first.observe() == second.observe()).all()
    assert (first.observe() != Episodes("ADC", 8, seed=4).observe()).any()


def test_gymnasium_accepts_the_environments() -> None:
    gymnasium = pytest.importorskip("gymnasium", reason="needs the extra [skills]")
    from gymnasium.utils.env_checker import check_env

    from induce.tasks.craft.environment import CraftEnv, CraftVectorEnv

    check_env(CraftEnv("AC", render_mode="ansi"))
    alone, many = CraftEnv("ADC", reward="dense"), CraftVectorEnv(3, "ADC")
    with pytest.raises(gymnasium.error.ResetNeeded):
        alone.step(0)
    first = alone.reset(seed=7)[0]
    assert (alone.reset(seed=7)[0] == first).all()
    assert (alone.reset()[0] != first).any()
    assert many.observation_space.contains(many.reset(seed=1)[0])
    steps = [many.step(np.full(3, 0)) for _ in range(LIMIT)]
    assert not any(step[3].any() for step in steps[:-1])
    assert steps[-1][3].all()
