"""Base class of the lexicalized grammars, whose spans have a head word: inside pass, marginals of heads, brackets.

A rule A -> X Y has one child X that keeps the head word of A and one child Y with a head word of its own, which
depends on the first. Rules generate the words: a word comes with the rule by which it becomes a dependent, or with the
start symbol. With b(i, j)[p, A] (p a word from i to j - 1),

    b(i, j)[p, A] = w(i, j) sum_k sum_XY sum_q  p(A -> X Y, left | p) b(i, k)[p, X] p(q | ...) b(k, j)[q, Y]
                                              + p(A -> Y X, right | p) b(i, k)[q, Y] p(q | ...) b(k, j)[p, X]

A subclass says in which form a rule factors: what a child with the head keeps for each head, and what a child with a
new head contributes once its head is summed out. Words have scores instead of emissions, which arrive scaled as
described in `rules`; a word without dependents has the value 1 for each preterminal.

B sentences of one length N, spans by width w and start; S nonterminals, M symbols; heads count from the span's start.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.models.base import Query
from induce.models.grammars.best_trees import Maxima
from induce.models.grammars.grammar import Grammar, Tables, emitted
from induce.models.grammars.rules import Rules, SpanWeights
from induce.structures import HeadDistribution, SpanScores, Structure


class HeadedChildren(NamedTuple):
    """Children of one node."""

    head_child: int  # symbol of the child that keeps the head
    new_child: int  # symbol of the dependent
    is_left: bool  # whether the dependent is the left child
    scores: int  # column of the scores of words from which the head word of the dependent is drawn


class Children(NamedTuple):
    """Factors that spans of one width contribute to their parents."""

    keep: Tensor  # (spans, B, w, F): as the child that keeps the head, for each head
    right: Tensor  # (spans, B, P, G): as a right dependent, P = 1, or for each head from N - 1 words before the span on
    left: Tensor  # (spans, B, P, G): as a left dependent, P = 1, or for each head from the end of the span on


@dataclass(frozen=True, eq=False)
class HeadedRules(Rules):
    """Rules of a lexicalized grammar, with head distributions next to span marginals.

    ``root`` (S,). ``arcs`` (B, N, N): weights of heads and dependents, the root on the diagonal, or no numbers if all
    weights are 1.
    """

    arcs: Tensor

    # what a subclass defines

    @abstractmethod
    def keep(self, x: Tensor, symbols: slice) -> Tensor:
        """Factor (spans, B, w, F) of children that keep the head, from ``x`` (spans, B, w, symbols)."""

    @abstractmethod
    def dependents(self, x: Tensor, words: Tensor, symbols: slice) -> Tensor:
        """Numbers (spans, B, w, Y) of dependents for each of their heads, whose scores are ``words``, to be summed."""

    @abstractmethod
    def sides(self, dependents: Tensor, symbols: slice) -> tuple[Tensor, Tensor]:
        """Factors (spans, B, P, G) of left and of right dependents from the sums (spans, B, 1 or N, Y), P = 1 or N."""

    @abstractmethod
    def join(self, keep: Tensor, dependent: Tensor) -> Tensor:
        """Product (spans, B, heads, K) of both factors, to be summed over splits."""

    @abstractmethod
    def close(self, total: Tensor) -> Tensor:
        """Inside probabilities (spans, B, w, S) from the sums (spans, B, w, K) over splits."""

    @abstractmethod
    def root_words(self, emissions: Tensor) -> Tensor:
        """Scores (N, B, S) of words as the head of a sentence with each nonterminal."""

    @abstractmethod
    def draw(self, parent: int, generator: torch.Generator) -> HeadedChildren:
        """Children of a node with the symbol ``parent``, for rules (1, 1, …) of its head word alone."""

    @abstractmethod
    def root_scores(self, top: int) -> int:
        """Column of the scores of words from which the head of a sentence with the nonterminal ``top`` is drawn."""

    # what all lexicalized grammars have

    def table(self) -> Tensor:
        raise TypeError("rules with heads have no table over symbols alone")

    def maxima(self) -> Maxima:
        raise TypeError("rules with heads have no table of maxima")

    def inside(self, emissions: Tensor, weights: SpanWeights) -> tuple[Tensor, list[Tensor]]:
        """Z (B,) and the inside probabilities (spans, B, w S) by width."""
        count, batch, _ = emissions.shape
        words = slice(self.root.shape[-1], None)
        single = emissions.new_ones(count, batch, 1, self.preterminals())
        children = [self._children(single, emissions, words)] * 2  # entry 0 is not used
        charts = [emissions.new_zeros(0)] * 2
        for width in range(2, count + 1):
            x = self.close(sum_of_splits(self, children, width)).flatten(2)
            charts.append(x if weights is None else x * weights[width])
            if width < count:
                shaped = charts[-1].unflatten(2, (width, -1))
                children.append(self._children(shaped, emissions, slice(words.start)))
        top = charts[count][0].unflatten(1, (count, -1)) * self.root * self.root_words(emissions).transpose(0, 1)
        if self.arcs.numel():
            top = top * self.arcs.diagonal(0, 1, 2)[..., None]
        return top.sum((1, 2)), charts

    @abstractmethod
    def preterminals(self) -> int:
        """Number T of preterminals."""

    def _children(self, x: Tensor, emissions: Tensor, symbols: slice) -> Children:
        spans, _, width, _ = x.shape
        count = len(emissions)
        words = emissions.unfold(0, width, 1).transpose(2, 3)  # (spans, B, w, E)
        dependents = self.dependents(x, words, symbols)
        if self.arcs.numel():
            dependents = torch.einsum("bpsw,sbwy->sbpy", self.arcs.unfold(2, width, 1), dependents)
        else:
            dependents = dependents.sum(2, keepdim=True)
        left, right = self.sides(dependents, symbols)
        if right.shape[2] == count > 1:  # from heads counted in the sentence to heads counted from the span
            starts = torch.arange(spans, device=x.device)[:, None]
            heads = torch.arange(count - 1, device=x.device)
            right = right[starts, :, (starts - (count - 1) + heads).clamp_min(0)].transpose(1, 2)
            left = left[starts, :, (starts + width + heads).clamp_max(count - 1)].transpose(1, 2)
        return Children(self.keep(x, symbols), right, left)

    @torch.no_grad()
    def symbol_marginals(
        self, emissions: Tensor, *, weights: Tensor | None = None, growth: float | Tensor = 0.0
    ) -> tuple[Tensor, list[Tensor]]:
        """log Z (B,), and by width the probability (spans, B, S) of each nonterminal over each span, with any head."""
        log_z, shares = super().symbol_marginals(emissions, weights=weights, growth=growth)
        by_head = [share.unflatten(2, (width, -1)) for width, share in enumerate(shares[2:], 2)]
        return log_z, [*shares[:2], *(share.sum(2) for share in by_head)]

    def head_marginals(self, emissions: Tensor, *, growth: float | Tensor = 0.0) -> Tensor:
        """Probability (B, N, N) of each head (last axis) of each word, with that of the root on the diagonal.

        These probabilities are the gradients of log Z at the weights of arcs.
        """
        batch, count, _ = emissions.shape
        with torch.inference_mode(False), torch.enable_grad():
            root, _, *parts = (part.detach().clone() for part in self)
            arcs = emissions.new_ones(batch, count, count).clone().requires_grad_()
            log_z = type(self)(root, arcs, *parts).log_partition(emissions.detach().clone(), growth=growth)
            (marginals,) = torch.autograd.grad(log_z.sum(), arcs)
        return marginals.transpose(1, 2)


def sum_of_splits(rules: HeadedRules, children: list[Children], width: int) -> Tensor:
    """Sum (spans, B, w, K) over the splits of spans of ``width`` words into a head and a dependent, in both orders."""
    count = len(children[1].keep)
    spans = count - width + 1

    def products() -> Iterator[Tensor]:
        for size in range(1, width):
            first, second = children[size], children[width - size]
            right, left = second.right[size : size + spans], first.left[:spans]
            if right.shape[2] > 1:
                right, left = right[:, :, count - 1 - size :], left[:, :, : width - size]
            heads_first = rules.join(first.keep[:spans], right)
            yield torch.cat([heads_first, rules.join(second.keep[size : size + spans], left)], 2)

    return reduce(torch.add, products())


NUMBERS_PER_COST = 25_000  # so that a batch with the budget of 4,096 holds 100 million numbers


class HeadedGrammar(Grammar):
    """A grammar whose rules are `HeadedRules`.

    Each tree says both what the constituents are and which word heads each of them.
    """

    gives: ClassVar[tuple[type[Structure], ...]] = (SpanScores, HeadDistribution)
    estimates_root = True
    max_length: ClassVar[int | None] = 100  # time grows with the fourth power

    def fixed_tables(self, tokens: Tensor) -> Tables:
        """The grammar of the sentences: its rules depend on their words."""
        return self.tables(tokens)

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """Span marginals (B, N, N + 1), or head marginals (B, N, N) with those of the root on the diagonal.

        Raises SentenceTooLong for a sentence of more than 100 words.
        """
        self.check_lengths(batch)
        if query.structure is SpanScores:
            return super().structure(batch, query)
        size = batch.tokens.shape[1]
        heads = self.growth.new_zeros(len(batch.lengths), size, size)
        for rows, tokens in batch.by_length():
            count = tokens.shape[1]
            if count == 1:
                heads[rows, 0, 0] = 1.0
                continue
            tables = self.tables(tokens)
            assert isinstance(tables.rules, HeadedRules)
            marginals = tables.rules.head_marginals(emitted(tables, tokens), growth=float(self.growth))
            heads[rows, :count, :count] = marginals.detach()
        return HeadDistribution(heads.clamp_(0.0, 1.0), batch.lengths)

    def chart_numbers(self, length: int) -> int:
        """Number of numbers that a sentence of ``length`` words needs in memory, roughly."""
        raise NotImplementedError

    def parsing_cost(self, length: int) -> float:
        """Cost in proportion to memory: 400 MB in a batch, and a multiple of it for head marginals."""
        return length + 2.0 + self.chart_numbers(length) / NUMBERS_PER_COST


def words_with_symbols(layer: nn.Linear, words: Tensor, symbols: Tensor) -> Tensor:
    """Output (B, N, S, K) of a layer for each word (B, N, E) concatenated with each symbol (S, E)."""
    size = words.shape[-1]
    by_symbol = functional.linear(symbols, layer.weight[:, size:], layer.bias)
    return functional.linear(words, layer.weight[:, :size])[:, :, None] + by_symbol
