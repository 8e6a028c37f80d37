"""The distribution over binary trees equals the sum over all trees, and that of the released program of URNNG."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from induce.decoding.chart import mbr
from induce.layers.tree_crf import TreeCrf, span_marginals
from tests.support.binary_trees import all_trees, table
from tests.support.reference import fixtures, load

pytestmark = pytest.mark.usefixtures("double")


def spans_of(actions: list[int]) -> list[tuple[int, int]]:
    """Spans of the tree that shifts (0) and reductions (1) build, single words included."""
    stack: list[tuple[int, int]] = []
    spans = []
    for action in actions:
        if action:
            (start, _), (_, end) = stack[-2:]
            stack[-2:] = [(start, end)]
        else:
            stack.append((stack[-1][1], stack[-1][1] + 1) if stack else (0, 1))
        spans.append(stack[-1])
    return spans


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_sums_and_samples_are_those_of_all_trees(count: int) -> None:
    scores = torch.randn(2, count, count + 1, generator=torch.Generator().manual_seed(count))
    crf, trees = TreeCrf(scores), all_trees(0, count)
    log_p = crf.log_probability(table(trees, count).expand(2, -1, -1, -1))
    torch.testing.assert_close(log_p.exp().sum(1), torch.ones(2))
    torch.testing.assert_close(crf.entropy, -(log_p.exp() * log_p).sum(1))
    expected = torch.einsum("bk,kij->bij", log_p.exp(), table(trees, count).double())
    torch.testing.assert_close(span_marginals(scores), expected)
    draws = 8_000
    samples = crf.sample(torch.rand(1, draws, count, count + 1, generator=torch.Generator().manual_seed(0)))
    counts = Counter(tuple(map(tuple, tree.nonzero().tolist())) for tree in samples[1])
    for spans, log_probability in zip(trees, log_p[1].tolist(), strict=True):
        share = math.exp(log_probability)
        error = math.sqrt(share * (1 - share) / draws)
        assert counts[tuple(sorted(spans))] / draws == pytest.approx(share, abs=4 * error + 2e-3)


@pytest.mark.parametrize("name", fixtures("urnng_crf"))
def test_sums_equal_those_of_the_program(name: str) -> None:
    fixture = load(name)
    count = fixture.sizes["words"]
    raw_scores = fixture.tensor("scores", gradient=True)
    scores = torch.cat([raw_scores[:, :, :1] * 0, raw_scores], 2)  # ends of spans are excluded here
    crf = TreeCrf(scores)
    inside = torch.zeros_like(raw_scores)
    for width in range(1, count + 1):
        inside.diagonal(width - 1, 1, 2).copy_(crf.inside[width].detach())
    fixture.check("alpha", inside)
    fixture.check("log_partition", crf.log_partition)
    fixture.check("entropy", crf.entropy)
    marginals = span_marginals(scores)[:, :, 1:]
    fixture.check("marginal", marginals)
    outside = (marginals.log() + crf.log_partition[:, None, None] - inside).triu()
    fixture.check("beta", outside)
    fixture.check("grad/scores", torch.autograd.grad(crf.log_partition.sum(), raw_scores, retain_graph=True)[0])
    fixture.check("grad_entropy/scores", torch.autograd.grad(crf.entropy.sum(), raw_scores, retain_graph=True)[0])
    trees = torch.stack([table(list(map(spans_of, rows)), count) for rows in fixture.arrays["actions"].tolist()])
    log_p = crf.log_probability(trees)
    fixture.check("log_prob", log_p)
    gradients = [
        torch.autograd.grad(log_p[:, k].sum(), raw_scores, retain_graph=True)[0] for k in range(log_p.shape[1])
    ]
    fixture.check("grad_logprob/scores", torch.stack(gradients))


@pytest.mark.parametrize("name", fixtures("urnng_crf"))
def test_best_trees_equal_those_of_the_program(name: str) -> None:
    fixture = load(name)
    count = fixture.sizes["words"]
    expected = fixture.doc["expected"]
    raw_scores = fixture.tensor("scores")
    scores = torch.cat([raw_scores[:, :, :1] * 0, raw_scores], 2)
    best = [mbr(row) for row in scores.numpy()]
    assert [drawn(spans, count) for spans in best] == expected["best"]
    totals = [
        sum(row[span] for span in (*spans, *((k, k + 1) for k in range(count))))
        for row, spans in zip(scores, best, strict=True)
    ]
    fixture.check("best_score", torch.stack(totals))
    assert drawn(mbr(torch.zeros(count, count + 1).numpy()), count) == expected["tie"]


def drawn(spans: list[tuple[int, int]], count: int) -> str:
    """A tree such as ``(0 (1 2))``."""
    opening, closing = Counter(start for start, _ in spans), Counter(end for _, end in spans)
    return " ".join("(" * opening[k] + str(k) + ")" * closing[k + 1] for k in range(count))
