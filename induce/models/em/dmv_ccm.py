"""Product of the dependency model with valence and the constituent-context model (Klein and Manning 2004).

Both models score the same tree. A dependency tree whose heads attach their right dependents first, then their left
dependents, is also a binary tree of brackets. Its score is the product of the scores of the two models. EM fits each
model to the expected trees of the product. See docs/reference/models/ccm.md.

A head attaches its right dependents first, from the nearest outwards, then its left dependents (Klein and Manning
2004). Each attachment makes a bracket over all words that the head covers at that point. A dependency tree of N words
is therefore a binary tree of N - 1 brackets. Its weight is the product of the weights of its arcs, stops, root and
brackets. With (i, j, h) for the words i up to j, j excluded, and the head h among them:

    right[h, j]   = bracket[h, j] Σ_k right[h, k] arcs[k, j, h]                      right[h, h + 1] = 1
    left[i, j, h] = bracket[i, j] Σ_{k≤h} arcs[i, k, h] left[k, j, h]                left[h, j, h] = right[h, j] stop
    done[i, j, h] = left[i, j, h] stop[h, left, i < h]
    arcs[k, j, h] = Σ_c arc[h, c] done[k, j, c]                                      h outside of k … j
    Z             = Σ_h root[h] done[0, N, h]

``arcs`` sums over the dependent before the split point is known (Eisner and Satta 1999), so time grows with N^4. An arc
is the first of its head on that side if and only if the span of the dependent is next to the head. All sums are
logarithms, and expected uses are derivatives by autograd.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.models.base import CountSharing, Query
from induce.models.em.ccm import BracketCounts, Ccm, CcmConfig, Spans, SpanScorer, random_split_probability
from induce.models.em.dependency_tables import Array, TreeCounts, TreeWeights, by_head
from induce.models.em.valence_grammar import NO_PREFERENCES, GrammarSums, SentenceBlock, Smoothing, ValenceGrammar
from induce.setting import limited
from induce.structures import HeadDistribution, SpanScores, Structure

LOWEST = -1e30  # replaces log 0, which has no derivative


@dataclass(frozen=True)
class JointCounts(BracketCounts):
    """Expected brackets, and expected uses of arcs, stops and roots."""

    trees: TreeCounts


def joint_counts(weights: TreeWeights, log_brackets: Array) -> JointCounts:
    """Expected counts of B sentences of N words, from positive weights and log weights of brackets (N, N + 1, B)."""
    tables = [np.log(np.maximum(table, 1e-300)) for table in (weights.first, weights.later, weights.stop, weights.root)]
    with torch.enable_grad(), torch.inference_mode(False):
        logs = [torch.from_numpy(table).requires_grad_() for table in (*tables, log_brackets.copy())]
        total = joint_log_total(*logs)
        gradients = torch.autograd.grad(total.sum(), logs, allow_unused=True)
    uses = [np.zeros(log.shape) if count is None else count.numpy() for log, count in zip(logs, gradients, strict=True)]
    first, later, stop, root, brackets = uses
    log_total = total.detach().numpy()
    return JointCounts(brackets, log_total, TreeCounts(first, later, stop, root, log_total))


def joint_log_total(first: Tensor, later: Tensor, stop: Tensor, root: Tensor, brackets: Tensor) -> Tensor:
    """Log Z (B,), from the logs of the weights in the shapes of `TreeWeights` and of brackets (N, N + 1, B)."""
    count = len(root)
    words = torch.arange(count)
    first, later = _by_pair(first), _by_pair(later)
    stops = torch.stack([stop[0], stop[1].flip(0)])  # (2, N, 2, B) of [side, head, v]
    right, left, under = [root * 0], list[Tensor](), list[Tensor]()  # entry width - 1: (spans, [heads,] B)
    for width in range(1, count + 1):
        starts = words[: count - width + 1]
        weight = brackets[starts, starts + width]  # (spans, B)
        if width > 1:
            ways = [right[k - 1][starts] + under[width - k - 1][starts + k, starts] for k in range(1, width)]
            right.append(weight + torch.logsumexp(torch.stack(ways), 0))
        at_left = right[width - 1] + stops[0, starts, min(width - 1, 1)]  # (spans, B): the head is the first word
        ways = []  # for the other heads, in their order
        for k in range(1, width):  # words of the outermost left dependent's span; the head follows it
            heads = starts[:, None] + torch.arange(k, width)
            part = under[k - 1][starts[:, None], heads] + left[width - k - 1][starts + k]
            ways.append(functional.pad(part, (0, 0, k - 1, 0), value=LOWEST))
        others = [weight[:, None] + torch.logsumexp(torch.stack(ways), 0)] if ways else []
        left.append(torch.cat([at_left[:, None], *others], 1))
        heads = starts[:, None] + words[:width]  # (spans, width)
        has_left = (words[:width] > 0).long().expand_as(heads)
        done = left[width - 1] + stops[1, heads, has_left]
        # arcs (spans, N, B) for each word outside a span as the head of the span's head; those inside are never read
        above, spans = words[:, None], heads[:, None]  # (N, 1), (spans, 1, width)
        adjacent = (above == spans[..., :1] - 1) | (above == spans[..., -1:] + 1)  # (spans, N, 1)
        arcs = torch.where(adjacent[..., None], first[above, spans], later[above, spans])
        under.append(torch.logsumexp(arcs + done[:, None], 2))
    return torch.logsumexp(root + done[0], 0)


def _by_pair(table: Tensor) -> Tensor:
    """Convert [side, word, width, B] (see `dependency_sums`) to [head, dependent, B], with `LOWEST` on the diagonal."""
    count = table.shape[1]
    head, child = torch.arange(count)[:, None], torch.arange(count)
    side = (child < head).long()
    pairs = table[side, torch.where(side > 0, count - 1 - head, head), (child - head).abs()]
    return torch.where((head == child)[..., None], torch.tensor(LOWEST, dtype=table.dtype), pairs)


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

    def _learn(self, blocks: list[Spans], group: CountSharing, *, random: bool = False) -> float:
        """Replace the counts by the expected counts under both models and return the previous log-likelihood.

        With ``random``, count in harmonic heads and in random trees instead, which starts EM.
        """
        tables, sums = self.tables(), GrammarSums(NO_PREFERENCES)
        spans_seen, uses, total = tables.empty(), ValenceGrammar.zeros(self.class_count), np.zeros(1)
        scorer = SpanScorer(tables)
        for spans in group.share(blocks):
            entries, block = tables.entries(spans), _block(spans)
            if random:
                sums.add(uses, block, sums.harmonic_heads(block))
                brackets = random_split_probability(len(spans.classes))[..., None]
            else:
                expected, logs = self.expected_brackets(scorer, spans, entries)
                sums.add(uses, block, expected.trees)
                brackets, total = expected.probability, total + logs.sum()
            spans_seen.add(spans, entries, spans.constituency(brackets))
        counted = spans_seen.sequences, spans_seen.contexts, uses.root, uses.stop, uses.choose
        group.add_up(*counted, total)
        grammar = ValenceGrammar.from_counts(uses, self.smoothing)
        for name, table in {
            **vars(grammar),
            "sequences": spans_seen.sequences,
            "contexts": spans_seen.contexts,
        }.items():
            getattr(self, name).copy_(torch.from_numpy(table))
        return float(total[0])

    def expected_brackets(
        self, scorer: SpanScorer, spans: Spans, entries: np.ndarray
    ) -> tuple[JointCounts, np.ndarray]:
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
