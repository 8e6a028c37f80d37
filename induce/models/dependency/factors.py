"""Parts that the factorized dependency models of Yang et al. (2020) share: the encoder of a role, and scores of pairs
and triples.

Axes: X any axes, D the two directions (left, right), V the two valences, H units, R rank.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class RoleEncoder(nn.Module):
    """Vectors of a word for each direction and valence, with skip connections, as in the released program."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.no_child, self.has_child = nn.Linear(size, size), nn.Linear(size, size)
        self.valence = nn.Linear(size, size)
        self.left, self.right = nn.Linear(size, size), nn.Linear(size, size)
        self.direction = nn.Linear(size, size)
        self.inner, self.outer = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x: Tensor) -> Tensor:
        """Vectors (X, D, V, H) for vectors ``x`` (X, H)."""
        active = functional.relu(x)
        valences = torch.stack([layer(active) + x for layer in (self.no_child, self.has_child)], -2)
        valences = functional.relu(self.valence(functional.relu(valences)))
        directions = torch.stack([layer(valences) + x[..., None, :] for layer in (self.left, self.right)], -3)
        directions = functional.relu(self.direction(functional.relu(directions)))
        return functional.relu(self.outer(self.inner(directions)))


class Factors(nn.Module):
    """Score Σ_r P_r(x) Q_r(y) … of vectors of two or three roles, each with its own linear map to R numbers."""

    def __init__(self, size: int, rank: int, roles: int) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(size, rank) for _ in range(roles))

    def forward(self, *roles: Tensor) -> Tensor:
        """Scores (X, Y, D, V) or (X, Y, Z, D, V) of all pairs or triples of vectors (X, D, V, H), (Y, D, V, H), …"""
        first, second, *third = (layer(vectors) for layer, vectors in zip(self.maps, roles, strict=True))
        if not third:
            return torch.einsum("xdvr,ydvr->xydv", first, second)
        return torch.einsum("xydvr,zdvr->xyzdv", torch.einsum("xdvr,ydvr->xydvr", first, second), third[0])
