"""Rules of Craft against scripted episodes and a reference implementation, observations, and episodes."""

from __future__ import annotations

import numpy as np
import pytest

from induce.tasks.craft.world import (
    ACTIONS,
    FEATURES,
    KIND,
    KINDS,
    LIMIT,
    NAMED,
    NEAR,
    RECIPES,
    SIZE,
    STEPS,
    SUBTASKS,
    Episodes,
    Worlds,
    draw,
    observe,
    read_map,
    read_sketch,
    read_sketches,
    treasure_of,
    write_maps,
)
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
    """Inventory of the first agent."""
    return {name: int(count) for name, count in zip(KINDS, worlds.inventory[0], strict=True) if count}


def test_workshop_carries_out_all_possible_recipes() -> None:
    """Wood and grass at the toolshed give a plank and a rope at once."""
    worlds = world("w>Tg....")
    assert play(worlds, "us le us ri us us") == [False, False, True, False, True, False]
    assert carried(worlds) == {"plank": 1}
    worlds.inventory[0, [KIND["stick"], KIND["iron"], KIND["grass"]]] = 1
    assert play(worlds, "us") == [True]
    assert carried(worlds) == {"plank": 1, "axe": 1, "rope": 1}


@pytest.mark.parametrize(("product", "workshop", "parts"), RECIPES)
def test_recipe_uses_its_ingredients(product: str, workshop: str, parts: dict[str, int]) -> None:
    worlds = world(f">{ {'toolshed': 'T', 'workbench': 'W', 'factory': 'F'}[workshop] }......")
    for missing in parts:
        worlds.inventory[0] = 0
        worlds.inventory[0, [KIND[part] for part in parts if part != missing]] = 1
        play(worlds, "us")
        assert product not in carried(worlds)
    for part, count in parts.items():
        worlds.inventory[0, KIND[part]] = count
    play(worlds, "us")
    assert product in carried(worlds)


def plain_act(grid: np.ndarray, position: list[int], look: int, bag: list[int], action: int) -> tuple[list[int], int]:
    """Reference implementation: one action in one world."""
    if action < 4:
        x, y = (position[k] + int(STEPS[action][k]) for k in (0, 1))
        return ([x, y] if grid[x, y] == 0 else position), action
    x, y = (position[k] + int(STEPS[look][k]) for k in (0, 1))
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
    return position, look


def test_worlds_do_not_influence_each_other() -> None:
    rng = np.random.default_rng(5)
    worlds = draw(rng, 30, treasure_of("BCAFZ"))
    worlds.inventory[:, 7:20] = rng.integers(0, 2, (30, 13))
    copies = [(worlds.grid[k].copy(), worlds.position[k].tolist(), int(worlds.direction[k])) for k in range(30)]
    bags = [worlds.inventory[k].tolist() for k in range(30)]
    for _ in range(150):
        actions = np.where(rng.random(30) < 0.4, 4, rng.integers(4, size=30))
        worlds.act(actions)
        for k, (grid, position, look) in enumerate(copies):
            copies[k] = (grid, *plain_act(grid, position, look, bags[k], int(actions[k])))
            assert (worlds.grid[k] == grid).all()
            assert worlds.position[k].tolist() == copies[k][1]
            assert (worlds.direction[k], worlds.inventory[k].tolist()) == (copies[k][2], bags[k])


def test_observation_has_near_view_blocks_inventory_and_direction() -> None:
    """Compare with a loop over cells: windows of 5 x 5 and 25 x 25, inventory, and direction."""
    worlds = draw(np.random.default_rng(2), 6, treasure_of("AY"))
    worlds.inventory[:, KIND["wood"]] = 2
    features = observe(worlds)
    assert features.shape == (6, FEATURES) == (6, 1075)
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
        assert (features[k, :NEAR] == near.reshape(-1)).all()
        assert (features[k, NEAR : 2 * NEAR] == blocks.reshape(-1)).all()
        assert features[k, -4:].tolist() == np.eye(4)[worlds.direction[k]].tolist()
        assert features[k, 2 * NEAR + KIND["wood"]] == 2


def test_random_worlds_have_the_objects_of_the_task_and_readable_maps() -> None:
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
        ("/".join(["v?......", *EMPTY_MAP[1:]]), r"'\?' is not a symbol of a map"),
    ],
)
def test_malformed_map_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_map([text])


def test_sketches_are_letters_or_names() -> None:
    assert read_sketches("AC, make-bridge") == ("AC", "CAF")
    assert all(set(letters) <= set(SUBTASKS) for letters in NAMED.values())
    for text, problem in (
        ("AX", "'AX' is not a task of Craft"),
        ("make-brigde", "make-bridge"),
        ("AA", "a world has one wood"),
        ("YZ", "two rings"),
    ):
        with pytest.raises(SynparseError, match=problem):
            read_sketch(text)
    with pytest.raises(SynparseError, match="name different tasks"):
        read_sketches("AC AC")


@pytest.mark.parametrize(("reward", "expected"), [("dense", [0, 1, 0, 1]), ("sparse", [0, 0, 0, 1])])
def test_rewards_require_the_order_of_subtasks(reward: str, expected: list[float]) -> None:
    episodes = Episodes("AC", 1, seed=0, reward=reward, renew=False)
    episodes.worlds = world("iw>.....")
    outcomes = [episodes.step(np.array([ACTIONS.index(name)])) for name in ("left", "use", "left", "use")]
    assert [float(outcome.reward[0]) for outcome in outcomes] == expected
    assert [bool(outcome.solved[0]) for outcome in outcomes] == [False, False, False, True]


def test_subtask_out_of_order_does_not_count() -> None:
    episodes = Episodes("AC", 1, seed=0, reward="dense", renew=False)
    episodes.worlds = world("i<w.....")
    assert [float(episodes.step(np.array([action])).reward[0]) for action in (4, 3, 4)] == [0, 0, 1]
    assert episodes.progress[0] == 1


def test_episodes_have_a_time_limit_and_depend_on_the_seed() -> None:
    first, second = (Episodes("ADC", 8, seed=3) for _ in range(2))
    rng = np.random.default_rng(1)
    for time in range(1, 2 * LIMIT + 1):
        actions = rng.integers(4, size=8)  # nothing is used, so nothing is done
        outcomes = [episodes.step(actions) for episodes in (first, second)]
        assert outcomes[0].timed_out.all() == (time % LIMIT == 0)
        assert (first.observe() == second.observe()).all()
    assert (first.observe() != Episodes("ADC", 8, seed=4).observe()).any()
