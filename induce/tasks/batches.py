"""Batches of the tasks: labeled expressions, rated pairs of sentences, and demonstrations.

B examples, N words of the longest sentence. An example has one or more sides, and all first sides precede all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from induce.data.batches import SentenceBatch

if TYPE_CHECKING:
    from torch import Tensor


class Side(NamedTuple):
    """An expression as token indices, with its tree."""

    ids: Sequence[int]  # of all tokens
    leaves: Sequence[int]  # positions of the tokens that are words of the tree, not brackets
    joins: Sequence[tuple[int, int]]  # the two children of each inner node; nodes are words first, then joins in order


@dataclass(frozen=True)
class ExampleBatch(SentenceBatch):
    """Examples of one or more sides, ``tokens`` (sides * B, N), with the value (B,) to predict for each."""

    targets: Tensor

    @property
    def items(self) -> int:
        """Number of examples."""
        return len(self.targets)

    def select(self, chosen: Tensor, *, cut: bool = True) -> Self:
        """The examples with the indices ``chosen`` (on the CPU), all of their sides."""
        import torch

        rows = torch.cat([chosen + side * self.items for side in range(len(self.lengths) // self.items)])
        lengths = self.lengths[rows.to(self.lengths.device)]
        tokens = self.tokens[rows.to(self.tokens.device), : max(1, int(lengths.max())) if cut else None]
        targets = self.targets[chosen.to(self.targets.device)]
        return replace(self, tokens=tokens, lengths=lengths, targets=targets)


@dataclass(frozen=True)
class LabelledBatch(ExampleBatch):
    """Batch of expressions, or of pairs, with classes as ``targets`` and the gold ``trees`` of all expressions."""

    trees: Sequence[Side]

    def select(self, chosen: Tensor, *, cut: bool = True) -> Self:
        """The examples with the indices ``chosen``, all of their sides and trees."""
        rows = [row + side for side in range(0, len(self.trees), self.items) for row in chosen.tolist()]
        return replace(super().select(chosen, cut=cut), trees=[self.trees[row] for row in rows])


@dataclass(frozen=True)
class RatedBatch(ExampleBatch):
    """Pairs of sentences with ratings from 0 to 1 as ``targets``."""


@dataclass(frozen=True)
class DemonstrationBatch(SentenceBatch):
    """Trajectories: ``tokens`` (B, N) are actions, ``observations`` (B, N, F) precede them.

    ``sketches`` (B,) are the indices of the demonstrated tasks.
    """

    observations: Tensor
    sketches: Tensor

    def _selected(self, chosen: Tensor, longest: int) -> dict[str, Any]:
        fields = {name: getattr(self, name)[chosen, :longest] for name in ("tokens", "observations")}
        return {**fields, "sketches": self.sketches[chosen.to(self.sketches.device)]}
