"""NBL-PCFG: a grammar over symbols with head words, in which heads select their dependents (Yang, Zhao & Tu 2021b).

``docs/reference/models/lexicalized.md`` maps the paper's equations to these functions. Shapes as in
`induce.models.grammars.headed_grammar`; R ranks, E numbers in a vector, V words.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from induce.models.grammars.grammar import GrammarConfig, Residual, Tables, perceptron, spread_weights
from induce.models.grammars.headed_grammar import HeadedChildren, HeadedGrammar, HeadedRules, words_with_symbols
from induce.models.grammars.rules import draw_index
from induce.setting import limited


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
