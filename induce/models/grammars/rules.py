"""Rules of a grammar and its algorithms: likelihoods, marginals of spans and nonterminals, best trees.

A grammar has S nonterminals and T preterminals, M = S + T symbols, nonterminals first. A word has one preterminal, a
span of two or more words a nonterminal, and the full sentence is drawn from ``root``. With b(i, j) (S,) the inside
probabilities of the words i to j - 1, b(i, i + 1) (T,) the emissions of a word, and w(i, j) the weight of a span,

    b(i, j)[A] = w(i, j) sum_k sum_BC p(A -> B C) b(i, k)[B] b(k, j)[C]

and Z = root . b(0, N). A subclass of `Rules` defines the representation of p(A -> B C): `Rules.table` for best
trees, and either `Rules.combine`, from which the rest follows by autograd, or hand-written passes (`KernelRules`).

No logarithm is inside a chart. That is safe since emissions arrive scaled: each word's are divided by their mean and
multiplied by exp(growth), about the cost of a word's rules, so that inside probabilities of long spans neither vanish
nor overflow. If they do, the batch is computed again in float64 with a growth for each sentence that is read off its
chart. Scales are constants that cancel: gradients and marginals do not depend on them.

B sentences of one length are processed together. Charts are ordered by width, (spans, B, S), spans by their start.

`reward_loss` is learned besides the likelihood (Chen et al. 2025, SemInfo). The marginals m of the spans define a
distribution q over binary trees, a `TreeCrf` with the scores max(log m, -30). K trees T_k are drawn from it. With R(T)
the sum of the rewards of the spans of T, and H the entropy of q, the loss is

    mean_k  -log q(T_k) (R(T_k) - mean_l R(T_l) + c H)        c = -0.01

Its gradient passes through the marginals, which are derivatives of log Z themselves. With g = d loss / d m, it is the
derivative of d log Z / d parameters as the weight of each span grows by exp(e g). It is computed in float64 as a
central difference in e, so that it needs no second derivative of an inside pass and holds for all `Rules`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from induce.layers.tree_crf import TreeCrf
from induce.models.grammars.best_trees import LabelledSpans, Maxima, RankedSpans, TableMaxima, best_trees, k_best_trees


def product(x: Tensor, weights: Tensor) -> Tensor:
    """Product (R, B, L) of ``x`` (R, B, K) with ``weights`` (K, L), or (B, K, L) for separate weights per sentence."""
    if weights.dim() == 2:
        return (x.reshape(-1, x.shape[-1]) @ weights).view(*x.shape[:2], -1)
    return torch.bmm(x.transpose(0, 1), weights).transpose(0, 1).contiguous()


def gradient(x: Tensor, d: Tensor, rank: int) -> Tensor:
    """Gradient at the weights of `product`, which have ``rank`` dimensions, for ``d`` (R, B, L) at its result."""
    if rank == 2:
        return x.reshape(-1, x.shape[-1]).t() @ d.reshape(-1, d.shape[-1])
    return torch.bmm(x.permute(1, 2, 0), d.transpose(0, 1))


def draw_index(weights: Tensor, generator: torch.Generator) -> int:
    """Index of a number in ``weights`` (K,), drawn in proportion to it.

    One uniform number is drawn, where `torch.multinomial` draws K numbers.
    """
    sums = weights.double().cumsum(0)
    drawn = sums[-1] * torch.rand(1, generator=generator, dtype=torch.float64)
    return min(int(torch.searchsorted(sums, drawn, right=True)), len(sums) - 1)  # the product can round up to the sum


SpanWeights = list[Tensor] | None  # by width: (spans, B, 1)

SAFE_LOG = {torch.float32: 60.0, torch.float64: 500.0}  # |log Z| of a scaled sentence beyond which Z is not trusted
GROWTH_ATTEMPTS = 12
SAMPLES = 4  # trees K drawn of each sentence
ENTROPY_WEIGHT = -0.01  # c
MIN_SCORE = -30.0  # of a span in the distribution over trees
MIN_MARGINAL = 1e-6  # of a span whose score has a gradient
LARGEST_STEP = 1e-4  # of the logarithm of the weight of a span, in the difference


class Posterior(NamedTuple):
    """Z (B,), and by width the inside probabilities and the gradients of log Z at them before their weights."""

    z: Tensor
    inside: list[Tensor]  # (spans, B, S); the first two are empty
    gradients: list[Tensor]


@dataclass(frozen=True, eq=False)
class Rules(ABC):
    """Probabilities of all rules, shared by all sentences or one grammar for each, then with a leading (B,).

    ``root`` is (S,) or (B, S). A subclass adds its other tensors as fields.
    """

    root: Tensor

    def __iter__(self) -> Iterator[Tensor]:
        return (getattr(self, field.name) for field in fields(self))

    # what a subclass defines

    @abstractmethod
    def table(self) -> Tensor:
        """p(A -> B C) (S, M, M), or (B, S, M, M)."""

    def combine(self, lefts: Tensor, rights: Tensor) -> Tensor:
        """Inside probabilities (spans, B, S) of parents, summed over the splits of each span.

        ``lefts`` and ``rights`` (spans, B, splits, M) are those of the children.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither combine() nor passes of its own")

    def inside(self, emissions: Tensor, weights: SpanWeights) -> tuple[Tensor, list[Tensor]]:
        """Z (B,) of scaled ``emissions`` (N, B, T), N at least 2, and the inside probabilities by width."""
        count, size = len(emissions), self.root.shape[-1]
        nothing = emissions.new_zeros(*emissions.shape[:2], size)
        symbols = [emissions, torch.cat([nothing, emissions], -1)]  # entry 0 is not used
        charts = [emissions.new_zeros(0)] * 2
        for width in range(2, count + 1):
            spans = count - width + 1
            lefts = torch.stack([symbols[k][:spans] for k in range(1, width)], 2)
            rights = torch.stack([symbols[width - k][k : k + spans] for k in range(1, width)], 2)
            x = self.combine(lefts, rights)
            charts.append(x if weights is None else x * weights[width])
            symbols.append(torch.cat([charts[-1], emissions.new_zeros(*x.shape[:2], emissions.shape[2])], -1))
        return (charts[count][0] * self.root).sum(-1), charts

    def total(self, emissions: Tensor, weights: SpanWeights) -> Tensor:
        """Z (B,), differentiable in emissions and rules."""
        return self.inside(emissions, weights)[0]

    def posterior(self, emissions: Tensor, weights: SpanWeights) -> Posterior:
        """Inside probabilities and gradients of log Z."""
        with torch.inference_mode(False), torch.enable_grad():
            rules = type(self)(*(part.detach().clone() for part in self))
            factor = emissions.new_ones(()).clone().requires_grad_()  # makes every chart part of the graph
            units = [part.clone() for part in weights] if weights is not None else None
            z, charts = rules.inside(emissions.clone() * factor, units)
            inside = charts[2:]
            gradients = torch.autograd.grad(torch.where(z > 0, z, 1.0).log().sum(), inside)
        if weights is not None:
            gradients = tuple(part * weights[width] for width, part in enumerate(gradients, 2))
        return Posterior(z.detach(), [chart.detach() for chart in charts], [*charts[:2], *gradients])

    def maxima(self) -> Maxima:
        """Rules with maxima instead of sums, for best trees."""
        return TableMaxima(self.table().log())

    # what all grammars have

    def log_partition(
        self, emissions: Tensor, *, weights: Tensor | None = None, growth: float | Tensor = 0.0
    ) -> Tensor:
        """Log-partition function log Z (B,) in nats of sentences of one length, differentiable in emissions and rules.

        ``emissions`` (B, N, T): log probabilities of each word given each preterminal, N at least 2. ``weights``
        (B, N, N + 1): of each span of two or more words, at least 0. ``growth``: the scale described above, for all or
        (B,); any number gives the same result, a bad one more slowly. -inf where the weights leave no tree.
        """
        scaled, scale = _scale(emissions, growth)
        log_z = self.total(scaled, _by_width(weights, scaled.dtype)).log()
        if not _is_trusted(log_z):
            growth = self._fitting_growth(emissions, weights, growth)
            scaled, scale = _scale(emissions.double(), growth)
            log_z = self.double().total(scaled, _by_width(weights, torch.float64)).log()
            return (log_z + scale).to(emissions.dtype)
        return log_z + scale

    @torch.no_grad()
    def symbol_marginals(
        self, emissions: Tensor, *, weights: Tensor | None = None, growth: float | Tensor = 0.0
    ) -> tuple[Tensor, list[Tensor]]:
        """log Z (B,), and by width the probability (spans, B, S) of each nonterminal over each span.

        Arguments as of `log_partition`. Entries for widths below 2 are empty.
        """
        rules, (scaled, scale) = self, _scale(emissions, growth)
        by_width = _by_width(weights, scaled.dtype)
        result = rules.posterior(scaled, by_width)
        if not _is_trusted(result.z.log()):
            growth = self._fitting_growth(emissions, weights, growth)
            rules, (scaled, scale) = self.double(), _scale(emissions.double(), growth)
            by_width = _by_width(weights, scaled.dtype)
            result = rules.posterior(scaled, by_width)
        shares = [scaled.new_zeros(0)] * 2
        for width in range(2, emissions.shape[1] + 1):
            # inside probabilities and gradients both contain the weight of the span: it counts once
            share = result.gradients[width] * result.inside[width]
            if by_width is not None:
                share = share / by_width[width].clamp_min(torch.finfo(share.dtype).tiny)
            shares.append(share.to(emissions.dtype))
        return (result.z.log() + scale).to(emissions.dtype), shares

    def best_trees(self, emissions: Tensor) -> list[LabelledSpans]:
        """Spans ``(start, end, nonterminal)`` of the most probable tree of each sentence (`best_trees`)."""
        return best_trees(emissions, self.root, self.maxima())

    def draw_children(self, parent: int, generator: torch.Generator) -> tuple[int, int]:
        """Symbols of the left and of the right child of ``parent``, drawn by their probability."""
        row = self.table()[parent]
        return divmod(draw_index(row.flatten(), generator), row.shape[-1])

    def k_best_trees(self, emissions: Tensor, k: int) -> list[list[RankedSpans]]:
        """The ``k`` most probable trees of each sentence with their log probabilities (`k_best_trees`)."""
        rules, emissions = type(self)(*(part.double().cpu() for part in self)), emissions.double().cpu()
        if self.root.dim() == 1:
            return [k_best_trees(sentence, rules.root, rules.maxima(), k) for sentence in emissions]
        grammars = [type(self)(*parts) for parts in zip(*rules, strict=True)]
        pairs = zip(emissions, grammars, strict=True)
        return [k_best_trees(sentence, grammar.root, grammar.maxima(), k) for sentence, grammar in pairs]

    def double(self) -> Self:
        """The rules in float64."""
        return type(self)(*(part.double() for part in self))

    @torch.no_grad()
    def _fitting_growth(self, emissions: Tensor, weights: Tensor | None, growth: float | Tensor) -> Tensor:
        """A growth for each sentence (B,) with which all spans stay well inside float64.

        The widest spans within range say how much a word adds; each attempt reaches wider ones. A sentence that no
        attempt brings within range has no tree, and gets 0.
        """
        rules, count = self.double(), emissions.shape[1]
        growths = torch.as_tensor(growth, dtype=torch.float64, device=emissions.device).expand(len(emissions)).clone()
        for _ in range(GROWTH_ATTEMPTS):
            scaled, _ = _scale(emissions.double(), growths)
            _, inside = rules.inside(scaled, _by_width(weights, torch.float64))
            peaks = torch.stack([inside[width].amax((0, 2)).log() for width in range(2, count + 1)])  # (N - 1, B)
            in_range = peaks.abs() < SAFE_LOG[torch.float64]
            reached = in_range.long().cumprod(0).sum(0)  # widths from 2 on
            last = peaks.gather(0, (reached - 1).clamp_min(0)[None])[0]
            last = torch.where(reached > 0, last, peaks[0].nan_to_num(neginf=-700.0, posinf=700.0))
            growths -= last / (reached + 1).clamp_min(2)
            settled = (reached == count - 1) & (last.abs() < SAFE_LOG[torch.float32])
            if bool(settled.all()):
                break
        return torch.where(reached == count - 1, growths, 0.0)


