"""Simple PCFG: a grammar that draws the two children of a rule one by one (Liu, Yang, Kim and Tu 2023).

With p(A -> B C) = left[A, B] right[A, C], the inside probabilities of a span are multiplied by both matrices once, by
one product; what remains for each split is a product of S numbers:

    b(i, j) = w(i, j) sum_k l(i, k) * r(k, j)   with   l = left b, r = right b

The outside pass, with a(i, j) the gradient of Z at b(i, j): the gradient at l(i, k) is the sum over j of
a(i, j) * r(k, j), that at r(k, j) the sum over i of a(i, j) * l(i, k), and a = left^T dl + right^T dr. Tables lie
width-first, so that l and r of all spans of a width, and their gradients, are matrices without gaps.

``docs/reference/models/npcfg.md`` maps the paper's equations to these functions. Shapes as in
`induce.models.grammars.grammar`; M = S + T symbols.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn

from induce.models.grammars.best_trees import Child, Maxima, Ways
from induce.models.grammars.grammar import Grammar, GrammarConfig, Tables, perceptron, spread_weights
from induce.models.grammars.rules import KernelRules, SpanWeights, draw_index, gradient, product
from induce.setting import limited

CACHE_NUMBERS = 300_000  # larger sums over splits are computed split by split
MAXIMA_NUMBERS = 4_000_000  # in one table of rules times spans


class SimpleChart(NamedTuple):
    """Tables of the inside pass that the outside pass needs."""

    phrases: Tensor  # (S, 2 S): left and right for a child that is a phrase, transposed; or (B, S, 2 S)
    words: Tensor  # (T, 2 S): for a child that is a word; or (B, T, 2 S)
    as_left: Tensor  # (N, N, B, S): width, start
    as_right: Tensor  # (N, N + 1, B, S): N - width, end
    inside: list[Tensor]  # by width: (spans, B, S); the first two are empty


class SimpleOutside(NamedTuple):
    """Gradients of Z at inside probabilities, and at both factors of the splits."""

    by_width: list[Tensor]  # (spans, B, S)
    factors: list[Tensor]  # by width: (spans, B, 2 S), of the spans that are children


@dataclass(frozen=True, eq=False)
class SimpleRules(KernelRules):
    """Rules whose children are drawn one by one: ``left`` and ``right`` (S, M), or (B, S, M)."""

    left: Tensor
    right: Tensor

    def table(self) -> Tensor:
        """Probabilities (S, M, M) or (B, S, M, M) of all rules A -> B C: p(B | A) p(C | A)."""
        return self.left[..., :, None] * self.right[..., None, :]

    @cached_property
    def factors(self) -> tuple[Tensor, Tensor]:
        """Both tables of children that are phrases (S, 2 S) and words (T, 2 S), or with a leading (B,)."""
        both, size = torch.cat([self.left, self.right], -2).transpose(-1, -2), self.root.shape[-1]
        return both[..., :size, :].contiguous(), both[..., size:, :].contiguous()

    def maxima(self) -> Maxima:
        """Maxima over each child by itself."""
        return SimpleMaxima(self.left.log(), self.right.log())

    def draw_children(self, parent: int, generator: torch.Generator) -> tuple[int, int]:
        """Each child by itself."""
        return draw_index(self.left[parent], generator), draw_index(self.right[parent], generator)

    def inside_chart(self, emissions: Tensor, weights: SpanWeights, *, keep: bool) -> tuple[Tensor, SimpleChart]:
        """Z (B,) and the chart, whose ``inside`` is ordered by width. ``keep`` has no effect."""
        count, batch, _ = emissions.shape
        size = self.root.shape[-1]
        phrases, words = self.factors
        as_left = emissions.new_empty(count, count, batch, size)
        as_right = emissions.new_empty(count, count + 1, batch, size)
        charts = [emissions.new_zeros(0), emissions.new_zeros(0)]
        factors = product(emissions, words)
        for width in range(1, count + 1):
            spans = count - width + 1
            if width > 1:
                x = sum_of_products(as_left[1:width, :spans], as_right[count - width + 1 :, width:])
                if weights is not None:
                    x *= weights[width]
                charts.append(x)
                if width == count:
                    break
                factors = product(x, phrases)
            as_left[width, :spans] = factors[..., :size]
            as_right[count - width, width:] = factors[..., size:]
        return (charts[count][0] * self.root).sum(-1), SimpleChart(phrases, words, as_left, as_right, charts)

    def outside(self, d: Tensor, chart: SimpleChart, weights: SpanWeights) -> SimpleOutside:
        """Gradients at the inside probabilities before their weights, for the gradient ``d`` (B,) at Z."""
        count = len(chart.as_left)
        at_left, at_right = torch.zeros_like(chart.as_left), torch.zeros_like(chart.as_right)
        by_width, factors = [d.new_zeros(0)] * (count + 1), [d.new_zeros(0)] * (count + 1)
        a = (d[:, None] * self.root)[None]
        for width in range(count, 0, -1):
            spans = count - width + 1
            if width < count:
                factors[width] = torch.cat([at_left[width, :spans], at_right[count - width, width:]], -1)
                if width == 1:
                    break
                a = product(factors[width], chart.phrases.transpose(-1, -2))
            if weights is not None:
                a = a * weights[width]
            by_width[width] = a
            narrow, wide = slice(1, width), slice(count - width + 1, count)
            add_products(at_left[narrow, :spans], a, chart.as_right[wide, width:])
            add_products(at_right[wide, width:], a, chart.as_left[narrow, :spans])
        return SimpleOutside(by_width, factors)

    def gradients(self, emissions: Tensor, d: Tensor, chart: SimpleChart, outside: SimpleOutside) -> tuple[Tensor, ...]:
        """Gradients at emissions (N, B, T) and at each field, for the gradient ``d`` (B,) at Z."""
        count, size, rank = len(emissions), self.root.shape[-1], chart.words.dim()
        whole = chart.inside[count][0]
        d_root = d @ whole if self.root.dim() == 1 else d[:, None] * whole
        d_emissions = product(outside.factors[1], chart.words.transpose(-1, -2))
        d_words = gradient(emissions, outside.factors[1], rank)
        d_phrases = torch.zeros_like(chart.phrases)
        if count > 2:
            d_phrases = gradient(torch.cat(chart.inside[2:count]), torch.cat(outside.factors[2:count]), rank)
        d_both = torch.cat([d_phrases, d_words], -2).transpose(-1, -2)
        return d_emissions, d_root, d_both[..., :size, :].contiguous(), d_both[..., size:, :].contiguous()


@dataclass(frozen=True)
class SimpleMaxima:
    """Logarithms of ``left`` and ``right`` (S, M) or (B, S, M): the best child on each side is independent."""

    left: Tensor
    right: Tensor

    def parents(self, lefts: Tensor, rights: Tensor) -> Tensor:
        """Best log probabilities (B, spans, S) of parents, given those of their children (B, spans, splits, M)."""
        return (best_child(lefts, self.left) + best_child(rights, self.right)).amax(2)

    def children(self, sentence: int, parent: int, lefts: Tensor, rights: Tensor) -> tuple[int, int, int]:
        """Best split of one span and the symbols of both children, for one parent and children (splits, M)."""
        left, right = (part if part.dim() == 2 else part[sentence] for part in (self.left, self.right))
        left_best, right_best = (lefts + left[parent]).max(-1), (rights + right[parent]).max(-1)
        split = int((left_best.values + right_best.values).argmax())
        return split, int(left_best.indices[split]), int(right_best.indices[split])

    def ways(self, left: Child, right: Child, k: int) -> Ways:
        """The best ways to build spans of these children, if the rules (S, M) are those of one sentence."""
        (left_total, left_rule, left_symbol), (right_total, right_rule, right_symbol) = (
            best_children(child, rules, k) for child, rules in ((left, self.left), (right, self.right))
        )
        totals = left_total[..., :, None] + right_total[..., None, :]
        best = totals.flatten(2).topk(min(k, totals[0, 0].numel()))
        lefts, rights = best.indices // totals.shape[3], best.indices % totals.shape[3]
        rule = left_rule.gather(2, lefts) + right_rule.gather(2, rights)
        return Ways(best.values, rule, left_symbol.gather(2, lefts), right_symbol.gather(2, rights))


def best_children(child: Child, rules: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The ``k`` best symbols of a child for each parent: totals, log probabilities of rules (S, M), and symbols.

    Each is (spans, S, at most k), best first.
    """
    parts = []
    for scores in child.scores:  # one span at a time, since its table is as large as the rules
        single = Child(scores[None], child.is_word)
        logs = single.rules(rules[None], 2)
        best = (logs + single.phrases()[:, None]).topk(min(k, logs.shape[2]))
        parts.append((best.values, logs.gather(2, best.indices), best.indices))
    totals, logs, symbols = map(torch.cat, zip(*parts, strict=True))
    return totals, logs, symbols


