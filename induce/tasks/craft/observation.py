"""What an agent sees of its world: 1,075 numbers (Lu et al. 2021).

5 x 5 cells around it, one-hot over the 21 kinds (525); the 25 x 25 cells around it in 5 x 5 blocks, each of which tells
which kinds are in it (525); how many of each kind it carries (21); where it looks, one-hot (4). Beyond the grid there
is nothing, not even "empty".
"""

from __future__ import annotations

import numpy as np

from induce.tasks.craft.world import KINDS, SIZE, STEPS, Worlds

BLOCK = 5
NEAR = BLOCK * BLOCK * len(KINDS)
FEATURES = 2 * NEAR + len(KINDS) + len(STEPS)
_NOWHERE = FEATURES  # a column that is cut off


def _tables() -> tuple[np.ndarray, np.ndarray]:
    """For an agent at (x, y) the columns (10, 10, 100) of kind 0 of each cell: near it, and of its block."""
    cells = np.stack(np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij"), -1)
    away = cells[None, None] - cells[:, :, None, None]  # agent's x, y; cell's x, y; two coordinates
    near, block = away + BLOCK // 2, (away + BLOCK * BLOCK // 2) // BLOCK
    seen = ((near >= 0) & (near < BLOCK)).all(-1)
    columns = np.where(seen, (near[..., 0] * BLOCK + near[..., 1]) * len(KINDS), _NOWHERE)
    blocks = NEAR + (block[..., 0] * BLOCK + block[..., 1]) * len(KINDS)
    return columns.reshape(SIZE, SIZE, -1), blocks.reshape(SIZE, SIZE, -1)


_COLUMNS, _BLOCKS = _tables()


def observe(worlds: Worlds) -> np.ndarray:
    """What the agents see: (N, 1075), float32."""
    count = len(worlds)
    seen = np.zeros((count, FEATURES + 1), dtype=np.float32)
    kinds = worlds.grid.reshape(count, -1)
    x, y = worlds.position.T
    flat, start = seen.reshape(-1), (np.arange(count) * (FEATURES + 1))[:, None]
    flat[start + _BLOCKS[x, y] + kinds] = 1
    columns = _COLUMNS[x, y]
    flat[start + np.where(columns == _NOWHERE, _NOWHERE, columns + kinds)] = 1
    seen[:, 2 * NEAR : 2 * NEAR + len(KINDS)] = worlds.inventory
    seen[np.arange(count), 2 * NEAR + len(KINDS) + worlds.direction] = 1
    return seen[:, :FEATURES]
