"""Expected reward of the spans of a grammar's trees, to be learned besides the likelihood (Chen et al. 2025, SemInfo).

The marginals m of the spans define a distribution q over binary trees, a `TreeCrf` with the scores max(log m, -30).
K trees T_k are drawn from it. With R(T) the sum of the rewards of the spans of T, and H the entropy of q, the loss is

    mean_k  -log q(T_k) (R(T_k) - mean_l R(T_l) + c H)        c = -0.01

Its gradient passes through the marginals, which are derivatives of log Z themselves. With g = d loss / d m, it is the
derivative of d log Z / d parameters as the weight of each span grows by exp(e g). It is computed in float64 as a
central difference in e, so that it needs no second derivative of an inside pass and holds for all `Rules`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from induce.layers.tree_crf import TreeCrf
from induce.models.grammars.rules import Rules

SAMPLES = 4  # trees K drawn of each sentence
ENTROPY_WEIGHT = -0.01  # c
MIN_SCORE = -30.0  # of a span in the distribution over trees
MIN_MARGINAL = 1e-6  # of a span whose score has a gradient
LARGEST_STEP = 1e-4  # of the logarithm of the weight of a span, in the difference


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
