"""Choice of the device that models are trained and used on."""

from __future__ import annotations

from treebank.base.errors import SynparseError


def choose_device(device: str) -> str:
    """``cpu`` or ``cuda``, with ``auto`` replaced by the GPU if there is one."""
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device not in ("cpu", "cuda"):
        raise SynparseError(f"there is no device {device!r}; use auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise SynparseError("device cuda: torch finds no GPU here; use --device cpu")
    return device
