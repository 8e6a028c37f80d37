"""TN-PCFG: a grammar whose tensor of rules is a sum of R products.

Yang, Zhao & Tu 2021 (NAACL) and Yang, Liu & Tu 2022 (NAACL).

``docs/reference/models/tn-pcfg.md`` maps the papers' equations to these functions. Shapes as in
`induce.models.grammars.grammar`; M = S + T symbols, R ranks, E numbers in a vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from induce.models.grammars.grammar import Grammar, GrammarConfig, Tables, perceptron, spread_weights
from induce.models.grammars.rank_rules import FlooredRankRules, RankRules
from induce.setting import choice, limited, setting


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
