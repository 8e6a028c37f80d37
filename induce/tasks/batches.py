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
    """Examples of one or more sides: ``tokens`` (sides * B, N)."""

    @property
    def targets(self) -> Tensor:
        """Value (B,) to predict for each example."""
        raise NotImplementedError

    def select(self, chosen: Tensor, *, cut: bool = True) -> Self:
        """The examples with the indices ``chosen`` (on the CPU), all of their sides."""
        import torch

        count = len(self.targets)
        rows = torch.cat([chosen + side * count for side in range(len(self.lengths) // count)])
        lengths = self.lengths[rows.to(self.lengths.device)]
        tokens = self.tokens[rows.to(self.tokens.device), : max(1, int(lengths.max())) if cut else None]
        targets = self.targets[chosen.to(self.targets.device)]
        return replace(self, tokens=tokens, lengths=lengths, **self._select_fields(rows, targets))

    def _select_fields(self, rows: Tensor, targets: Tensor) -> dict[str, Any]:
        """Other fields for the sides ``rows`` and the selected ``targets``."""
        raise NotImplementedError

    def parts(self, count: int, *, cut: bool = True) -> list[Self]:
        """The batch in ``count`` parts, each with some of the examples."""
        import torch

        rows = torch.arange(len(self.targets)).tensor_split(min(count, len(self.targets)))
        return [self.select(chosen, cut=cut) for chosen in rows]


@dataclass(frozen=True)
class LabelledBatch(ExampleBatch):
    """Batch of expressions, or of pairs, with class ``labels`` (B,) and the gold ``trees`` of all expressions."""

    labels: Tensor
    trees: Sequence[Side]

    @property
    def targets(self) -> Tensor:
        """Class labels (B,) that the model learns."""
        return self.labels

    def _select_fields(self, rows: Tensor, targets: Tensor) -> dict[str, Any]:
        return {"labels": targets, "trees": [self.trees[row] for row in rows.tolist()]}


@dataclass(frozen=True)
class RatedBatch(ExampleBatch):
    """Pairs of sentences with ``ratings`` (B,) from 0 to 1."""

    ratings: Tensor

    @property
    def targets(self) -> Tensor:
        """Ratings (B,) from 0 to 1 that the model learns."""
        return self.ratings

    def _select_fields(self, rows: Tensor, targets: Tensor) -> dict[str, Any]:
        return {"ratings": targets}


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
