"""NL-PCFG: a grammar over symbols with head words, whose dependents do not depend on the head (Zhu et al. 2020).

``docs/reference/models/lexicalized.md`` maps the paper's equations to these functions. Shapes as in
`induce.models.grammars.headed_grammar`; E numbers in a vector, V words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.models.grammars.grammar import GrammarConfig, Residual, Tables, perceptron, spread_weights
from induce.models.grammars.headed_grammar import HeadedChildren, HeadedGrammar, HeadedRules, words_with_symbols
from induce.models.grammars.rules import draw_index


@dataclass(frozen=True, eq=False)
class LexicalRules(HeadedRules):
    """p(A[p] -> X[p] Y[q], side) = rules[p, side, A, X, Y] p(q | Y), where the side of Y is 0 if it is the left child.

    Since X is known to be a word or a phrase, and the factor of a word is 1 for each preterminal, the rules are summed
    over the preterminals X once.
    """

    rules: Tensor  # (B, N, 2, S, M, M)

    def preterminals(self) -> int:
        """Number T of preterminals."""
        return self.rules.shape[-1] - self.root.shape[-1]

    @cached_property
    def without_preterminals(self) -> tuple[Tensor, Tensor]:
        """Rules (B, N, 2 S (S + 1), Y) summed over preterminals X, for dependents Y that are phrases, and words."""
        size = self.root.shape[-1]
        word = self.rules[..., size:, :].sum(-2, keepdim=True)
        rules = torch.cat([self.rules[..., :size, :], word], -2).flatten(2, 4)
        return rules[..., :size].contiguous(), rules[..., size:].contiguous()

    def keep(self, x: Tensor, symbols: slice) -> Tensor:
        """Factors (spans, B, w, S + 1) of the head child: inside probabilities of a phrase, or 1 in the last column.

        The last column stands for a single word.
        """
        size = self.root.shape[-1]
        return functional.pad(x, (0, 1)) if symbols.stop else functional.pad(x[..., :1], (size, 0))

    def dependents(self, x: Tensor, words: Tensor, symbols: slice) -> Tensor:
        """Inside probabilities (spans, B, w, Y) times the scores of the words."""
        return x * words[..., symbols]

    def sides(self, dependents: Tensor, symbols: slice) -> tuple[Tensor, Tensor]:
        """Rules (spans, B, N, S (S + 1)) of each head word of the sentence with the dependent filled in."""
        phrases, words = self.without_preterminals
        filled = (phrases if symbols.stop else words) @ dependents.permute(1, 2, 3, 0)  # (B, N, 2 S (S + 1), spans)
        left, right = filled.permute(3, 0, 1, 2).chunk(2, -1)
        return left, right

    def join(self, keep: Tensor, dependent: Tensor) -> Tensor:
        """Sum over X (spans, B, heads, S)."""
        return (dependent.unflatten(-1, (-1, keep.shape[-1])) * keep[..., None, :]).sum(-1)

    def close(self, total: Tensor) -> Tensor:
        """Return ``total`` unchanged: this grammar has no factors after the sum over rules."""
        return total

    def root_words(self, emissions: Tensor) -> Tensor:
        """Scores (B, N, S) of the words given each nonterminal, the first S columns of ``emissions``."""
        return emissions[..., : self.root.shape[-1]]

    def draw(self, parent: int, generator: torch.Generator) -> HeadedChildren:
        """Draw a rule of nonterminal ``parent``: both children and the side of the dependent."""
        rules = self.rules[0, 0, :, parent]  # (2, M, M)
        side, pair = divmod(draw_index(rules.flatten(), generator), rules[0].numel())
        head_child, dependent = divmod(pair, rules.shape[2])
        return HeadedChildren(head_child, dependent, side == 0, dependent)

    def root_scores(self, top: int) -> int:
        """Column of the nonterminal itself."""
        return top


class NlPcfg(HeadedGrammar):
    """p(A[p] -> X[p] Y[q]) = p(X, side | A, p) p(Y | A, p, X, side) p(q | Y), without the vector of a sentence."""

    Config = GrammarConfig

    def __init__(self, config: GrammarConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        size, symbols = config.embedding_size, config.nonterminals + config.preterminals
        self.start = nn.Parameter(torch.empty(1, size))
        self.nonterminal = nn.Parameter(torch.empty(config.nonterminals, size))  # as a left-hand side
        self.phrase = nn.Parameter(torch.empty(config.nonterminals, size))  # as the symbol of a new head word
        self.preterminal = nn.Parameter(torch.empty(config.preterminals, size))  # the same of single words
        self.embedding = nn.Embedding(vocabulary_size, size)
        self.root = perceptron(size, size, config.nonterminals)
        self.encoder = nn.Linear(2 * size, size)
        self.head = nn.Sequential(Residual(size), nn.Linear(size, 2 * symbols))
        self.right = nn.Linear(2 * size, symbols**2)  # symbol of the right child, by the left child's
        self.left = nn.Linear(2 * size, symbols**2)
        self.words = perceptron(size, size, vocabulary_size)
        spread_weights(self)

    def tables(self, tokens: Tensor) -> Tables:
        """Rules of the sentences ``tokens``, and log P(word | symbol) of all symbols as the scores of their words."""
        symbols = self.config.nonterminals + self.config.preterminals
        head = self.head(words_with_symbols(self.encoder, self.embedding(tokens), self.nonterminal))
        head = head.softmax(-1).unflatten(-1, (symbols, 2))  # (B, N, S, M, 2): X, and whether Y is left of it
        right, left = (
            words_with_symbols(layer, self.embedding(tokens), self.nonterminal).unflatten(-1, (symbols, symbols))
            for layer in (self.right, self.left)
        )  # (B, N, S, M, M): left child, right child
        sides = [left.softmax(-2).mT * head[..., 1, None], right.softmax(-1) * head[..., 0, None]]
        root = self.root(self.start)[0].softmax(-1)
        emissions = self.words(torch.cat([self.phrase, self.preterminal])).log_softmax(-1).t()
        return Tables(emissions, LexicalRules(root, root.new_zeros(0), torch.stack(sides, 2)))

    def chart_numbers(self, length: int) -> int:
        """Numbers in the rules and in the factors of dependents."""
        size, symbols = self.config.nonterminals, self.config.nonterminals + self.config.preterminals
        return 2 * length * size * symbols**2 + length**3 * size * (size + 1)
