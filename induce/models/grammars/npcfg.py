"""Neural PCFG: a grammar whose rule probabilities come from embeddings of its symbols (Kim, Dyer & Rush 2019).

``docs/reference/models/npcfg.md`` maps the paper's equations to these functions. Shapes as in
`induce.models.grammars.grammar`; M = S + T symbols.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from induce.models.grammars.full_rules import FullRules
from induce.models.grammars.grammar import Grammar, GrammarConfig, Tables, perceptron, spread_weights


class NeuralPcfg(Grammar):
    """Neural PCFG: S -> A, A -> B C, T -> word, each a softmax of a network of the left-hand side."""

    Config = GrammarConfig

    def __init__(self, config: GrammarConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        size = config.embedding_size
        self.start = nn.Parameter(torch.empty(1, size))
        self.nonterminal = nn.Parameter(torch.empty(config.nonterminals, size))
        self.preterminal = nn.Parameter(torch.empty(config.preterminals, size))
        self.root = perceptron(size, size, config.nonterminals)
        self.rules = nn.Linear(size, (config.nonterminals + config.preterminals) ** 2)
        self.words = perceptron(size, size, vocabulary_size)
        spread_weights(self)

    def tables(self, tokens: Tensor) -> Tables:
        """Rules and log-probabilities of the words, which are the same for all sentences of a batch."""
        symbols = self.config.nonterminals + self.config.preterminals
        root = self.root(self.start)[0].softmax(-1)
        rules = self.rules(self.nonterminal).softmax(-1).view(self.config.nonterminals, symbols, symbols)
        return Tables(self.words(self.preterminal).log_softmax(-1).t(), FullRules(root, rules))