class KernelRules(Rules):
    """Rules with a hand-written inside pass, outside pass and gradients."""

    @abstractmethod
    def inside_chart(self, emissions: Tensor, weights: SpanWeights, *, keep: bool) -> tuple[Tensor, Any]:
        """Z (B,) and the chart, whose ``inside`` is ordered by width.

        With ``keep``, the chart contains everything that `gradients` needs.
        """

    @abstractmethod
    def outside(self, d: Tensor, chart: Any, weights: SpanWeights) -> Any:
        """Gradients (``by_width``) at the inside probabilities before their weights, for ``d`` (B,) at Z."""

    @abstractmethod
    def gradients(self, emissions: Tensor, d: Tensor, chart: Any, outside: Any) -> tuple[Tensor, ...]:
        """Gradients at emissions (N, B, T) and at each field, for ``d`` (B,) at Z."""

    def inside(self, emissions: Tensor, weights: SpanWeights) -> tuple[Tensor, list[Tensor]]:
        z, chart = self.inside_chart(emissions, weights, keep=False)
        return z, chart.inside

    def total(self, emissions: Tensor, weights: SpanWeights) -> Tensor:
        return _Inside.apply(type(self), weights, emissions, *self)

    def posterior(self, emissions: Tensor, weights: SpanWeights) -> Posterior:
        z, chart = self.inside_chart(emissions, weights, keep=False)
        outside = self.outside(torch.where(z > 0, 1 / z, 0.0), chart, weights)
        return Posterior(z, chart.inside, outside.by_width)


