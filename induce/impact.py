"""The structure of perturbed masking (Wu et al. 2020): how much each word changes if another word is masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from induce.structures import Structure, checked_floats, checked_list

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class Impact(Structure):
    """Impact of masking words on other words.

    ``values`` (B, N, N): entry (i, j) is the distance between the states of word i if only word i is masked, and if the
    words i and j are masked. The diagonal is 0.
    """

    name = "impact"
    rows_are = "a list of lists of numbers"
    entries = "rows of impacts"
    values: Tensor
    lengths: Tensor

    def rows(self) -> list[np.ndarray]:
        """Square matrices (N, N), one per sentence."""
        squares = self.values.cpu().numpy()
        return [square[:n, :n].copy() for square, n in zip(squares, self.lengths.tolist(), strict=True)]

    @classmethod
    def trivial(cls, length: int) -> list[list[float]]:
        """Equal impacts of all words."""
        return [[0.0] * length] * length

    @classmethod
    def from_json(cls, value: Any) -> list[list[float]]:
        """Convert N lists of N numbers. Raises ValueError for another value."""
        rows = checked_list(value, cls)
        return [checked_floats(row, cls, length=len(rows)) for row in rows]
