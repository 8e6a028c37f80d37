"""Demonstrations by shortest paths, in many worlds at once.

To use its goal, an agent must be next to it and face it. A path is therefore a sequence of pairs of cell and direction;
its length counts turns, moves and the removal of obstacles. N worlds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from induce.tasks.craft.episodes import LIMIT
from induce.tasks.craft.sketches import goals_of
from induce.tasks.craft.world import EMPTY, SIZE, STEPS, TOOLS, USE, Worlds

FAR = np.int16(10_000)  # number of actions to unreachable cells


class Paths(NamedTuple):
    """Actions of the demonstrator in N worlds."""

    actions: np.ndarray  # (N, T); -1 after the end
    ends: np.ndarray  # (N, L) index of the action that completed each subtask
    solved: np.ndarray  # (N,) whether the sketch was completed


def demonstrate(worlds: Worlds, sketch: str, *, limit: int = LIMIT) -> Paths:
    """Complete ``sketch`` in each world, each subtask by a shortest path.

    Ties are broken deterministically. Worlds with an unreachable object, or that need more than ``limit`` actions, are
    not solved.
    """
    state, goals = worlds.copy(), np.append(goals_of(sketch), -1)
    count = len(state)
    progress = np.zeros(count, dtype=np.int64)
    actions = np.full((count, limit), -1)
    ends = np.full((count, len(sketch)), -1)
    stale = np.arange(count)  # worlds whose distances have to be computed again
    far = np.full((count, SIZE, SIZE, len(STEPS)), FAR)
    for time in range(limit):
        if len(stale):
            far[stale] = _distances(state.select(stale), goals[progress[stale]])
        active = (progress < len(sketch)) & (_current(far, state) < FAR)
        if not active.any():
            break
        chosen = np.where(active, _next_action(far, state), 0)
        inactive = state.select(np.flatnonzero(~active))
        used = state.act(chosen)
        state.replace(np.flatnonzero(~active), inactive)
        actions[active, time] = chosen[active]
        done = active & used.changed & (used.kind == goals[progress])
        ends[done, progress[done]] = time
        progress += done
        stale = np.flatnonzero(active & (chosen == USE))
    return Paths(actions, ends, progress == len(sketch))


def _current(far: np.ndarray, state: Worlds) -> np.ndarray:
    """The distance (N,) from the current state of the agents."""
    return far[np.arange(len(state)), state.position[:, 0], state.position[:, 1], state.direction]


def _next_action(far: np.ndarray, state: Worlds) -> np.ndarray:
    """The first action (N,) that reduces the distance most."""
    rows, costs = np.arange(len(state)), []
    for direction, step in enumerate(STEPS):
        ahead = state.position + step
        free = state.grid[rows, ahead[:, 0], ahead[:, 1]] == EMPTY
        cell = np.where(free[:, None], ahead, state.position)
        costs.append(far[rows, cell[:, 0], cell[:, 1], direction])
    moves: np.ndarray = np.argmin(np.stack(costs), axis=0)
    return np.where(_current(far, state) == 0, USE, moves)


def _distances(worlds: Worlds, goals: np.ndarray) -> np.ndarray:
    """Number of actions (N, 10, 10, 4) from each cell and direction until the agent faces its target.

    The target is a cell with the object ``goals`` (N,). If none is reachable, it is an obstacle next to one, provided
    that the agent carries the tool.
    """
    targets = worlds.grid == goals[:, None, None]
    far = _flood(worlds.grid, targets)
    lost = np.flatnonzero((_current(far, worlds) >= FAR) & targets.any((1, 2)))
    if len(lost):
        grid, inventory = worlds.grid[lost], worlds.inventory[lost]
        adjacent = np.zeros_like(targets[lost])
        for step in STEPS:
            adjacent |= np.roll(targets[lost], step, (1, 2))
        clear = np.zeros_like(adjacent)
        for obstacle, tool in TOOLS.items():
            clear |= (grid == obstacle) & (inventory[:, tool] > 0)[:, None, None]
        far[lost] = _flood(grid, adjacent & clear)
    return far


def _flood(grid: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Number of actions (N, 10, 10, 4) until the agent faces a cell of ``targets`` (N, 10, 10), or `FAR`.

    An agent next to a target turns to it, unless it already faces it. The number of actions is thus the same for all
    directions that do not face a target, and a search over cells is enough.
    """
    free = grid == EMPTY
    faces = np.stack([free & np.roll(targets, -step, (1, 2)) for step in STEPS], -1)
    last = faces.any(-1)  # one turn or one move away
    for direction, step in enumerate(STEPS):
        last |= free & np.roll(faces[..., direction], -step, (1, 2))
    cells = np.where(last, np.int16(1), FAR)
    while True:
        around = np.full_like(cells, FAR)  # the boundary is never free
        np.minimum(cells[:, :-2, 1:-1], cells[:, 2:, 1:-1], out=around[:, 1:-1, 1:-1])
        np.minimum(around[:, 1:-1, 1:-1], cells[:, 1:-1, :-2], out=around[:, 1:-1, 1:-1])
        np.minimum(around[:, 1:-1, 1:-1], cells[:, 1:-1, 2:], out=around[:, 1:-1, 1:-1])
        better = np.where(free, np.minimum(cells, around + np.int16(1)), FAR)
        if (better == cells).all():
            return np.where(faces, np.int16(0), np.minimum(cells, FAR)[..., None])
        cells = better
