"""Inside and outside of a grammar whose tensor of rules has a low rank (Yang et al. 2021, 2022).

With p(A -> B C) = sum_r parent[A, r] left[r, B] right[r, C], a span is described by R numbers instead of S:

    x(i, j) = w(i, j) sum_k l(i, k) * r(k, j)   with   b = parent x, l = left b, r = right b

A chart of x never needs b, since l = (left parent) x: it is the chart of a simple grammar whose nonterminals are the
ranks (2022). Its time does not depend on the number of nonterminals. Only the marginals of nonterminals do.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from induce.models.grammars.k_best_trees import Maxima
from induce.models.grammars.rules import Posterior, Rules, SpanWeights, draw_index, product
from induce.models.grammars.simple_rules import SimpleRules
from treebank.base.errors import SynparseError

MAX_TABLE_NUMBERS = 100_000_000  # in the table of rules that best trees need: 400 MB
FLOOR = 1e-9  # share of a span's largest number that the released rank-space program adds to the span's factors


@dataclass(frozen=True, eq=False)
class RankRules(Rules):
    """Rules of rank R: ``parent`` (S, R), ``left`` and ``right`` (R, M), or one grammar for each sentence."""

    parent: Tensor
    left: Tensor
    right: Tensor

    def table(self) -> Tensor:
        """Probabilities (S, M, M) of all rules A -> B C, the sum of R outer products."""
        return torch.einsum("...ar,...rb,...rc->...abc", self.parent, self.left, self.right)

    def maxima(self) -> Maxima:
        """Rules for the most probable tree, from the table of all rules.

        Raises SynparseError if the table has more than `MAX_TABLE_NUMBERS` entries.
        """
        numbers = self.parent.shape[-2] * self.left.shape[-1] ** 2
        if numbers > MAX_TABLE_NUMBERS:
            raise SynparseError(
                f"most probable trees need a table of {numbers:,} rules, more than {MAX_TABLE_NUMBERS:,}; "
                "use --decoder mbr"
            )
        return super().maxima()

    def draw_children(self, parent: int, generator: torch.Generator) -> tuple[int, int]:
        """Draw the left and the right child of nonterminal ``parent``.

        A rank is drawn given the parent, then both children are drawn independently given the rank.
        """
        rank = draw_index(self.parent[parent], generator)
        return draw_index(self.left[rank], generator), draw_index(self.right[rank], generator)

    def by_rank(self) -> Rules:
        """Simple grammar over R ranks instead of S nonterminals, with equal sums."""
        size = self.root.shape[-1]
        factors = (
            torch.cat([side[..., :size] @ self.parent, side[..., size:]], -1) for side in (self.left, self.right)
        )
        return SimpleRules((self.root[..., None, :] @ self.parent)[..., 0, :], *factors)

    def total(self, emissions: Tensor, weights: SpanWeights) -> Tensor:
        return self.by_rank().total(emissions, weights)

    def inside(self, emissions: Tensor, weights: SpanWeights) -> tuple[Tensor, list[Tensor]]:
        z, ranks = self.by_rank().inside(emissions, weights)
        return z, [*ranks[:2], *(product(x, self.parent.mT) for x in ranks[2:])]

    def posterior(self, emissions: Tensor, weights: SpanWeights) -> Posterior:
        """Inside probabilities of nonterminals, and the gradients of log Z at them.

        The gradients are computed from those at the factors l and r of the ranks.
        """
        rules, size = RankRules.by_rank(self), self.root.shape[-1]
        assert isinstance(rules, SimpleRules)
        z, chart = rules.inside_chart(emissions, weights, keep=False)
        d = torch.where(z > 0, 1 / z, 0.0)
        factors = rules.outside(d, chart, weights).factors
        both = torch.cat([self.left[..., :size], self.right[..., :size]], -2)  # (..., 2 R, S)
        gradients = [
            *chart.inside[:2],
            *(product(part, both) for part in factors[2:-1]),
            (d[:, None] * self.root)[None],
        ]
        if weights is not None:
            gradients = [*gradients[:2], *(part * w for part, w in zip(gradients[2:], weights[2:], strict=True))]
        inside = [*chart.inside[:2], *(product(x, self.parent.mT) for x in chart.inside[2:])]
        return Posterior(z, inside, gradients)


class FlooredRankRules(RankRules):
    """`RankRules` with the numerics of the released rank-space program, which adds `FLOOR` to each factor.

    The sums are therefore too large by about 1e-8 of their value. Shares of nonterminals within a span are those
    without floors.
    """

    def by_rank(self) -> Rules:
        """Sums over ranks, with floors."""
        rules = super().by_rank()
        return FlooredRules(*rules)

    def posterior(self, emissions: Tensor, weights: SpanWeights) -> Posterior:
        """Gradients at nonterminals, scaled so that the probability of each span is the one with floors."""
        exact, floored = super().posterior(emissions, weights), self.by_rank().posterior(emissions, weights)
        gradients = list(exact.gradients)
        for width in range(2, len(gradients)):
            shares = [(part.inside[width] * part.gradients[width]).sum(-1, keepdim=True) for part in (floored, exact)]
            gradients[width] = gradients[width] * torch.where(shares[1] > 0, shares[0] / shares[1], 1.0)
        return Posterior(floored.z, exact.inside, gradients)


@dataclass(frozen=True, eq=False)
class FlooredRules(Rules):
    """Rules of a simple grammar, ``left`` and ``right`` (R, R + T), whose factors have floors."""

    left: Tensor
    right: Tensor

    def table(self) -> Tensor:
        """Probabilities (S, M, M) of all rules A -> B C, without `FLOOR`."""
        return SimpleRules(*self).table()

    def combine(self, lefts: Tensor, rights: Tensor) -> Tensor:
        """Sum over splits of the products of both factors."""
        factors = []
        for children, side in ((lefts, self.left), (rights, self.right)):
            factors.append(children @ side.mT + FLOOR * children.amax(-1, keepdim=True))
        return (factors[0] * factors[1]).sum(2)

    def inside(self, emissions: Tensor, weights: SpanWeights) -> tuple[Tensor, list[Tensor]]:
        z, charts = super().inside(emissions, weights)
        return z + FLOOR * charts[-1][0].amax(-1), charts
