"""Product of the dependency model with valence and the constituent-context model (Klein and Manning 2004).

Both models score the same tree. A dependency tree whose heads attach their right dependents first, then their left
dependents, is also a binary tree of brackets. Its score is the product of the scores of the two models. EM fits each
model to the expected trees of the product. See docs/reference/models/ccm.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from induce.data.batches import SentenceBatch
from induce.models.base import Query
from induce.models.em.bracket_sums import random_split_probability
from induce.models.em.ccm import Ccm, CcmConfig, SpanScorer
from induce.models.em.dependency_tables import by_head
from induce.models.em.joint_sums import JointCounts, joint_counts
from induce.models.em.span_model import Spans
from induce.models.em.valence_grammar import NO_PREFERENCES, GrammarSums, SentenceBlock, Smoothing, ValenceGrammar
from induce.setting import limited
from induce.structures import HeadDistribution, SpanScores, Structure

LONGEST = 80  # words of a sentence whose sums fit into a gigabyte


@dataclass(frozen=True, kw_only=True)
class DmvCcmConfig(CcmConfig):
    """Settings of DMV+CCM."""

    longest: int = limited(10, 2, LONGEST, "longest sentences that are learned from")
    smooth_choose: float = limited(0.1, 1e-6, 1e6, "count added to every choice of a dependent")
    smooth_stop: float = limited(0.1, 1e-6, 1e6, "count added to every decision to stop")
    smooth_root: float = limited(0.1, 1e-6, 1e6, "count added to every root")


class DmvCcm(Ccm):
    """Product of a `Ccm` and a grammar with valence that is not extended, over the same K classes."""

    Config: ClassVar[type] = DmvCcmConfig
    gives: ClassVar[tuple[type[Structure], ...]] = (SpanScores, HeadDistribution)
    estimates_root = True
    max_length: ClassVar[int | None] = LONGEST
    power: ClassVar[int] = 4

    def __init__(self, config: DmvCcmConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        self.smoothing = Smoothing(config.smooth_root, config.smooth_choose, config.smooth_stop, extended=False)
        size, double = self.class_count, torch.float64
        self.register_buffer("root", torch.full((size,), 1 / size, dtype=double))
        self.register_buffer("stop", torch.full((size, 2, 2), 0.5, dtype=double))
        self.register_buffer("choose", torch.full((size, 2, 2, size), 1 / size, dtype=double))

    root: Tensor  # as in `ValenceGrammar`
    stop: Tensor
    choose: Tensor

    def grammar(self) -> ValenceGrammar:
        """The probabilities of the dependency model."""
        return ValenceGrammar(*(table.cpu().numpy() for table in (self.root, self.stop, self.choose)))

    def _learn(self, blocks: list[Spans], *, random: bool = False) -> float:
        """Replace the counts by the expected counts under both models and return the previous log-likelihood.

        With ``random``, count in harmonic heads and in random trees instead, which starts EM.
        """
        tables, sums = self.tables(), GrammarSums(NO_PREFERENCES)
        spans_seen, uses, total = tables.empty(), ValenceGrammar.zeros(self.class_count), np.zeros(1)
        scorer = SpanScorer(tables)
        for spans in self.group.share(blocks):
            entries, block = tables.entries(spans), _block(spans)
            if random:
                sums.add(uses, block, sums.harmonic_heads(block))
                brackets = random_split_probability(len(spans.classes))[..., None]
            else:
                expected, logs = self._brackets(scorer, spans, entries)
                sums.add(uses, block, expected.trees)
                brackets, total = expected.probability, total + logs.sum()
            spans_seen.add(spans, entries, spans.constituency(brackets))
        counted = spans_seen.sequences, spans_seen.contexts, uses.root, uses.stop, uses.choose
        self.group.add_up(*counted, total)
        grammar = ValenceGrammar.from_counts(uses, self.smoothing)
        for name, table in {
            **vars(grammar),
            "sequences": spans_seen.sequences,
            "contexts": spans_seen.contexts,
        }.items():
            getattr(self, name).copy_(torch.from_numpy(table))
        return float(total[0])

    def _brackets(self, scorer: SpanScorer, spans: Spans, entries: np.ndarray) -> tuple[JointCounts, np.ndarray]:
        """Expected counts of the trees under both models, and the log (B,) of the sum over the trees."""
        ratios, fixed = scorer.weights(spans, entries)
        expected = joint_counts(GrammarSums(NO_PREFERENCES).weights(self.grammar(), _block(spans)), ratios)
        return expected, expected.log_total + fixed

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """Probability of each bracket (B, N, N + 1), or of each head (B, N, N) with the root on the diagonal.

        Raises SynparseError for a sentence of more than 80 words: time and memory grow with the fourth power.
        """
        if query.structure is SpanScores:
            return super().structure(batch, query)
        self.check_lengths(batch)
        tokens, lengths = batch.tokens.cpu().numpy(), batch.lengths.cpu().numpy()
        heads = np.zeros((*tokens.shape, tokens.shape[1]))
        for rows, count, expected, _ in self._trees(tokens, lengths):
            assert isinstance(expected, JointCounts)
            arcs = by_head(expected.trees.first + expected.trees.later)
            arcs[np.arange(count), np.arange(count)] = expected.trees.root
            heads[rows, :count, :count] = arcs.transpose(2, 1, 0)
        return HeadDistribution(torch.from_numpy(heads).to(batch.tokens.device), batch.lengths)


def _block(spans: Spans) -> SentenceBlock:
    """The sentences of ``spans`` as input of a grammar."""
    count, batch = spans.classes.shape
    return SentenceBlock.of_classes(spans.classes, np.full(batch, count))
