"""TN-PCFG: a grammar whose tensor of rules is a sum of R products (Yang, Zhao and Tu 2021, and Yang, Liu and Tu 2022).

With p(A -> B C) = sum_r parent[A, r] left[r, B] right[r, C], a span is described by R numbers instead of S:

    x(i, j) = w(i, j) sum_k l(i, k) * r(k, j)   with   b = parent x, l = left b, r = right b

A chart of x never needs b, since l = (left parent) x: it is the chart of a simple grammar whose nonterminals are the
ranks (2022). Its time does not depend on the number of nonterminals. Only the marginals of nonterminals do.

``docs/reference/models/tn-pcfg.md`` maps the papers' equations to these functions. Shapes as in
`induce.models.grammars.grammar`; M = S + T symbols, R ranks, E numbers in a vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from induce.models.grammars.best_trees import Maxima
from induce.models.grammars.grammar import Grammar, GrammarConfig, Tables, perceptron, spread_weights
from induce.models.grammars.rules import Posterior, Rules, SpanWeights, draw_index, product
from induce.models.grammars.simple_pcfg import SimpleRules
from induce.setting import choice, limited, setting
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


@dataclass(frozen=True, kw_only=True)
class TnPcfgConfig(GrammarConfig):
    """Sizes of a TN-PCFG, with the defaults of the paper of 2021."""

    nonterminals: int = limited(250, 1, 100_000, "nonterminal symbols")
    preterminals: int = limited(500, 1, 100_000, "preterminal symbols")
    rank: int = limited(500, 1, 100_000, "rank of the decomposition of the tensor of rules")
    factors: str = choice(
        "separate",
        ("separate", "shared"),
        "whether words have vectors of preterminals of their own and each factor its own projection (2021), or "
        "all share them (2022)",
    )
    floors: bool = setting(False, help="add 1e-9 to the factors of each span, as the released program of 2022 does")


class TnPcfg(Grammar):
    """p(A -> B C) = sum_r p(r | A) p(B | r, left) p(C | r, right)."""

    Config = TnPcfgConfig

    def __init__(self, config: TnPcfgConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        size, is_shared = config.embedding_size, config.factors == "shared"
        self.start = nn.Parameter(torch.randn(1, size))
        self.symbols = nn.Parameter(torch.randn(config.nonterminals + config.preterminals, size))  # in binary rules
        self.preterminal = None if is_shared else nn.Parameter(torch.randn(config.preterminals, size))
        self.root = perceptron(size, size, config.nonterminals)
        self.words = perceptron(size, size, vocabulary_size)
        self.parent, self.left, self.right = (nn.Linear(size, size) for _ in range(3))
        projections = [nn.Linear(size, config.rank, bias=not is_shared) for _ in range(1 if is_shared else 3)]
        self.projections = nn.ModuleList(projections)
        if is_shared:  # the program of 2021 keeps the initialization of its library
            spread_weights(self, nn.init.xavier_normal_)

    def tables(self, tokens: Tensor) -> Tables:
        """Rules and log-probabilities of the words, which are the same for all sentences of a batch."""
        count = self.config.nonterminals
        parent, left, right = (
            self.projections[k % len(self.projections)](layer(vectors).relu())
            for k, (layer, vectors) in enumerate(
                [(self.parent, self.symbols[:count]), (self.left, self.symbols), (self.right, self.symbols)]
            )
        )
        kind = FlooredRankRules if self.config.floors else RankRules
        root = self.root(self.start)[0].softmax(-1)
        rules = kind(root, parent.softmax(-1), left.softmax(0).t(), right.softmax(0).t())
        preterminals = self.symbols[count:] if self.preterminal is None else self.preterminal
        return Tables(self.words(preterminals).log_softmax(-1).t(), rules)
