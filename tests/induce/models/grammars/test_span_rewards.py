"""Gradients of the expected reward of spans against second derivatives of plain inside passes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from induce.layers.tree_crf import TreeCrf
from induce.models.grammars.rules import SAMPLES, Rules, crf_scores, reward_loss, sampled_loss
from tests.induce.models.grammars import test_headed_grammar, test_rules
from tests.support.twins import inside as inside_plain

COUNT = 5


def plain_log_partition(rules: Rules, emissions: Tensor, weights: Tensor) -> Tensor:
    """Log Z (B,) by operations that can be differentiated twice."""
    if isinstance(rules, test_headed_grammar.HeadedRules):
        return rules.log_partition(emissions, weights=weights)
    pairs = zip(emissions, weights, strict=True)
    return torch.stack([inside_plain.log_partition(row, rules, weights=weight) for row, weight in pairs])


@pytest.mark.parametrize("kind", ["full", "simple", "rank", "toy", "lexical", "bilexical"])
def test_gradient_passes_through_the_marginals(kind: str) -> None:
    if kind in test_headed_grammar.KINDS:
        rules, emissions = test_headed_grammar.grammar(kind, COUNT)
    else:
        rules, emissions = test_rules.grammar(kind), test_rules.words(2, COUNT)
    rewards = 5 * torch.rand(2, COUNT, COUNT + 1, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    parts = [part.requires_grad_() for part in (emissions, *rules) if part.numel()]

    torch.manual_seed(1)
    loss = reward_loss(rules, emissions, rewards, growth=0.0)
    results = torch.autograd.grad(loss.sum(), parts)

    weights = torch.ones(2, COUNT, COUNT + 1, dtype=torch.float64, requires_grad=True)
    (marginals,) = torch.autograd.grad(plain_log_partition(rules, emissions, weights).sum(), weights, create_graph=True)
    crf = TreeCrf(crf_scores(marginals))
    torch.manual_seed(1)
    plain = sampled_loss(crf, crf.sample(torch.rand(2, SAMPLES, COUNT, COUNT + 1)), rewards)
    torch.testing.assert_close(loss, plain)
    for result, expected in zip(results, torch.autograd.grad(plain.sum(), parts), strict=True):
        torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-7)
