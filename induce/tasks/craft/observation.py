"""Observation of an agent: 1,075 numbers (Lu et al. 2021).

The 5 x 5 cells around the agent, one-hot over the 21 objects (525); the 25 x 25 cells around it in blocks of 5 x 5
cells, with the set of objects in each block (525); the inventory (21); the direction of the agent, one-hot (4). Cells
outside the grid have no object, not even "empty".
"""

from __future__ import annotations

import numpy as np

from induce.tasks.craft.world import KINDS, SIZE, STEPS, Worlds

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
