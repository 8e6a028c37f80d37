"""Base class of the neural grammars: likelihoods of sentences, span marginals and best trees.

A subclass defines how the embeddings of its symbols become probabilities (`Grammar.tables`). The sentences of a batch
that have one length are processed together. A grammar of this form does not derive sentences of one word; the
preterminal of such a word is drawn uniformly.

Shapes: B sentences, N words, V vocabulary, S nonterminals, T preterminals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import FragmentBatch, SentenceBatch, SpanRewardBatch, SpanSupervisedBatch
from induce.data.corpus import EncodedCorpus
from induce.data.punctuation import word_edges
from induce.decoding.priors import EdgeStatistics
from induce.layers.masks import LONGEST_PIECE, pieces
from induce.models.base import Context, Loss, Model, Query
from induce.models.capabilities import EdgeCounting, SentenceScoring
from induce.models.grammars.rules import Rules, reward_loss, word_costs
from induce.setting import limited
from induce.structures import Brackets, RankedTrees, SpanScores, Structure

MEMORY = 0.1  # share of the newest batch in the running mean of the cost of the rules per word
COUNTED = 16  # one batch in this number of batches is counted for `edges`
COUNTED_MEMORY = 0.02  # share of a counted batch in `edges`


class Tables(NamedTuple):
    """A grammar in probabilities, for all sentences or one for each."""

    emissions: Tensor  # (V, T) or (B, V, T): log probabilities of words given preterminals
    rules: Rules
    divergence: Tensor | None = None  # (B,): in nats, to be added to the negative log-likelihood


class FixedTables(NamedTuple):
    """A grammar in probabilities, with the weights that it was computed from and their state (address and version)."""

    weights: list[nn.Parameter]
    state: list[tuple[int, int]]
    tables: Tables


class Residual(nn.Module):
    """x + relu(W relu(V x)) (Kim et al. 2019)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.first = nn.Linear(size, size)
        self.second = nn.Linear(size, size)

    def forward(self, x: Tensor) -> Tensor:
        """Output of the shape of ``x``."""
        return x + functional.relu(self.second(functional.relu(self.first(x))))


def perceptron(inputs: int, size: int, outputs: int | None = None, *, layers: int = 2) -> nn.Sequential:
    """A linear layer, ``layers`` residual layers, and a linear layer to ``outputs`` numbers if that is given."""
    last = [] if outputs is None else [nn.Linear(size, outputs)]
    return nn.Sequential(nn.Linear(inputs, size), *(Residual(size) for _ in range(layers)), *last)


def spread_weights(model: nn.Module, draw: Callable[[Tensor], Tensor] = nn.init.xavier_uniform_) -> None:
    """Initialize all matrices by ``draw``, by default as in the released code of Kim et al. (2019)."""
    for parameter in model.parameters():
        if parameter.dim() > 1:
            draw(parameter)


@dataclass(frozen=True, kw_only=True)
class GrammarConfig:
    """Sizes of a neural grammar, with the defaults of Kim, Dyer & Rush (2019)."""

    nonterminals: int = limited(30, 1, 10_000, "nonterminal symbols")
    preterminals: int = limited(60, 1, 10_000, "preterminal symbols")
    embedding_size: int = limited(256, 1, 100_000, "units of the embedding of a symbol and of the layers")


