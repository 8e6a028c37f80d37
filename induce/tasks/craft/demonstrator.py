"""Demonstrations by the shortest way, in many worlds at once.

An agent that faces its goal and uses it must stand beside it and look at it, so a way is one through pairs of cell and
direction; its length counts turning, moving and clearing what is in the way. N worlds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from induce.tasks.craft.episodes import LIMIT
from induce.tasks.craft.sketches import goals_of
from induce.tasks.craft.world import EMPTY, SIZE, STEPS, TOOLS, USE, Worlds

FAR = np.int16(10_000)  # actions to what cannot be reached


class Shown(NamedTuple):
    """What the demonstrator did in N worlds."""

    actions: np.ndarray  # (N, T); -1 after the end
    ends: np.ndarray  # (N, L) for each subtask the index of the action that did it
    solved: np.ndarray  # (N,) whether the whole sketch was done


def demonstrate(worlds: Worlds, sketch: str, *, limit: int = LIMIT) -> Shown:
    """Do ``sketch`` in each world, one subtask after the other by a shortest way, of equal ones always the same.

    Worlds where something cannot be reached, or not within ``limit`` actions, are not solved.
    """
    state, goals = worlds.copy(), np.append(goals_of(sketch), -1)
    count = len(state)
    progress = np.zeros(count, dtype=np.int64)
    actions = np.full((count, limit), -1)
    ends = np.full((count, len(sketch)), -1)
    stale = np.arange(count)  # the worlds whose distances are out of date
    far = np.full((count, SIZE, SIZE, len(STEPS)), FAR)
    for time in range(limit):
        if len(stale):
            far[stale] = _distances(state.select(stale), goals[progress[stale]])
        active = (progress < len(sketch)) & (_here(far, state) < FAR)
        if not active.any():
            break
        chosen = np.where(active, _next_action(far, state), 0)
        kept = state.select(np.flatnonzero(~active))
        used = state.act(chosen)
        state.replace(np.flatnonzero(~active), kept)
        actions[active, time] = chosen[active]
        done = active & used.changed & (used.kind == goals[progress])
        ends[done, progress[done]] = time
        progress += done
        stale = np.flatnonzero(active & (chosen == USE))
    return Shown(actions, ends, progress == len(sketch))


def _here(far: np.ndarray, state: Worlds) -> np.ndarray:
    """The distance (N,) from where the agents are."""
    found: np.ndarray = far[np.arange(len(state)), state.position[:, 0], state.position[:, 1], state.direction]
    return found


def _next_action(far: np.ndarray, state: Worlds) -> np.ndarray:
    """The action (N,) that brings the agents nearer: the first one of the best."""
    rows, costs = np.arange(len(state)), []
    for direction, step in enumerate(STEPS):
        ahead = state.position + step
        free = state.grid[rows, ahead[:, 0], ahead[:, 1]] == EMPTY
        cell = np.where(free[:, None], ahead, state.position)
        costs.append(far[rows, cell[:, 0], cell[:, 1], direction])
    moves: np.ndarray = np.argmin(np.stack(costs), axis=0)
    return np.where(_here(far, state) == 0, USE, moves)


def _distances(worlds: Worlds, goals: np.ndarray) -> np.ndarray:
    """Actions (N, 10, 10, 4) from each cell and direction until something that brings the goal nearer is faced.

    That is a cell of the kind in ``goals`` (N,), or where none can be reached and the tool is there, what surrounds it.
    """
    targets = worlds.grid == goals[:, None, None]
    far = _flood(worlds.grid, targets)
    lost = np.flatnonzero((_here(far, worlds) >= FAR) & targets.any((1, 2)))
    if len(lost):
        grid, inventory = worlds.grid[lost], worlds.inventory[lost]
        beside = np.zeros_like(targets[lost])
        for step in STEPS:
            beside |= np.roll(targets[lost], step, (1, 2))
        clear = np.zeros_like(beside)
        for obstacle, tool in TOOLS.items():
            clear |= (grid == obstacle) & (inventory[:, tool] > 0)[:, None, None]
        far[lost] = _flood(grid, beside & clear)
    return far


def _flood(grid: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Actions (N, 10, 10, 4) until a cell of ``targets`` (N, 10, 10) is faced; `FAR` from where none can be.

    Who stands beside a target turns to it, unless the last move already led that way; so the actions from a cell are
    the same in all directions but those that face a target, and a search through cells is enough.
    """
    free = grid == EMPTY
    faces = np.stack([free & np.roll(targets, -step, (1, 2)) for step in STEPS], -1)
    last = faces.any(-1)  # where one turn is enough, or one move
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