class _Inside(torch.autograd.Function):
    """Z (B,) of scaled emissions (N, B, T), with the outside pass as the backward pass."""

    @staticmethod
    def forward(ctx: Any, kind: type[KernelRules], weights: SpanWeights, emissions: Tensor, *parts: Tensor) -> Tensor:
        ctx.kind, ctx.weights = kind, weights
        z, ctx.chart = kind(*parts).inside_chart(emissions, weights, keep=True)
        ctx.save_for_backward(emissions, *parts)
        return z

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor | None, ...]:
        emissions, *parts = ctx.saved_tensors
        rules = ctx.kind(*parts)
        gradients = rules.gradients(emissions, d, ctx.chart, rules.outside(d, ctx.chart, ctx.weights))
        ctx.chart = None
        return None, None, *gradients


def word_costs(emissions: Tensor, log_z: Tensor) -> Tensor:
    """Mean cost of a word's rules (B,) in nats: the growth that suits such sentences.

    ``emissions`` (B, N, T) and ``log_z`` (B,) as of `Rules.log_partition`.
    """
    scale = emissions.logsumexp(-1).sum(1) - emissions.shape[1] * math.log(emissions.shape[2])
    return (scale - log_z) / emissions.shape[1]


def _scale(emissions: Tensor, growth: float | Tensor) -> tuple[Tensor, Tensor]:
    """Scaled emissions (N, B, T), and the logarithm of the factor taken off each sentence (B,)."""
    each = emissions.detach().logsumexp(-1) - math.log(emissions.shape[-1])  # (B, N)
    if isinstance(growth, Tensor):
        growth = growth.to(emissions.dtype)[:, None]
    each = each - growth
    return (emissions - each[..., None]).exp().transpose(0, 1).contiguous(), each.sum(1)


