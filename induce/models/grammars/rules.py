"""Inside probabilities of sentences under a grammar, with hand-written outside passes; span marginals.

A grammar has S nonterminals and T preterminals, M = S + T symbols, nonterminals first. A word has one preterminal, a
span of two or more words a nonterminal, and the whole sentence is drawn from ``root``. With b(i, j) (S,) the inside
probabilities of the words i to j - 1, b(i, i + 1) (T,) the emissions of a word, and w(i, j) the weight of a span,

- full (Kim et al. 2019):    b(i, j)[A] = w(i, j) sum_k sum_BC rules[A, B, C] b(i, k)[B] b(k, j)[C]
- simple (Liu et al. 2023):  b(i, j)[A] = w(i, j) sum_k (left[A] . b(i, k)) (right[A] . b(k, j))

and Z = root . b(0, N). `induce.models.grammars.inside_full` and `induce.models.grammars.inside_simple` compute them
on probabilities
and by matrix products, all spans of a width and all sentences of a batch at once; no logarithm is inside the chart.
That is safe since emissions arrive scaled: each word's are divided by their mean and multiplied by exp(growth), about
what a word's rules cost, so that inside probabilities of long spans neither vanish nor overflow. Where they do, the
batch is computed once more in float64, with a growth of each sentence's own that is read off its chart. Scales are
constants that cancel: gradients and marginals do not depend on them.

Charts lie start-first or width-first, (N, B, ...), so that all spans of one width are a slice, and in two copies, one
by where spans start and one by where they end: what begins where another ends is then a slice times a slice.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from induce.models.grammars import inside_full, inside_simple
from induce.models.grammars.rule_products import SpanWeights

SAFE = {torch.float32: 60.0, torch.float64: 500.0}  # |log Z| of a scaled sentence beyond which it is not trusted
ATTEMPTS = 12


class FullRules(NamedTuple):
    """Probabilities: ``root`` (S,) and ``rules`` (S, M, M), or one grammar a sentence, (B, S) and (B, S, M, M)."""

    root: Tensor
    rules: Tensor


class SimpleRules(NamedTuple):
    """Probabilities: ``root`` (S,), ``left`` and ``right`` (S, M), or one grammar a sentence, with a leading (B,)."""

    root: Tensor
    left: Tensor
    right: Tensor


Rules = FullRules | SimpleRules


def log_partition(
    emissions: Tensor, rules: Rules, *, weights: Tensor | None = None, growth: float | Tensor = 0.0
) -> Tensor:
    """log Z (B,) in nats of sentences of one length; differentiable in emissions and rules.

    ``emissions`` (B, N, T): log probabilities of each word given each preterminal, N at least 2. ``weights``
    (B, N, N + 1): of each span of two or more words, at least 0. ``growth``: the scale described above, for all or
    (B,); any number gives the same result, a bad one more slowly. -inf where the weights leave no tree.
    """
    scaled, scale = _scale(emissions, growth)
    log_z: Tensor = _Inside.apply(_kind(rules), weights, scaled, *rules).log()
    if not _trusted(log_z):
        growth = _fitting_growth(emissions, rules, weights, growth)
        scaled, scale = _scale(emissions.double(), growth)
        log_z = _Inside.apply(_kind(rules), weights, scaled, *(part.double() for part in rules)).log()
        return (log_z + scale).to(emissions.dtype)
    return log_z + scale


@torch.no_grad()
def span_marginals(
    emissions: Tensor, rules: Rules, *, weights: Tensor | None = None, growth: float | Tensor = 0.0
) -> tuple[Tensor, Tensor]:
    """log Z (B,) and P(span i, j | sentence) (B, N, N + 1) for spans of two or more words, 0 elsewhere.

    Arguments as of `log_partition`. A sentence's marginals sum to N - 1; they are 0 where there is no tree.
    """
    log_z, shares = symbol_marginals(emissions, rules, weights=weights, growth=growth)
    batch, count, _ = emissions.shape
    marginals = emissions.new_zeros(batch, count, count + 1)
    for width in range(2, count + 1):
        marginals.diagonal(width, 1, 2).copy_(shares[width].sum(-1).t())
    return log_z, marginals


@torch.no_grad()
def symbol_marginals(
    emissions: Tensor, rules: Rules, *, weights: Tensor | None = None, growth: float | Tensor = 0.0
) -> tuple[Tensor, list[Tensor]]:
    """log Z (B,), and for each width (spans, B, S) how probable each nonterminal is over each span, by its start.

    Arguments as of `log_partition`; there is nothing for widths below 2.
    """
    kind = _kind(rules)
    scaled, scale = _scale(emissions, growth)
    by_width = _by_width(weights, scaled.dtype)
    z, chart = kind.inside(scaled, *rules, by_width, keep=False)
    if not _trusted(z.log()):
        growth = _fitting_growth(emissions, rules, weights, growth)
        rules = type(rules)(*(part.double() for part in rules))
        scaled, scale = _scale(emissions.double(), growth)
        by_width = _by_width(weights, scaled.dtype)
        z, chart = kind.inside(scaled, *rules, by_width, keep=False)
    gradients = kind.outside(rules.root, torch.where(z > 0, 1 / z, 0.0), chart, by_width).by_width
    shares = [scaled.new_zeros(0)] * 2
    for width in range(2, emissions.shape[1] + 1):
        # inside probabilities hold the weight already, gradients at them before their weights hold it too: once only
        share = gradients[width] * chart.inside[width]
        if by_width is not None:
            share = share / by_width[width].clamp_min(torch.finfo(share.dtype).tiny)
        shares.append(share)
    return (z.log() + scale).to(emissions.dtype), shares


def word_costs(emissions: Tensor, log_z: Tensor) -> Tensor:
    """What the rules cost a word (B,) in nats, on average: the growth that suits such sentences.

    ``emissions`` (B, N, T) and ``log_z`` (B,) as of `log_partition`.
    """
    scale = emissions.logsumexp(-1).sum(1) - emissions.shape[1] * math.log(emissions.shape[2])
    return (scale - log_z) / emissions.shape[1]


class _Inside(torch.autograd.Function):
    """Z (B,) of scaled emissions (N, B, T); the backward pass is the outside pass."""

    @staticmethod
    def forward(ctx: Any, kind: ModuleType, weights: Tensor | None, emissions: Tensor, *rules: Tensor) -> Tensor:
        ctx.kind, ctx.weights = kind, _by_width(weights, emissions.dtype)
        z, ctx.chart = kind.inside(emissions, *rules, ctx.weights, keep=True)
        ctx.save_for_backward(emissions, rules[0])
        return z

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor | None, ...]:
        emissions, root = ctx.saved_tensors
        a = ctx.kind.outside(root, d, ctx.chart, ctx.weights)
        gradients = ctx.kind.gradients(emissions, root, d, ctx.chart, a)
        ctx.chart = None
        return None, None, *gradients


def _kind(rules: Rules) -> ModuleType:
    return inside_full if isinstance(rules, FullRules) else inside_simple


def _scale(emissions: Tensor, growth: float | Tensor) -> tuple[Tensor, Tensor]:
    """Scaled emissions (N, B, T), and the logarithm of what was taken off each sentence (B,)."""
    each = emissions.detach().logsumexp(-1) - math.log(emissions.shape[-1])  # (B, N)
    if isinstance(growth, Tensor):
        growth = growth.to(emissions.dtype)[:, None]
    each = each - growth
    return (emissions - each[..., None]).exp().transpose(0, 1).contiguous(), each.sum(1)


def _trusted(log_z: Tensor) -> bool:
    """Whether no sentence came near the limits of its number format."""
    return bool((log_z.detach().abs() < SAFE[log_z.dtype]).all())


@torch.no_grad()
def _fitting_growth(emissions: Tensor, rules: Rules, weights: Tensor | None, growth: float | Tensor) -> Tensor:
    """A growth for each sentence (B,) with which all spans stay well inside float64.

    The widest spans that are still there tell how much a word adds; each attempt reaches wider ones. A sentence
    that no attempt brings within bounds has no tree, and gets 0.
    """
    kind, count = _kind(rules), emissions.shape[1]
    rules = type(rules)(*(part.double() for part in rules))
    growths = torch.as_tensor(growth, dtype=torch.float64, device=emissions.device).expand(len(emissions)).clone()
    for _ in range(ATTEMPTS):
        scaled, _ = _scale(emissions.double(), growths)
        _, chart = kind.inside(scaled, *rules, _by_width(weights, torch.float64), keep=False)
        peaks = torch.stack([chart.inside[width].amax((0, 2)).log() for width in range(2, count + 1)])  # (N - 1, B)
        sane = peaks.abs() < SAFE[torch.float64]
        reached = sane.long().cumprod(0).sum(0)  # widths from 2 on
        last = peaks.gather(0, (reached - 1).clamp_min(0)[None])[0]
        last = torch.where(reached > 0, last, peaks[0].nan_to_num(neginf=-700.0, posinf=700.0))
        growths -= last / (reached + 1).clamp_min(2)
        settled = (reached == count - 1) & (last.abs() < SAFE[torch.float32])
        if bool(settled.all()):
            break
    return torch.where(reached == count - 1, growths, 0.0)


def _by_width(weights: Tensor | None, dtype: torch.dtype) -> SpanWeights:
    """The weights (B, N, N + 1) of spans as one tensor for each width, (spans, B, 1)."""
    if weights is None:
        return None
    weights = weights.to(dtype)
    return [weights.diagonal(width, 1, 2).t()[..., None].contiguous() for width in range(weights.shape[2])]
