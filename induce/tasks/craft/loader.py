"""Batches of demonstrations with the observation before each action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from induce.data.batches import Batch
from induce.data.loaders import BatchSettings
from induce.data.vocabulary import FIRST
from induce.tasks.batches import DemonstrationBatch
from induce.tasks.craft.observation import FEATURES, observe
from induce.tasks.expressions import LengthLoader

if TYPE_CHECKING:
    from induce.tasks.craft.demonstrations import Trajectories


class DemonstrationLoader(LengthLoader):
    """Batches of demonstrations of similar length."""

    makes: ClassVar[tuple[type[Batch], ...]] = (DemonstrationBatch,)

    def __init__(
        self, items: Trajectories, config: BatchSettings, *, device: str, epochs: int = 1, held_out: bool = False
    ) -> None:
        super().__init__(items.lengths, config.size(held_out=held_out))
        self.items, self.device = items, device

    def batch(self, chosen: Sequence[int]) -> DemonstrationBatch:
        """Batch of the demonstrations whose indices are ``chosen``."""
        return make_batch(self.items, chosen).to(self.device)


def make_batch(items: Trajectories, chosen: Sequence[int]) -> DemonstrationBatch:
    """The demonstrations whose indices are ``chosen``, padded after their ends."""
    import torch

    starts = items.offsets[list(chosen)]
    lengths = items.offsets[np.array(chosen) + 1] - starts
    real = np.arange(lengths.max()) < lengths[:, None]
    steps = (starts[:, None] + np.arange(lengths.max()))[real]
    tokens = np.zeros(real.shape, dtype=np.int64)
    tokens[real] = items.actions[steps] + FIRST
    observations = np.zeros((*real.shape, FEATURES), dtype=np.float32)
    observations[real] = observe(items.before.select(steps))
    arrays = tokens, lengths, observations, items.sketches[list(chosen)]
    return DemonstrationBatch(*map(torch.from_numpy, arrays))
