"""Base class of the lexicalized grammars: heads and brackets from one distribution over trees."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.models.base import Query
from induce.models.grammars.grammar import Grammar, Tables, emitted
from induce.models.grammars.headed_rules import HeadedRules
from induce.structures import HeadDistribution, SpanScores, Structure

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