def _is_trusted(log_z: Tensor) -> bool:
    """Whether no sentence came near the limits of its number format."""
    return bool((log_z.detach().abs() < SAFE_LOG[log_z.dtype]).all())


def _by_width(weights: Tensor | None, dtype: torch.dtype) -> SpanWeights:
    """The weights (B, N, N + 1) of spans as one tensor for each width, (spans, B, 1)."""
    if weights is None:
        return None
    weights = weights.to(dtype)
    return [weights.diagonal(width, 1, 2).t()[..., None].contiguous() for width in range(weights.shape[2])]


def crf_scores(marginals: Tensor) -> Tensor:
    """Scores (B, N, N + 1) of spans of two or more words from their ``marginals`` (B, N, N + 1), 0 for words."""
    scores = marginals.log().clamp(min=MIN_SCORE, max=0.0)
    wide = torch.ones_like(marginals, dtype=torch.bool).triu(2)
    return torch.where(wide, scores, 0.0)


def sampled_loss(crf: TreeCrf, trees: Tensor, rewards: Tensor) -> Tensor:
    """Loss (B,) of ``trees`` (B, K, N, N + 1) drawn from ``crf``, for the ``rewards`` (B, N, N + 1) of spans."""
    total = torch.einsum("bkij,bij->bk", trees.to(rewards.dtype), rewards)
    advantage = total - total.mean(1, keepdim=True) + ENTROPY_WEIGHT * crf.entropy[:, None]
    return -(crf.log_probability(trees) * advantage).mean(1)


