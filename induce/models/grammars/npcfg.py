"""Neural PCFG and compound PCFG: grammars whose rule probabilities come from embeddings (Kim, Dyer and Rush 2019).

`FullRules` has the inside and outside passes of rules A -> B C with a probability for each triple. Only two types of
product cost more than S² per split. For a span of w words, with K = w - 3 ways to split it into two phrases, the
outer products of the children are summed first, M = sum_k b(i, k) b(k, j)^T (S² K), and the rules are applied once
(S³). Rules with words as children are contracted with the emissions once per word, not once per span:
``left_word[i]`` (S, S) maps a phrase that begins after word i to the phrase of both, ``right_word[j]`` one that ends
before word j, and ``pair[i]`` (T, S) the emissions of word i + 1 to the phrase of words i and i + 1.

The outside pass is the same in reverse. With a(i, j) the gradient of Z at b(i, j), rows of the chart from wide to
narrow: dM = a(i, j) rules^T gives both phrases, a(i, k) += dM b(k, j) and a(k, j) += dM^T b(i, k). Gradients of what
belongs to a word or to the rules are sums over spans; they are taken after the pass, in one product each.

``docs/reference/models/npcfg.md`` maps the equations of the paper to these functions. Shapes as in
`induce.models.grammars.grammar`; M = S + T symbols, Z numbers in the vector of a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn

from induce.models.grammars.grammar import Grammar, GrammarConfig, Tables, perceptron, spread_weights
from induce.models.grammars.rules import KernelRules, SpanWeights, gradient, product
from induce.setting import limited


class Blocks(NamedTuple):
    """Rules by the type of their children, parents last, with a leading (B,) for one grammar per sentence."""

    phrases: Tensor  # (S S, S): both children are phrases
    left_word: Tensor  # (T, S S): by the left child, then the right one and the parent
    right_word: Tensor  # (T, S S): by the right child, then the left one and the parent
    words: Tensor  # (T, T S)


class FullChart(NamedTuple):
    """Tables of the inside pass that the outside pass needs."""

    blocks: Blocks
    left_word: Tensor  # (N, B, S, S)
    right_word: Tensor  # (N, B, S, S)
    pair: Tensor  # (N - 1, B, T, S)
    by_start: Tensor  # (N, B, N, S): start, width
    by_end: Tensor  # (N + 1, B, N, S): end, N - width
    inside: list[Tensor]  # by width: (spans, B, S); the first two are empty
    outer: Tensor | None  # (spans of four or more words, B, S S): sums of outer products of phrases, narrow spans first


class FullOutside(NamedTuple):
    """Gradients of Z at inside probabilities, in three orders."""

    by_width: list[Tensor]  # (spans, B, S)
    by_start: Tensor  # (N, B, N + 1, S): start, width
    by_end: Tensor  # (N + 1, B, N, S): end, N - width


@dataclass(frozen=True, eq=False)
class FullRules(KernelRules):
    """Rules A -> B C with a probability for each triple: ``rules`` (S, M, M), or (B, S, M, M)."""

    rules: Tensor

    def table(self) -> Tensor:
        """Probabilities (S, M, M) or (B, S, M, M) of all rules A -> B C."""
        return self.rules

    @cached_property
    def blocks(self) -> Blocks:
        """The rules by the type of their children."""
        return split_rules(self.rules)

    def inside_chart(self, emissions: Tensor, weights: SpanWeights, *, keep: bool) -> tuple[Tensor, FullChart]:
        """Z (B,) and the chart, whose ``inside`` is ordered by width.

        With ``keep``, the chart contains everything that `gradients` needs.
        """
        count, batch, words = emissions.shape
        size = self.root.shape[-1]
        blocks = self.blocks
        left_word = product(emissions, blocks.left_word).view(count, batch, size, size)
        right_word = product(emissions, blocks.right_word).view(count, batch, size, size)
        pair = product(emissions[:-1], blocks.words).view(count - 1, batch, words, size)
        by_start = emissions.new_zeros(count, batch, count, size)
        by_end = emissions.new_zeros(count + 1, batch, count, size)
        outers = emissions.new_empty((count - 2) * (count - 3) // 2, batch, size * size) if keep and count > 3 else None
        charts = [emissions.new_zeros(0), emissions.new_zeros(0)]
        filled = 0
        for width in range(2, count + 1):
            spans = count - width + 1
            if width == 2:
                x = torch.bmm(emissions[1:].reshape(spans * batch, 1, words), pair.view(-1, words, size))
            else:
                narrower = charts[width - 1]
                x = torch.bmm(narrower[1:].view(-1, 1, size), left_word[:spans].view(-1, size, size))
                x.baddbmm_(narrower[:-1].view(-1, 1, size), right_word[width - 1 :].view(-1, size, size))
            x = x.view(spans, batch, size)
            if width > 3:
                lefts = by_start[:spans, :, 2 : width - 1].reshape(spans * batch, width - 3, size)
                rights = by_end[width:, :, count - width + 2 : count - 1].reshape(spans * batch, width - 3, size)
                into = None if outers is None else outers[filled : filled + spans].view(spans * batch, size, size)
                outer = torch.bmm(lefts.transpose(1, 2), rights, out=into).view(spans, batch, size * size)
                filled += spans
                x += product(outer, blocks.phrases)
            if weights is not None:
                x *= weights[width]
            charts.append(x)
            if width < count:
                by_start[:spans, :, width] = x
                by_end[width:, :, count - width] = x
        chart = FullChart(blocks, left_word, right_word, pair, by_start, by_end, charts, outers)
        return (charts[count][0] * self.root).sum(-1), chart

    def outside(self, d: Tensor, chart: FullChart, weights: SpanWeights) -> FullOutside:
        """Gradients at the inside probabilities before their weights, for the gradient ``d`` (B,) at Z.

        An entry of a table first adds up the gradients from wider spans in which its span is the left or right child.
        Once all wider spans are done, the sum over both tables replaces the entry.
        """
        blocks, count = chart.blocks, len(chart.left_word)
        batch, size = chart.by_start.shape[1], chart.by_start.shape[3]
        by_start = d.new_zeros(count, batch, count + 1, size)
        by_end = torch.zeros_like(chart.by_end)
        by_width = [d.new_zeros(0)] * (count + 1)
        a = (d[:, None] * self.root)[None]
        for width in range(count, 1, -1):
            spans = count - width + 1
            if width < count:  # `a` holds what the spans with one word more give
                a = a + by_start[:spans, :, width] + by_end[width:, :, count - width]
            if weights is not None:
                a = a * weights[width]
            by_width[width] = by_start[:spans, :, width] = by_end[width:, :, count - width] = a
            if width == 2:
                break
            if width > 3:
                inner, outer = slice(2, width - 1), slice(count - width + 2, count - 1)
                d_outer = product(a, blocks.phrases.transpose(-1, -2)).view(spans * batch, size, size)
                lefts = chart.by_start[:spans, :, inner].reshape(spans * batch, width - 3, size)
                rights = chart.by_end[width:, :, outer].reshape(spans * batch, width - 3, size)
                by_start[:spans, :, inner] += torch.bmm(rights, d_outer.transpose(1, 2)).view(spans, batch, -1, size)
                by_end[width:, :, outer] += torch.bmm(lefts, d_outer).view(spans, batch, -1, size)
            column = a.view(spans * batch, size, 1)
            narrower = a.new_zeros(spans + 1, batch, size)
            narrower[1:] = torch.bmm(chart.left_word[:spans].view(-1, size, size), column).view(spans, batch, size)
            narrower[:-1] += torch.bmm(chart.right_word[width - 1 :].view(-1, size, size), column).view(
                spans, batch, size
            )
            a = narrower
        return FullOutside(by_width, by_start, by_end)

    def gradients(self, emissions: Tensor, d: Tensor, chart: FullChart, outside: FullOutside) -> tuple[Tensor, ...]:
        """Gradients at emissions (N, B, T) and at each field, for the gradient ``d`` (B,) at Z."""
        count, batch, words = emissions.shape
        size = self.root.shape[-1]
        blocks = chart.blocks
        whole = chart.inside[count][0]
        d_root = d @ whole if self.root.dim() == 1 else d[:, None] * whole
        d_left, d_right = torch.zeros_like(chart.left_word), torch.zeros_like(chart.right_word)
        if count > 2:
            # a word before the phrases that begin after it, and after those that end before it; all widths at once
            phrases = chart.by_start[1:, :, 2:].reshape(-1, count - 2, size).transpose(1, 2)
            parents = outside.by_start[:-1, :, 3:].reshape(-1, count - 2, size)
            d_left[:-1] = torch.bmm(phrases, parents).view(count - 1, batch, size, size)
            phrases = chart.by_end[1:-1, :, 1:-1].reshape(-1, count - 2, size).transpose(1, 2)
            parents = outside.by_end[2:, :, :-2].reshape(-1, count - 2, size)
            d_right[1:] = torch.bmm(phrases, parents).view(count - 1, batch, size, size)
        d_left, d_right = d_left.view(count, batch, -1), d_right.view(count, batch, -1)
        of_pairs = outside.by_width[2]
        d_pair = (emissions[1:, :, :, None] * of_pairs[:, :, None]).view(count - 1, batch, words * size)
        d_emissions = product(d_left, blocks.left_word.transpose(-1, -2))
        d_emissions += product(d_right, blocks.right_word.transpose(-1, -2))
        d_emissions[:-1] += product(d_pair, blocks.words.transpose(-1, -2))
        d_emissions[1:] += (chart.pair @ of_pairs[..., None])[..., 0]
        d_phrases = torch.zeros_like(blocks.phrases)
        if chart.outer is not None:
            wide = torch.cat(outside.by_width[4:])
            d_phrases = gradient(wide, chart.outer, blocks.phrases.dim()).transpose(-1, -2)
        rank = blocks.words.dim()
        d_blocks = Blocks(
            d_phrases,
            gradient(emissions, d_left, rank),
            gradient(emissions, d_right, rank),
            gradient(emissions[:-1], d_pair, rank),
        )
        return d_emissions, d_root, join_rules(d_blocks, size, words)


def split_rules(rules: Tensor) -> Blocks:
    """The blocks of ``rules`` (..., S, M, M)."""
    size = rules.shape[-3]
    words = rules.shape[-1] - size
    parents_last = rules.movedim(-3, -1)  # (..., M, M, S)
    lead = rules.shape[:-3]
    return Blocks(
        parents_last[..., :size, :size, :].reshape(*lead, size * size, size),
        parents_last[..., size:, :size, :].reshape(*lead, words, size * size),
        parents_last[..., :size, size:, :].transpose(-3, -2).reshape(*lead, words, size * size),
        parents_last[..., size:, size:, :].reshape(*lead, words, words * size),
    )


def join_rules(blocks: Blocks, size: int, words: int) -> Tensor:
    """Inverse of `split_rules` for gradients, (..., S, M, M)."""
    lead = blocks.phrases.shape[:-2]
    rules = blocks.phrases.new_empty(*lead, size + words, size + words, size)
    rules[..., :size, :size, :] = blocks.phrases.reshape(*lead, size, size, size)
    rules[..., size:, :size, :] = blocks.left_word.view(*lead, words, size, size)
    rules[..., :size, size:, :] = blocks.right_word.view(*lead, words, size, size).transpose(-3, -2)
    rules[..., size:, size:, :] = blocks.words.view(*lead, words, words, size)
    return rules.movedim(-1, -3)


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


@dataclass(frozen=True, kw_only=True)
class CpcfgConfig(GrammarConfig):
    """Sizes of a compound PCFG, with the defaults of the paper."""

    latent_size: int = limited(64, 1, 100_000, "size of the vector of a sentence")
    encoder_size: int = limited(
        512, 1, 100_000, "units of a word embedding and of each direction of the encoder's LSTM"
    )


class CompoundPcfg(Grammar):
    """Compound PCFG: z ~ N(0, I) for each sentence, and every rule is a network of its symbol and z.

    Training maximizes the evidence lower bound with one sample of q(z | sentence) = N(mean, variance). Parsing and
    log-probabilities use the mean. The likelihood given z is summed over all trees exactly.
    """

    Config = CpcfgConfig
    shares_rules = False

    def __init__(self, config: CpcfgConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        size, latent = config.embedding_size, config.latent_size
        self.start = nn.Parameter(torch.empty(1, size))
        self.nonterminal = nn.Parameter(torch.empty(config.nonterminals, size))
        self.preterminal = nn.Parameter(torch.empty(config.preterminals, size))
        self.root = perceptron(size + latent, size, config.nonterminals)
        self.rules = nn.Linear(size + latent, (config.nonterminals + config.preterminals) ** 2)
        self.words = perceptron(size + latent, size, vocabulary_size)
        self.embedding = nn.Embedding(vocabulary_size, config.encoder_size)
        self.encoder = nn.LSTM(config.encoder_size, config.encoder_size, bidirectional=True, batch_first=True)
        self.latent = nn.Linear(2 * config.encoder_size, 2 * latent)
        spread_weights(self)

    def posterior(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the variance (B, Z) of q(z | sentence): the LSTM's maxima over words."""
        outputs, _ = self.encoder(self.embedding(tokens))
        mean, log_variance = self.latent(outputs.amax(1)).chunk(2, -1)
        return mean, log_variance

    def tables(self, tokens: Tensor) -> Tables:
        """A grammar for each sentence, and the divergence KL(q || N(0, I)) (B,)."""
        mean, log_variance = self.posterior(tokens)
        divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(-1)
        z = mean + (log_variance / 2).exp() * torch.randn_like(mean) if self.training else mean
        return self._tables_of(z)._replace(divergence=divergence)

    def draw_tables(self, generator: torch.Generator) -> Tables:
        """Grammar of one sentence, whose vector is drawn from N(0, I)."""
        tables = self._tables_of(torch.randn(1, self.config.latent_size, generator=generator))
        return Tables(tables.emissions[0], type(tables.rules)(*(part[0] for part in tables.rules)))

    def _tables_of(self, z: Tensor) -> Tables:
        """A grammar for each vector ``z`` (B, Z)."""
        symbols = self.config.nonterminals + self.config.preterminals
        root = self.root(_concatenate_pairs(self.start, z))[:, 0].softmax(-1)
        rules = self.rules(_concatenate_pairs(self.nonterminal, z)).softmax(-1)
        words = self.words(_concatenate_pairs(self.preterminal, z)).log_softmax(-1)  # (B, T, V)
        shaped = rules.view(len(z), self.config.nonterminals, symbols, symbols)
        return Tables(words.transpose(1, 2), FullRules(root, shaped))


def _concatenate_pairs(symbols: Tensor, z: Tensor) -> Tensor:
    """Concatenation of each symbol's embedding (K, E) with each sentence's vector (B, Z): (B, K, E + Z)."""
    rows = (len(z), len(symbols), -1)
    return torch.cat([symbols[None].expand(rows), z[:, None].expand(rows)], -1)
