"""Distribution over the binary trees of a sentence, from a score for each span: a conditional random field.

The probability of a tree is proportional to exp of the sum of the scores of its spans. With s(i, j) the score of the
words i to j - 1, the inside pass goes from narrow to wide spans, in logarithms:

    ways(i, k, j) = inside(i, k) + inside(k, j)        inside(i, j) = s(i, j) + log sum_k exp ways(i, k, j)

Given that the span is in the tree, it is split at k with probability softmax_k ways(i, k, j). Samples and the entropy
follow from these probabilities (Kim et al. 2019, *Unsupervised Recurrent Neural Network Grammars*).

B sentences of one length N. Tables are (B, N, N + 1), as those of `induce.structures.SpanScores`.
"""

from __future__ import annotations

import torch
from torch import Tensor


class TreeCrf:
    """Distribution over binary trees with finite span ``scores`` (B, N, N + 1) of sentences of N > 0 words.

    Scores of single words are in every tree, so that they cancel in probabilities. All results except samples are
    differentiable in ``scores``.
    """

    def __init__(self, scores: Tensor) -> None:
        self.scores = scores
        words = scores.diagonal(1, 1, 2)
        self.inside = [words[:, :0], words]  # by width: (B, spans)
        self.log_splits = [words[:, :0]] * 2  # by width: log-probability (B, spans, splits) of each split
        by_start, by_end = words[..., None], words[..., None]  # (B, spans, widths), from narrow to wide and reversed
        entropy_by_start, entropy_by_end = torch.zeros_like(by_start), torch.zeros_like(by_end)
        entropy = torch.zeros_like(words)
        for width in range(2, words.shape[1] + 1):
            by_start, by_end = by_start[:, :-1], by_end[:, 1:]
            entropy_by_start, entropy_by_end = entropy_by_start[:, :-1], entropy_by_end[:, 1:]
            ways = by_start + by_end
            log_split = ways.log_softmax(-1)
            inside = ways.logsumexp(-1) + scores.diagonal(width, 1, 2)
            entropy = (log_split.exp() * (entropy_by_start + entropy_by_end - log_split)).sum(-1)
            self.inside.append(inside)
            self.log_splits.append(log_split)
            by_start, by_end = _widened(by_start, by_end, inside)
            entropy_by_start, entropy_by_end = _widened(entropy_by_start, entropy_by_end, entropy)
        self.log_partition = self.inside[-1][:, 0]  # (B,) in nats
        self.entropy = entropy[:, 0]  # (B,) in nats

    def log_probability(self, trees: Tensor) -> Tensor:
        """Log-probabilities (B, K) of ``trees`` (B, K, N, N + 1), true for their spans, single words included."""
        totals = torch.einsum("bkij,bij->bk", trees.to(self.scores.dtype), self.scores)
        return totals - self.log_partition[:, None]

    @torch.no_grad()
    def sample(self, uniforms: Tensor) -> Tensor:
        """Trees (B, K, N, N + 1), true for their spans, single words included.

        ``uniforms`` (B, K, N, N + 1) or (1, K, N, N + 1): a random number in [0, 1) for each span.
        """
        batch, count = self.scores.shape[:2]
        uniforms = uniforms.expand(batch, *uniforms.shape[1:])
        trees = torch.zeros_like(uniforms, dtype=torch.bool)
        trees.diagonal(1, 2, 3).fill_(True)
        trees[:, :, 0, count] = True
        for width in range(count, 1, -1):
            row, sample, start = trees.diagonal(width, 2, 3).nonzero(as_tuple=True)
            below = self.log_splits[width].exp().cumsum(-1)[row, start]  # (spans of all trees, splits)
            number = uniforms[row, sample, start, start + width]
            middle = start + 1 + (below <= number[:, None]).sum(-1).clamp(max=width - 2)
            trees[row, sample, start, middle] = True
            trees[row, sample, middle, start + width] = True
        return trees


def _widened(by_start: Tensor, by_end: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Both tables with the ``values`` (B, spans) of the next width."""
    return torch.cat([by_start, values[..., None]], -1), torch.cat([values[..., None], by_end], -1)


def span_marginals(scores: Tensor) -> Tensor:
    """Probability (B, N, N + 1) of each span under `TreeCrf` with ``scores``, single words included."""
    with torch.inference_mode(False), torch.enable_grad():
        leaf = scores.detach().clone().requires_grad_()
        (gradient,) = torch.autograd.grad(TreeCrf(leaf).log_partition.sum(), leaf)
    return gradient.detach()
