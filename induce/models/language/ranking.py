"""Loss by which distances learn the order of gold distances (Du et al. 2020, eq. 18), and its settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from induce.models.base import Loss
from induce.setting import choice, weight

RANKINGS = ("sentence", "column", "batch")


@dataclass(frozen=True, kw_only=True)
class SupervisionConfig:
    """Settings of distances that learn from trees. The defaults are the paper's (section 5.1)."""

    tree_weight: float = weight(0.75, "weight of the loss of trees (alpha of eq. 19)")
    lm_weight: float = weight(1.0, "weight of the loss of the language model")
    ranking: str = choice(
        "sentence",
        RANKINGS,
        "pairs of distances that are compared with trees: sentence (as in the paper), column or batch",
    )
    ranking_margin: float = weight(1.0, "margin between the distances of a pair")

    def with_trees(self, loss: Loss, distances: Tensor, gold: Tensor, tokens: Tensor) -> Loss:
        """``loss`` with the ranking loss of ``distances`` added (eq. 19). Arguments as of `rank`."""
        ranking = rank(distances, gold, tokens, self.ranking, self.ranking_margin)
        return replace(loss, objective=self.lm_weight * loss.objective + self.tree_weight * ranking)


def rank(distances: Tensor, gold: Tensor, tokens: Tensor, ranking: str, margin: float) -> Tensor:
    """Ranking loss of ``distances`` (T, B) against ``gold``, NaN at positions without gold (Du et al. 2020, eq. 18).

    ``ranking`` says which pairs are compared: those in one ``sentence`` (the paper), in one ``column`` of the stream,
    or at the same step of different columns of the ``batch`` (the released program). A sentence ends at token 0.
    """
    if ranking == "batch":
        return ranking_loss(distances, gold, margin=margin)
    groups = (tokens == 0).cumsum(0).t() if ranking == "sentence" else None
    return ranking_loss(distances.t(), gold.t(), groups=groups, margin=margin)


def ranking_loss(
    predicted: Tensor, gold: Tensor, *, groups: Tensor | None = None, margin: float = 1.0, exponential: bool = False
) -> Tensor:
    """Mean hinge over the pairs of positions in a row that gold distances order (Du et al. 2020, eq. 18).

    ``predicted`` and ``gold`` are (rows, positions), NaN at positions without gold. A pair with gold_i > gold_j
    costs max(0, ``margin`` - (d_i - d_j)), or with ``exponential`` exp of that less 1. With ``groups`` (rows,
    positions) both must be of one group. Ties cost nothing; the paper adds a constant for each. The paper
    sums over pairs; this function and the released program take the mean. Without pairs the loss is 0.
    """
    ordered = gold[:, :, None] > gold[:, None, :]  # false for NaN
    if groups is not None:
        ordered &= groups[:, :, None] == groups[:, None, :]
    cost = (margin - (predicted[:, :, None] - predicted[:, None, :])).relu()
    if exponential:
        cost = cost.expm1()
    return (cost * ordered).sum() / (ordered.sum() + 1e-9)
