"""Simple PCFG: a grammar that draws the two children of a rule one by one (Liu, Yang, Kim & Tu 2023).

``docs/reference/models/npcfg.md`` maps the paper's equations to these functions. Shapes as in
`induce.models.grammars.grammar`; M = S + T symbols.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from induce.models.grammars.grammar import Grammar, GrammarConfig, Tables, perceptron, spread_weights
from induce.models.grammars.simple_rules import SimpleRules
from induce.setting import limited


@dataclass(frozen=True, kw_only=True)
class SimplePcfgConfig(GrammarConfig):
    """Sizes of a simple PCFG, with the largest ones of the paper as defaults."""

    nonterminals: int = limited(4096, 1, 100_000, "nonterminal symbols")
    preterminals: int = limited(8192, 1, 100_000, "preterminal symbols")
    embedding_size: int = limited(512, 1, 100_000, "units of the embedding of a symbol and of the layers")


class SimplePcfg(Grammar):
    """p(A -> B C) = p(B | A, left) p(C | A, right), each a softmax over products of embeddings."""

    Config = SimplePcfgConfig

    def __init__(self, config: SimplePcfgConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        size = config.embedding_size
        self.start = nn.Parameter(torch.empty(1, size))
        self.nonterminal = nn.Parameter(torch.empty(config.nonterminals, size))
        self.preterminal = nn.Parameter(torch.empty(config.preterminals, size))
        self.root = perceptron(size, size, config.nonterminals)
        self.parent = perceptron(size, size, layers=1)
        self.left = perceptron(size, size, layers=1)
        self.right = perceptron(size, size, layers=1)
        self.words = perceptron(size, size, vocabulary_size)
        spread_weights(self)

    def tables(self, tokens: Tensor) -> Tables:
        """Rules and log-probabilities of the words, which are the same for all sentences of a batch."""
        parents, children = self.parent(self.nonterminal), torch.cat([self.nonterminal, self.preterminal])
        root = self.root(self.start)[0].softmax(-1)
        left, right = ((parents @ side(children).t()).softmax(-1) for side in (self.left, self.right))
        return Tables(self.words(self.preterminal).log_softmax(-1).t(), SimpleRules(root, left, right))
