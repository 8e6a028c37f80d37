"""Random numbers of a run: seeded once, stored and restored with a checkpoint."""

from __future__ import annotations

from typing import Any

import numpy
import torch


def seed_everything(seed: int) -> Any:
    """Seed torch, and return the generator (numpy, legacy) that draws the segment lengths."""
    torch.manual_seed(seed)
    return numpy.random.RandomState(seed)


def random_state(draw: Any, device: str) -> dict[str, Any]:
    """The state of every generator, as tensors and plain values."""
    kind, keys, position, has_gauss, gauss = draw.get_state()
    state = {"torch": torch.get_rng_state(), "draw": [kind, keys.tolist(), position, has_gauss, gauss]}
    if device == "cuda":
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore_random_state(draw: Any, state: dict[str, Any], device: str) -> None:
    """Continue where ``random_state`` was taken."""
    torch.set_rng_state(state["torch"])
    kind, keys, position, has_gauss, gauss = state["draw"]
    draw.set_state((kind, keys, position, has_gauss, gauss))
    if device == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"])
