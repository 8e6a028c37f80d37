"""The rules of Craft for many worlds at once: a grid with objects, and an agent that moves and uses the faced object.

Rules and objects are those of Andreas et al. (2017) in the form of Lu et al. (2021), which the thesis uses: a bridge is
not used up, and a workshop carries out every recipe whose ingredients the agent carries. N worlds; a cell is (x, y),
and up is y + 1. The outer ring of the grid is the boundary.

A task is a sketch, such as ``AC``: the sequence of its subtasks, one letter for each. An episode has a progress in its
sketch, a reward and an end.

The observation of an agent has 1,075 numbers (Lu et al. 2021).

The 5 x 5 cells around the agent, one-hot over the 21 objects (525); the 25 x 25 cells around it in blocks of 5 x 5
cells, with the set of objects in each block (525); the inventory (21); the direction of the agent, one-hot (4). Cells
outside the grid have no object, not even "empty".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from treebank.base.arguments import nearest
from treebank.base.errors import SynparseError, UnknownNameError

SIZE = 10
KINDS = (
    *("empty", "boundary", "water", "stone", "toolshed", "workbench", "factory", "iron", "grass", "wood", "gold"),
    *("gem", "plank", "stick", "axe", "rope", "bed", "shears", "cloth", "bridge", "ladder"),
)
KIND = {name: number for number, name in enumerate(KINDS)}
EMPTY, BOUNDARY, WATER, STONE = range(4)
WORKSHOPS = ("toolshed", "workbench", "factory")
COLLECTED = ("iron", "grass", "wood", "gold", "gem")
ACTIONS = ("down", "up", "left", "right", "use")
USE = ACTIONS.index("use")
STEPS = np.array([[0, -1], [0, 1], [-1, 0], [1, 0]])  # of the four directions, in the order of the actions
TOOLS = {WATER: KIND["bridge"], STONE: KIND["axe"]}  # obstacle -> tool that removes it

RECIPES: tuple[tuple[str, str, Mapping[str, int]], ...] = (  # product, workshop, ingredients
    ("plank", "toolshed", {"wood": 1}),
    ("axe", "toolshed", {"stick": 1, "iron": 1}),
    ("rope", "toolshed", {"grass": 1}),
    ("stick", "workbench", {"wood": 1}),
    ("bed", "workbench", {"plank": 1, "grass": 1}),
    ("shears", "workbench", {"stick": 1, "iron": 1}),
    ("cloth", "factory", {"grass": 1}),
    ("bridge", "factory", {"wood": 1, "iron": 1}),
    ("ladder", "factory", {"plank": 1, "stick": 1}),
)

SCATTERED = ("iron", "grass", "wood", *WORKSHOPS)  # one of each in every world
RINGS = {"gold": WATER, "gem": STONE}


class Used(NamedTuple):
    """Effect of the last action in each of N worlds: the object used, and whether the inventory changed."""

    kind: np.ndarray  # (N,) object in the used cell; 0 if the action was a move
    changed: np.ndarray  # (N,) whether the inventory of the agent changed


@dataclass
class Worlds:
    """N worlds, each with an agent. ``act`` changes them."""

    grid: np.ndarray  # (N, 10, 10) uint8, the kind at (x, y)
    position: np.ndarray  # (N, 2) of the agents
    direction: np.ndarray  # (N,) of the agents, an index of `STEPS`
    inventory: np.ndarray  # (N, 21) number of objects of each kind that they carry

    def __len__(self) -> int:
        return len(self.grid)

    def copy(self) -> Worlds:
        """An independent copy of the worlds."""
        return Worlds(self.grid.copy(), self.position.copy(), self.direction.copy(), self.inventory.copy())

    def select(self, rows: np.ndarray) -> Worlds:
        """The worlds whose indices are ``rows``, as copies."""
        return Worlds(self.grid[rows], self.position[rows], self.direction[rows], self.inventory[rows])

    def replace(self, rows: np.ndarray, others: Worlds) -> None:
        """Replace the worlds with the indices ``rows`` by ``others``."""
        for name in ("grid", "position", "direction", "inventory"):
            getattr(self, name)[rows] = getattr(others, name)

    def faced(self) -> np.ndarray:
        """Coordinates (N, 2) of the cells that the agents face."""
        return self.position + STEPS[self.direction]

    def act(self, actions: np.ndarray) -> Used:
        """Carry out one action (N,) in each world. A move turns the agent, and moves it if the faced cell is empty."""
        moves = actions != USE
        self.direction = np.where(moves, actions, self.direction)
        cells = self.faced()
        rows = np.arange(len(self))
        kinds = self.grid[rows, cells[:, 0], cells[:, 1]]
        free = moves & (kinds == EMPTY)
        self.position = np.where(free[:, None], cells, self.position)
        used = Used(np.where(moves, 0, kinds), np.zeros(len(self), dtype=bool))
        rows, cells, kinds = rows[~moves], cells[~moves], kinds[~moves]  # of the agents that use the faced cell
        gained = np.isin(kinds, [KIND[name] for name in COLLECTED])
        self.inventory[rows[gained], kinds[gained]] += 1
        cleared = gained.copy()
        for obstacle, tool in TOOLS.items():
            cleared |= (kinds == obstacle) & (self.inventory[rows, tool] > 0)
        self.grid[rows[cleared], cells[cleared, 0], cells[cleared, 1]] = EMPTY
        for product, workshop, parts in RECIPES:
            makeable = kinds == KIND[workshop]
            for part, count in parts.items():
                makeable = makeable & (self.inventory[rows, KIND[part]] >= count)
            for part, count in parts.items():
                self.inventory[rows[makeable], KIND[part]] -= count
            self.inventory[rows[makeable], KIND[product]] += 1
            gained |= makeable
        used.changed[rows] = gained
        return used


class Treasure(NamedTuple):
    """The gold or gem in a world, and its surroundings."""

    scattered: tuple[str, ...] = ()  # on a free cell, like other objects
    ringed: str = ""  # at the lower edge, surrounded by water (gold) or stone (gem)


def draw(rng: np.random.Generator, count: int, treasure: Treasure) -> Worlds:
    """``count`` random worlds: one of each of `SCATTERED`, the treasure, and the agent, on free cells."""
    grid = np.full((count, SIZE, SIZE), BOUNDARY, dtype=np.uint8)
    inside = grid[:, 1:-1, 1:-1]
    inside[:] = EMPTY
    rows = np.arange(count)
    if treasure.ringed:
        column = 1 + rng.integers(SIZE - 2, size=count)
        for aside in (-1, 0, 1):
            for height in (0, 1, 2):
                is_boundary = grid[rows, column + aside, height] == BOUNDARY
                grid[rows, column + aside, height] = np.where(is_boundary, BOUNDARY, RINGS[treasure.ringed])
        grid[rows, column, 1] = KIND[treasure.ringed]
    noise = rng.random((count, (SIZE - 2) ** 2))
    noise[inside.reshape(count, -1) != EMPTY] = 2.0
    things = (*SCATTERED, *treasure.scattered)
    cells = np.argsort(noise, axis=1)[:, : len(things) + 1]
    x, y = cells // (SIZE - 2) + 1, cells % (SIZE - 2) + 1
    for index, name in enumerate(things):
        grid[rows, x[:, index], y[:, index]] = KIND[name]
    position = np.stack((x[:, -1], y[:, -1]), 1)
    direction = rng.integers(len(STEPS), size=count)
    return Worlds(grid, position, direction, np.zeros((count, len(KINDS)), dtype=np.int64))


SYMBOLS = dict(zip(".#~%TWFigw$*", range(12), strict=True))  # symbols of the objects on a map
AGENTS = "v^<>"  # symbols of an agent by its direction
_SYMBOLS, _AGENTS = (np.frombuffer("".join(symbols).encode(), np.uint8) for symbols in (SYMBOLS, AGENTS))


def write_maps(worlds: Worlds) -> list[str]:
    """Maps of worlds: rows without the boundary from top to bottom, joined by ``/``, with the agent as an arrow."""
    rows = np.arange(len(worlds))
    symbols = _SYMBOLS[worlds.grid]
    symbols[rows, worlds.position[:, 0], worlds.position[:, 1]] = _AGENTS[worlds.direction]
    lines = symbols[:, 1:-1, -2:0:-1].transpose(0, 2, 1)
    return ["/".join(bytes(line).decode() for line in rows_of) for rows_of in np.ascontiguousarray(lines)]


def read_map(texts: Sequence[str]) -> Worlds:
    """Worlds of maps in the format of `write_maps`, with empty inventories. Raises ValueError if a map is malformed."""
    side = SIZE - 2
    grid = np.full((len(texts), SIZE, SIZE), BOUNDARY, dtype=np.uint8)
    position = np.zeros((len(texts), 2), dtype=np.int64)
    direction = np.zeros(len(texts), dtype=np.int64)
    for row, text in enumerate(texts):
        lines = text.split("/")
        if [len(line) for line in lines] != [side] * side:
            raise ValueError(f"a map has {side} lines of {side} cells, joined by /")
        agents = 0
        for cell, symbol in enumerate("".join(lines)):
            x, y = cell % side + 1, side - cell // side
            if symbol in AGENTS:
                agents += 1
                grid[row, x, y], position[row], direction[row] = EMPTY, (x, y), AGENTS.index(symbol)
            elif symbol in SYMBOLS:
                grid[row, x, y] = SYMBOLS[symbol]
            else:
                raise ValueError(f"{symbol!r} is not a symbol of a map ({''.join(SYMBOLS)}{AGENTS})")
        if agents != 1:
            raise ValueError(f"{agents} agents are on the map; one is needed (v, ^, < or >)")
    return Worlds(grid, position, direction, np.zeros((len(texts), len(KINDS)), dtype=np.int64))


BLOCK = 5
NEAR = BLOCK * BLOCK * len(KINDS)
FEATURES = 2 * NEAR + len(KINDS) + len(STEPS)
_NOWHERE = FEATURES  # extra column for cells outside the view


def _tables() -> tuple[np.ndarray, np.ndarray]:
    """Columns (10, 10, 100) of object 0 in each cell for an agent at (x, y): in the near view, and in the blocks."""
    cells = np.stack(np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij"), -1)
    away = cells[None, None] - cells[:, :, None, None]  # agent's x, y; cell's x, y; two coordinates
    near, block = away + BLOCK // 2, (away + BLOCK * BLOCK // 2) // BLOCK
    in_view = ((near >= 0) & (near < BLOCK)).all(-1)
    columns = np.where(in_view, (near[..., 0] * BLOCK + near[..., 1]) * len(KINDS), _NOWHERE)
    blocks = NEAR + (block[..., 0] * BLOCK + block[..., 1]) * len(KINDS)
    return columns.reshape(SIZE, SIZE, -1), blocks.reshape(SIZE, SIZE, -1)


_COLUMNS, _BLOCKS = _tables()


def observe(worlds: Worlds) -> np.ndarray:
    """Observations (N, 1075) of the agents, float32."""
    count = len(worlds)
    features = np.zeros((count, FEATURES + 1), dtype=np.float32)
    kinds = worlds.grid.reshape(count, -1)
    x, y = worlds.position.T
    flat, start = features.reshape(-1), (np.arange(count) * (FEATURES + 1))[:, None]
    flat[start + _BLOCKS[x, y] + kinds] = 1
    columns = _COLUMNS[x, y]
    flat[start + np.where(columns == _NOWHERE, _NOWHERE, columns + kinds)] = 1
    features[:, 2 * NEAR : 2 * NEAR + len(KINDS)] = worlds.inventory
    features[np.arange(count), 2 * NEAR + len(KINDS) + worlds.direction] = 1
    return features[:, :FEATURES]


class Subtask(NamedTuple):
    """A subtask with its goal."""

    name: str
    goal: str  # type of the object that has to be used with a gain
    ringed: bool = False  # whether the goal is surrounded by water or stone


SUBTASKS = {  # A to D as in table 12 of the thesis
    "A": Subtask("get wood", "wood"),
    "B": Subtask("get gold", "gold"),
    "C": Subtask("get iron", "iron"),
    "D": Subtask("get grass", "grass"),
    "E": Subtask("get gem", "gem"),
    "F": Subtask("make at factory", "factory"),
    "T": Subtask("make at toolshed", "toolshed"),
    "W": Subtask("make at workbench", "workbench"),
    "Y": Subtask("get gold across water", "gold", ringed=True),
    "Z": Subtask("get gem behind stone", "gem", ringed=True),
}

NAMED = {  # the tasks of Lu et al. 2021
    "get-wood": "A",
    "get-grass": "D",
    "get-iron": "C",
    "make-plank": "AT",
    "make-stick": "AW",
    "make-cloth": "DF",
    "make-rope": "DT",
    "make-bridge": "CAF",
    "make-bed": "ATDW",
    "make-axe": "AWCT",
    "make-shears": "AWCW",
    "get-gold": "CAFY",
    "get-gem": "AWCTZ",
}


def read_sketch(text: str) -> str:
    """The letters of a sketch, or of the task called ``text``.

    Raises SynparseError if a letter is unknown, an object is required twice, or there is more than one ringed goal.
    """
    letters = NAMED.get(text, text)
    if not letters or any(letter not in SUBTASKS for letter in letters):
        raise UnknownNameError(
            f"{text!r} is not a task of Craft; write letters of {''.join(SUBTASKS)}, such as AC, or a name; "
            f"{nearest(text, NAMED)}"
        )
    goals = [SUBTASKS[letter].goal for letter in letters]
    repeated = next((goal for goal in COLLECTED if goals.count(goal) > 1), "")
    if repeated or sum(SUBTASKS[letter].ringed for letter in letters) > 1:
        raise SynparseError(
            f"task {text!r} cannot be done: " + (f"a world has one {repeated}" if repeated else "two rings")
        )
    return letters


def read_sketches(text: str) -> tuple[str, ...]:
    """The sketches in ``text``, separated by spaces or commas. Raises SynparseError as `read_sketch` does."""
    sketches = tuple(map(read_sketch, text.replace(",", " ").split()))
    if not sketches or len(set(sketches)) < len(sketches):
        raise SynparseError(f"setting task.sketches = {text!r}: name different tasks, such as 'AC CD DA'")
    return sketches


def treasure_of(sketch: str) -> Treasure:
    """Objects that a world for ``sketch`` needs in addition to those in every world."""
    tasks = [SUBTASKS[letter] for letter in sketch]
    scattered = tuple(task.goal for task in tasks if task.goal in RINGS and not task.ringed)
    return Treasure(scattered, next((task.goal for task in tasks if task.ringed), ""))


def goals_of(sketch: str) -> np.ndarray:
    """Object types (L,) that the subtasks use, in their order."""
    return np.array([KIND[SUBTASKS[letter].goal] for letter in sketch])


LIMIT = 64  # actions
REWARDS = ("sparse", "dense")


class StepOutcome(NamedTuple):
    """Result of one step in each world (N,)."""

    reward: np.ndarray
    solved: np.ndarray  # the last subtask is done
    timed_out: np.ndarray  # `LIMIT` actions without a solution

    @property
    def over(self) -> np.ndarray:
        """Whether each episode has ended."""
        return self.solved | self.timed_out


class Episodes:
    """``count`` worlds with the task ``sketch``, determined by ``seed`` and the actions.

    The reward is 1 for each subtask done in order (``dense``), or 1 for the last one (``sparse``).
    """

    def __init__(
        self, sketch: str, count: int, *, seed: int, reward: str = "sparse", limit: int = LIMIT, renew: bool = True
    ) -> None:
        """If ``renew`` is true, an episode that ends is replaced by a new one. ``limit`` is the number of actions."""
        self.sketch, self.reward, self.limit, self.renew = read_sketch(sketch), reward, limit, renew
        self.goals = np.append(goals_of(self.sketch), -1)
        self.rng = np.random.default_rng(seed)
        self.worlds: Worlds = draw(self.rng, count, treasure_of(self.sketch))
        self.progress = np.zeros(count, dtype=np.int64)  # subtasks done
        self.age = np.zeros(count, dtype=np.int64)  # actions so far

    def observe(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Observations (N, 1075) of all agents, or of those in the worlds ``rows``."""
        return observe(self.worlds if rows is None else self.worlds.select(rows))

    def restart(self, rows: np.ndarray) -> None:
        """Start a new episode in a new world at each of ``rows``."""
        self.worlds.replace(rows, draw(self.rng, len(rows), treasure_of(self.sketch)))
        self.progress[rows] = self.age[rows] = 0

    def step(self, actions: np.ndarray, rows: np.ndarray | None = None) -> StepOutcome:
        """Carry out one action (N,) in each world, or in the worlds ``rows`` only."""
        worlds = self.worlds if rows is None else self.worlds.select(rows)
        used = worlds.act(actions)
        if rows is None:
            rows = np.arange(len(worlds))
        else:
            self.worlds.replace(rows, worlds)
        self.age[rows] += 1
        done = used.changed & (used.kind == self.goals[self.progress[rows]])
        self.progress[rows] += done
        solved = self.progress[rows] == len(self.sketch)
        reward = (done if self.reward == "dense" else done & solved).astype(np.float32)
        outcome = StepOutcome(reward, solved, ~solved & (self.age[rows] >= self.limit))
        if self.renew and outcome.over.any():
            self.restart(rows[outcome.over])
        return outcome