def reward_loss(rules: Rules, emissions: Tensor, rewards: Tensor, *, growth: float) -> Tensor:
    """Loss (B,) of trees drawn for sentences of three or more words, differentiable in emissions and rules.

    ``emissions`` (B, N, T) and ``growth`` as of `Rules.log_partition`; ``rewards`` (B, N, N + 1) of spans.
    """
    batch, count = emissions.shape[:2]
    marginals = span_marginals(rules, emissions.detach(), growth)
    scores = crf_scores(marginals).requires_grad_()
    crf = TreeCrf(scores)
    trees = crf.sample(torch.rand(batch, SAMPLES, count, count + 1, device=scores.device))
    loss = sampled_loss(crf, trees, rewards.to(scores.dtype))
    (slope,) = torch.autograd.grad(loss.sum(), scores)
    slope = torch.where(marginals > MIN_MARGINAL, slope / marginals.clamp(min=MIN_MARGINAL), 0.0)
    change = change_along(rules, emissions, slope, growth)
    return (loss.detach() + change - change.detach()).to(emissions.dtype)


@torch.no_grad()
def span_marginals(rules: Rules, emissions: Tensor, growth: float) -> Tensor:
    """Probability (B, N, N + 1) in float64 of each span of two or more words."""
    batch, count = emissions.shape[:2]
    marginals = emissions.new_zeros(batch, count, count + 1, dtype=torch.float64)
    for width, shares in enumerate(rules.symbol_marginals(emissions, growth=growth)[1][2:], 2):
        marginals.diagonal(width, 1, 2).copy_(shares.double().sum(-1).t())
    return marginals


def change_along(rules: Rules, emissions: Tensor, direction: Tensor, growth: float) -> Tensor:
    """Value (B,) whose gradient is that of the sum of marginals times ``direction`` (B, N, N + 1)."""
    step = LARGEST_STEP / direction.abs().amax((1, 2)).clamp(min=1e-12)
    rules, emissions = rules.double(), emissions.double()
    ends = [
        rules.log_partition(emissions, weights=(sign * step[:, None, None] * direction).exp(), growth=growth)
        for sign in (1, -1)
    ]
    return (ends[0] - ends[1]) / (2 * step)