class Grammar(EdgeCounting, SentenceScoring, Model):
    """Base class of models that derive sentences by a grammar, which subclasses define in `tables`."""

    reads = (FragmentBatch, SpanSupervisedBatch, SpanRewardBatch)
    gives: ClassVar[tuple[type[Structure], ...]] = (SpanScores, Brackets, RankedTrees)
    shortest = 2
    max_length: ClassVar[int | None] = 2_000  # whose spans are decoded in some ten seconds
    shares_rules: ClassVar[bool] = True  # whether all sentences have one grammar
    config: Any  # settings with the numbers of nonterminals and preterminals
    growth: Tensor
    edges: Tensor
    batches: Tensor
    word_edges: Tensor

    def __init__(self, config: Any, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        self._fixed: FixedTables | None = None
        self.register_buffer("growth", torch.zeros(()))  # cost of the rules per word: the scale of charts
        # expected number of spans of each nonterminal that begin, and end, at the edge of a segment
        self.register_buffer("edges", torch.zeros(2, self.config.nonterminals))
        self.register_buffer("batches", torch.zeros((), dtype=torch.long))
        self.register_buffer("word_edges", torch.ones(2, vocabulary_size))  # see `word_edges`

    def prepare(self, corpus: EncodedCorpus, context: Context) -> None:
        """Count the words that begin and end segments between punctuation marks."""
        self.word_edges.copy_(torch.from_numpy(word_edges(*corpus.words_at_edges(), self.word_edges.shape[1])))

    def tables(self, tokens: Tensor) -> Tables:
        """The grammar of the sentences ``tokens`` (B, N)."""
        raise NotImplementedError

    def fixed_tables(self, tokens: Tensor) -> Tables:
        """The grammar of the sentences ``tokens`` (B, N).

        Without gradients, one that all sentences share is computed once for each state of the weights.
        """
        if self.training or not self.shares_rules or torch.is_grad_enabled():
            return self.tables(tokens)
        weights = list(self.parameters()) if self._fixed is None else self._fixed.weights
        state = [(weight.data_ptr(), weight._version) for weight in weights]
        if self._fixed is None or self._fixed.state != state:
            self._fixed = FixedTables(weights, state, self.tables(tokens))
        return self._fixed.tables

    def draw_tables(self, generator: torch.Generator) -> Tables:
        """Grammar from which one sentence is drawn, without an axis for sentences."""
        return self.tables(torch.zeros(1, 1, dtype=torch.long))

    def loss(self, batch: SentenceBatch, state: Any = None) -> Loss:
        """Negative log-likelihood of the sentences, or of the weighted trees if the batch has span weights.

        If the batch has rewards of spans, the objective contains the loss of drawn trees (`reward_loss`).
        """
        total = rewarded = batch.tokens.new_zeros((), dtype=self.growth.dtype)
        if self.training and isinstance(batch, FragmentBatch):
            self._count(batch)
        for rows, tokens in batch.by_length():
            tables, count = self.tables(tokens), tokens.shape[1]
            weights = batch.weights[rows, :count, : count + 1] if isinstance(batch, SpanSupervisedBatch) else None
            total = total - self._log_probability(tables, tokens, weights).sum()
            if isinstance(batch, SpanRewardBatch) and count > 2:  # shorter sentences have a single tree
                rewards = batch.rewards[rows, :count, : count + 1]
                losses = reward_loss(tables.rules, emitted(tables, tokens), rewards, growth=float(self.growth))
                rewarded = rewarded + (batch.reward_weight[rows, 0] * losses).sum()
        sentences, words = len(batch.lengths), max(1, batch.token_count)
        return Loss((total + rewarded) / sentences, total / words, words, rows=sentences)

    def log_probability(self, batch: SentenceBatch) -> Tensor:
        """Log-probability of each sentence (B,) in nats, or an estimate for a compound grammar."""
        result = self.growth.new_zeros(len(batch.lengths))
        for rows, tokens in batch.by_length():
            result[rows] = self._log_probability(self.fixed_tables(tokens), tokens, None)
        return result

    def _log_probability(self, tables: Tables, tokens: Tensor, weights: Tensor | None) -> Tensor:
        """Log-probability (B,) of sentences ``tokens`` (B, N), with ``weights`` (B, N, N + 1) of spans."""
        emissions, count = emitted(tables, tokens), tokens.shape[1]
        if count == 1:
            log_p = emissions[:, 0].logsumexp(-1) - math.log(emissions.shape[-1])
        else:
            log_p = tables.rules.log_partition(emissions, weights=weights, growth=float(self.growth))
            if self.training:
                cost = word_costs(emissions.detach(), log_p.detach()).mean()
                self.growth.lerp_(cost.nan_to_num(0.0, 0.0, 0.0), MEMORY)
        return log_p if tables.divergence is None else log_p - tables.divergence

    @torch.no_grad()
    def _count(self, batch: FragmentBatch) -> None:
        """Update `edges` by one batch in `COUNTED`."""
        self.batches += 1
        if int(self.batches) % COUNTED != 1:
            return
        counts = torch.zeros_like(self.edges)
        for rows, tokens in batch.by_length():
            count = tokens.shape[1]
            if 1 < count <= LONGEST_PIECE:
                tables, segments = self.tables(tokens), batch.fragments[rows, :count]
                changes = (segments[:, 1:] != segments[:, :-1]).float()
                begins = functional.pad(changes, (1, 1), value=1.0)  # (rows, count + 1), true at both ends
                shares = tables.rules.symbol_marginals(emitted(tables, tokens), growth=float(self.growth))[1]
                for width in range(2, count):
                    spans = count - width + 1
                    edges = torch.stack([begins[:, :spans], begins[:, width:]])  # (2, rows, spans)
                    counts += torch.einsum("ebs,sba->ea", edges.to(shares[width].dtype), shares[width])
        self.edges.lerp_(counts.nan_to_num(0.0, 0.0, 0.0), COUNTED_MEMORY)

    def edge_statistics(self) -> EdgeStatistics:
        """Counts of words and nonterminals at the edges of segments."""
        return EdgeStatistics(self.word_edges.cpu().numpy(), self.edges.cpu().numpy())

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """Span marginals, or the most probable trees with the numbers of their nonterminals as labels."""
        if query.structure is Brackets:
            return self._best(batch)
        if query.structure is RankedTrees:
            return self._ranked(batch, query.trees)
        size = batch.tokens.shape[1]
        scores = self.growth.new_zeros(len(batch.lengths), size, size + 1)
        symbols = scores.new_zeros(*scores.shape, self.config.nonterminals) if query.symbols else None
        for rows, tokens in batch.by_length():
            for start, end in pieces(tokens.shape[1]):
                tables, shares = self.fixed_tables(tokens[:, start:end]), list[Tensor]()  # by width: (spans, B, S)
                if end - start > 1:
                    emissions = emitted(tables, tokens[:, start:end])
                    shares = tables.rules.symbol_marginals(emissions, growth=float(self.growth))[1]
                for width in range(2, end - start + 1):
                    starts = torch.arange(start, end - width + 1)[:, None]
                    scores[rows, starts, starts + width] = shares[width].sum(-1)
                    if symbols is not None:
                        symbols[rows, starts, starts + width] = shares[width]
                if tokens.shape[1] > 1:
                    scores[rows, start, tokens.shape[1]] = 1.0  # pieces are joined from the right
        return SpanScores(scores.clamp_(0.0, 1.0), batch.lengths, symbols=symbols)

    def _best(self, batch: SentenceBatch) -> Brackets:
        trees: list[list[tuple[Any, ...]]] = [[] for _ in batch.lengths]
        for rows, tokens in batch.by_length():
            count = tokens.shape[1]
            for start, end in pieces(count):
                best: list[list[tuple[int, int, int]]] = [[] for _ in rows]
                if end - start > 1:
                    tables = self.fixed_tables(tokens[:, start:end])
                    best = tables.rules.best_trees(emitted(tables, tokens[:, start:end]))
                for row, spans in zip(rows.tolist(), best, strict=True):
                    trees[row] += [(start + i, start + j, f"NT{label}") for i, j, label in spans]
                    if end < count:
                        trees[row].append((start, count, "NT"))
        return Brackets(trees, batch.lengths)

    def _ranked(self, batch: SentenceBatch, k: int) -> RankedTrees:
        """The ``k`` most probable trees of each sentence. The trees of the pieces of a long sentence are combined."""
        trees: list[list[tuple[float, list[tuple[Any, ...]]]]] = [RankedTrees.trivial(0) for _ in batch.lengths]
        for rows, tokens in batch.by_length():
            count = tokens.shape[1]
            for start, end in pieces(count):
                if end - start < 2:
                    continue
                tables = self.fixed_tables(tokens[:, start:end])
                best = tables.rules.k_best_trees(emitted(tables, tokens[:, start:end]), k)
                rest = [(start, count, "NT")] * (end < count)
                for row, ranked in zip(rows.tolist(), best, strict=True):
                    named = [
                        (score, [*((start + i, start + j, f"NT{label}") for i, j, label in spans), *rest])
                        for score, spans in ranked
                    ]
                    pairs = product(trees[row], named)
                    joined = [(score + more, spans + piece) for (score, spans), (more, piece) in pairs]
                    trees[row] = sorted(joined, key=lambda tree: -tree[0])[:k]
        return RankedTrees(trees, batch.lengths)

    def parsing_cost(self, length: int) -> float:
        """Cubic in the length, and growing with the number of symbols."""
        return length + 2.0 + length**3 * (self.config.nonterminals + self.config.preterminals) / 9000


def emitted(tables: Tables, tokens: Tensor) -> Tensor:
    """Log probabilities (B, N, T) of the words given each preterminal."""
    if tables.emissions.dim() == 2:
        return functional.embedding(tokens, tables.emissions)
    index = tokens[..., None].expand(-1, -1, tables.emissions.shape[-1])
    return tables.emissions.gather(1, index)
