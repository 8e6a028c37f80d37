"""Grammars over symbols with head words: NL-PCFG (Zhu et al. 2020) and NBL-PCFG (Yang, Zhao & Tu 2021b).

In NL-PCFG the dependents do not depend on the head; in NBL-PCFG heads select their dependents.
``docs/reference/models/lexicalized.md`` maps the papers' equations to these functions. Shapes as in
`induce.models.grammars.headed_grammar`; R ranks, E numbers in a vector, V words.
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
from induce.setting import limited


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


@dataclass(frozen=True, kw_only=True)
class NblPcfgConfig(GrammarConfig):
    """Sizes of an NBL-PCFG, with the defaults of the paper."""

    nonterminals: int = limited(15, 1, 10_000, "nonterminal symbols")
    preterminals: int = limited(30, 1, 10_000, "preterminal symbols")
    rank: int = limited(300, 1, 100_000, "rank of the decomposition of the tensor of rules")


@dataclass(frozen=True, eq=False)
class BilexicalRules(HeadedRules):
    """p(A[p] -> X[p] Y[q], side) = sum_r heads[p, A, r] head_child[X, r] new_child[side, Y, r] p(q | r)."""

    heads: Tensor  # (B, N, S, R): p(r | A, word)
    head_child: Tensor  # (M, R): p(X | r)
    new_child: Tensor  # (2, M, R): p(Y, side of Y | r), left first

    def preterminals(self) -> int:
        """Number T of preterminals."""
        return len(self.head_child) - self.root.shape[-1]

    def keep(self, x: Tensor, symbols: slice) -> Tensor:
        """Factors (spans, B, w, R) of the head child: inside probabilities ``x`` times p(X | r), summed over X."""
        return x @ self.head_child[symbols]

    def dependents(self, x: Tensor, words: Tensor, symbols: slice) -> Tensor:
        """Factors (spans, B, w, 2 R) of the dependents, those of left dependents first."""
        scores = words[..., : self.head_child.shape[1]]
        return torch.cat([(x @ side[symbols]) * scores for side in self.new_child], -1)

    def sides(self, dependents: Tensor, symbols: slice) -> tuple[Tensor, Tensor]:
        """Factors of the dependents on the left and on the right, (spans, B, w, R) each."""
        left, right = dependents.chunk(2, -1)
        return left, right

    def join(self, keep: Tensor, dependent: Tensor) -> Tensor:
        """Product of the factors of head child and dependent, for each of the R ranks."""
        return keep * dependent

    def close(self, total: Tensor) -> Tensor:
        """Sum over ranks, by one product per word: spans are first sorted by head word."""
        spans, _, width, _ = total.shape
        offsets = torch.arange(width, device=total.device)
        heads = torch.arange(spans + width - 1, device=total.device)[:, None]
        starts = (heads - offsets).clamp(0, spans - 1)
        by_word = total[starts, :, offsets].permute(2, 0, 1, 3) @ self.heads.mT  # (B, N, w, S)
        return by_word[:, heads[:spans] + offsets, offsets].transpose(0, 1)

    def root_words(self, emissions: Tensor) -> Tensor:
        """Scores of the words as heads of the sentence, given each nonterminal."""
        return emissions[..., self.head_child.shape[1] :]

    def draw(self, parent: int, generator: torch.Generator) -> HeadedChildren:
        """Both children and the word given a rank, which is drawn first."""
        rank = draw_index(self.heads[0, 0, parent], generator)
        new = self.new_child[..., rank]  # (2, M)
        side, dependent = divmod(draw_index(new.flatten(), generator), new.shape[1])
        return HeadedChildren(draw_index(self.head_child[:, rank], generator), dependent, side == 0, rank)

    def root_scores(self, top: int) -> int:
        """Column of a nonterminal, after those of the ranks."""
        return self.head_child.shape[1] + top


class NblPcfg(HeadedGrammar):
    """All rules are products of softmaxes of networks over vectors of words, symbols and ranks."""

    Config = NblPcfgConfig

    def __init__(self, config: NblPcfgConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        size, symbols = config.embedding_size, config.nonterminals + config.preterminals
        self.start = nn.Parameter(torch.empty(1, size))
        self.nonterminal = nn.Parameter(torch.empty(config.nonterminals, size))
        self.embedding = nn.Embedding(vocabulary_size, size)
        ranks = [nn.Parameter(torch.empty(config.rank, size)) for _ in range(3)]  # vectors for each factor
        self.head_rank, self.dependent_rank, self.word_rank = ranks
        self.root = perceptron(size, size, config.nonterminals)
        self.root_word = perceptron(size, size, vocabulary_size)
        self.encoder = nn.Linear(2 * size, size)
        self.head = nn.Sequential(Residual(size), nn.Linear(size, config.rank))
        self.head_child = nn.Linear(size, symbols)
        self.new_child = nn.Linear(size, 2 * symbols)
        self.words = perceptron(size, size, vocabulary_size)
        spread_weights(self)

    def tables(self, tokens: Tensor) -> Tables:
        """Rules of each sentence. Scores of words are log p(word | r), and log p(word | A) for the root."""
        words = self.embedding(tokens)
        encoded = words_with_symbols(self.encoder, words, self.nonterminal).relu() + words[:, :, None]
        heads = self.head(encoded).softmax(-1)
        head_child = self.head_child(self.head_rank).softmax(-1).t()
        new_child = self.new_child(self.dependent_rank).softmax(-1).view(self.config.rank, -1, 2).permute(2, 1, 0)
        root = self.root(self.start)[0].softmax(-1)
        scores = [self.words(self.word_rank), self.root_word(self.nonterminal)]
        emissions = torch.cat([score.log_softmax(-1) for score in scores]).t()
        return Tables(emissions, BilexicalRules(root, root.new_zeros(0), heads, head_child, new_child))

    def chart_numbers(self, length: int) -> int:
        """Numbers in the factors of dependents."""
        return self.config.rank * length**3