def best_child(children: Tensor, rules: Tensor) -> Tensor:
    """Maxima (B, spans, splits, S) of ``rules`` (S, M) or (B, S, M) plus ``children`` (B, spans, splits, M)."""
    table = rules if rules.dim() == 2 else rules[:, None, None]
    if rules.dim() == 3 or children.numel() * rules.shape[-2] <= MAXIMA_NUMBERS:
        return (children[..., None, :] + table).amax(-1)
    flat = children.flatten(0, -2)
    step = max(1, MAXIMA_NUMBERS // rules.numel())
    parts = [(rows[:, None] + rules).amax(-1) for rows in flat.split(step)]
    return torch.cat(parts).view(*children.shape[:-1], -1)


def sum_of_products(x: Tensor, y: Tensor) -> Tensor:
    """The sum over the first axis of ``x * y``."""
    if x.numel() <= CACHE_NUMBERS:
        return (x * y).sum(0)
    total = x[0] * y[0]
    for factor, other in zip(x[1:], y[1:], strict=True):
        total.addcmul_(factor, other)
    return total


def add_products(total: Tensor, a: Tensor, x: Tensor) -> None:
    """``total += a * x``, where ``a`` has no first axis."""
    if x.numel() <= CACHE_NUMBERS:
        total.addcmul_(a[None], x)
        return
    for target, factor in zip(total, x, strict=True):
        target.addcmul_(a, factor)


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
