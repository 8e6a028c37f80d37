"""The k best trees of a dependency model with valence, by repeated search for the best one (`k_best_heads`)."""

from __future__ import annotations

import torch
from torch import Tensor

from induce.decoding.k_best_heads import Masks, ScoredHeads, k_best_heads
from induce.models.dependency.outward_sums import RuleScores, best_heads, log_total

FORBIDDEN = -1e9  # log score of an arc that a tree must not have
MAX_NUMBERS = 4_000_000  # of rules of the searches in one batch


def k_best_trees(scores: RuleScores, lengths: Tensor, k: int) -> list[list[ScoredHeads]]:
    """Log scores and heads of the ``k`` best trees of each sentence, best first, or fewer if there are not so many."""
    return [_of_sentence(scores, row, length, k) for row, length in enumerate(lengths.tolist())]


def _of_sentence(scores: RuleScores, row: int, words: int, k: int) -> list[ScoredHeads]:
    siblings = min(scores.attach.shape[3], words + 1)
    attach = scores.attach[row, :words, :words, :siblings].double()
    decision, root = scores.decision[row, :words, :siblings].double(), scores.root[row, :words].double()

    def best(masks: Masks) -> list[ScoredHeads]:
        allowed = torch.from_numpy(masks).to(root.device)
        costs = torch.where(allowed, 0.0, FORBIDDEN)  # (C, N, N + 1) of [dependent, head]
        results: list[ScoredHeads] = []
        for part in costs.split(max(1, MAX_NUMBERS // max(1, attach.numel()))):
            arcs = part[:, :, :words].transpose(1, 2)[..., None, None]
            restricted = RuleScores(
                attach + arcs, decision.expand(len(part), *decision.shape), root + part[:, :, words]
            )
            every = torch.full((len(part),), words)
            totals = log_total(restricted, every, best=True).tolist()
            trees = best_heads(restricted, every).tolist()
            pairs = zip(totals, trees, strict=True)
            results += [(total if total > FORBIDDEN / 2 else -torch.inf, tuple(tree)) for total, tree in pairs]
        return results

    return k_best_heads(best, words, k)
