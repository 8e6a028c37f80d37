"""Most probable tree of each sentence under a grammar, with its labels: CKY on logarithms.

The inside pass with maxima instead of sums. There are no back-pointers: the best split and children are computed again
at the N - 1 spans of the best tree. S nonterminals, T preterminals, M = S + T symbols.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from induce.models.grammars.k_best_trees import Child, Maxima, Ways

LabelledSpans = list[tuple[int, int, int]]


@dataclass(frozen=True)
class TableMaxima:
    """Maxima over a full table of rules, ``logs`` (S, M, M) or (B, S, M, M).

    The maximum over splits comes first, for each pair of children, and then the rules once.
    """

    logs: Tensor

    def parents(self, lefts: Tensor, rights: Tensor) -> Tensor:
        """Best log probabilities (B, spans, S) of parents, given those of their children (B, spans, splits, M)."""
        batch, spans, splits, symbols = lefts.shape
        pairs = lefts.new_full((batch, spans, symbols, symbols), -torch.inf)
        for k in range(splits):
            torch.maximum(pairs, lefts[:, :, k, :, None] + rights[:, :, k, None], out=pairs)
        is_shared = self.logs.dim() == 3
        result = []
        for parent in range(self.logs.shape[-3]):
            table = self.logs[parent] if is_shared else self.logs[:, parent, None]
            result.append((pairs + table).flatten(2).amax(-1))
        return torch.stack(result, -1)

    def children(self, sentence: int, parent: int, lefts: Tensor, rights: Tensor) -> tuple[int, int, int]:
        """Best split of one span and the symbols of both children, for one parent and children (splits, M)."""
        logs = self.logs if self.logs.dim() == 3 else self.logs[sentence]
        totals = lefts[:, :, None] + rights[:, None] + logs[parent]
        split, pair = divmod(int(totals.argmax()), totals[0].numel())
        return split, *divmod(pair, totals.shape[2])

    def ways(self, left: Child, right: Child, k: int) -> Ways:
        """The best ways to build spans of these children, if the rules (S, M, M) are those of one sentence."""
        rules = right.rules(left.rules(self.logs[None], 2), 3)  # (spans, S, left symbols, right symbols)
        totals = rules + left.phrases()[:, None, :, None] + right.phrases()[:, None, None, :]
        best = totals.flatten(2).topk(min(k, totals[0, 0].numel()))
        rule = rules.expand_as(totals).flatten(2).gather(2, best.indices)
        return Ways(best.values, rule, best.indices // totals.shape[3], best.indices % totals.shape[3])


@torch.no_grad()
def best_trees(emissions: Tensor, root: Tensor, rules: Maxima) -> list[LabelledSpans]:
    """Spans ``(start, end, nonterminal)`` of two or more words, N - 1 for each sentence, the full sentence first.

    ``emissions`` (B, N, T): log probabilities of each word given each preterminal, N at least 2; all sentences of one
    length. ``root`` (S,) or (B, S): probabilities. Of several best trees, the first in order wins: the leftmost split,
    then the lowest numbers of symbols.
    """
    batch, count, words = emissions.shape
    size = root.shape[-1]
    chart = emissions.new_full((batch, count, count + 1, size + words), -torch.inf)  # start, end, symbol
    indices = torch.arange(count, device=emissions.device)
    chart[:, indices, indices + 1, size:] = emissions
    for width in range(2, count + 1):
        starts = indices[: count - width + 1]
        lefts = torch.stack([chart[:, starts, starts + k] for k in range(1, width)], 2)  # (B, spans, splits, M)
        rights = torch.stack([chart[:, starts + k, starts + width] for k in range(1, width)], 2)
        chart[:, starts, starts + width, :size] = rules.parents(lefts, rights)
    tops = (chart[:, 0, count, :size] + root.log()).argmax(-1).tolist()
    return [_backtrace(chart[k], k, tops[k], rules, size) for k in range(batch)]


def _backtrace(chart: Tensor, sentence: int, top: int, rules: Maxima, size: int) -> LabelledSpans:
    """Spans of the best tree of one ``sentence``, whose chart is (N, N + 1, M), below nonterminal ``top``."""
    count = len(chart)
    spans = [(0, count, top)]
    for start, end, label in spans:  # grows during the loop
        middles = torch.arange(start + 1, end, device=chart.device)
        split, left, right = rules.children(sentence, label, chart[start, middles], chart[middles, end])
        middle = start + 1 + split
        spans += [(start, middle, left)] * (left < size) + [(middle, end, right)] * (right < size)
    return spans
