"""The most probable tree of each sentence under a grammar, with its labels: CKY on logarithms.

The inside pass with maxima in the place of sums. A full grammar takes the maximum over splits first, over each pair of
children, and then the rules once; a simple one takes that over each child on its own. No back-pointers are kept: the
best split and children are found again at the N - 1 spans of the best tree.
"""

from __future__ import annotations

import torch
from torch import Tensor

from induce.models.grammars.rules import FullRules, Rules

LabelledSpans = list[tuple[int, int, int]]
ROOM = 4_000_000  # numbers in one table of rules times spans


@torch.no_grad()
def best_trees(emissions: Tensor, rules: Rules) -> list[LabelledSpans]:
    """Spans ``(start, end, nonterminal)`` of two or more words, N - 1 for each sentence, the whole sentence first.

    ``emissions`` (B, N, T): log probabilities of each word given each preterminal, N at least 2; all sentences of one
    length. The first of several best trees wins: the leftmost split, then the lowest numbers.
    """
    batch, count, words = emissions.shape
    size = rules.root.shape[-1]
    logs = [part.log() for part in rules]
    chart = emissions.new_full((batch, count, count + 1, size + words), -torch.inf)  # start, end, symbol
    places = torch.arange(count, device=emissions.device)
    chart[:, places, places + 1, size:] = emissions
    for width in range(2, count + 1):
        starts = places[: count - width + 1]
        lefts = torch.stack([chart[:, starts, starts + k] for k in range(1, width)], 2)  # (B, spans, splits, M)
        rights = torch.stack([chart[:, starts + k, starts + width] for k in range(1, width)], 2)
        best = _full if isinstance(rules, FullRules) else _simple
        chart[:, starts, starts + width, :size] = best(lefts, rights, logs[1:])
    tops = (chart[:, 0, count, :size] + logs[0]).argmax(-1).tolist()
    return [_backtrace(chart[k], _of_sentence(rules, logs, k), tops[k], size) for k in range(batch)]


def _full(lefts: Tensor, rights: Tensor, logs: list[Tensor]) -> Tensor:
    """Best logarithms (B, spans, S) for children (B, spans, splits, M)."""
    (rules,) = logs
    batch, spans, splits, symbols = lefts.shape
    pairs = lefts.new_full((batch, spans, symbols, symbols), -torch.inf)
    for k in range(splits):
        torch.maximum(pairs, lefts[:, :, k, :, None] + rights[:, :, k, None], out=pairs)
    shared = rules.dim() == 3
    result = []
    for parent in range(rules.shape[-3]):
        table = rules[parent] if shared else rules[:, parent, None]
        result.append((pairs + table).flatten(2).amax(-1))
    return torch.stack(result, -1)


def _simple(lefts: Tensor, rights: Tensor, logs: list[Tensor]) -> Tensor:
    """Best logarithms (B, spans, S) for children (B, spans, splits, M)."""
    return (_best_child(lefts, logs[0]) + _best_child(rights, logs[1])).amax(2)


def _best_child(children: Tensor, rules: Tensor) -> Tensor:
    """(B, spans, splits, S): the best of ``rules`` (S, M) or (B, S, M) plus ``children`` (B, spans, splits, M)."""
    table = rules if rules.dim() == 2 else rules[:, None, None]
    if rules.dim() == 3 or children.numel() * rules.shape[-2] <= ROOM:
        return (children[..., None, :] + table).amax(-1)
    flat = children.flatten(0, -2)
    step = max(1, ROOM // rules.numel())
    parts = [(rows[:, None] + rules).amax(-1) for rows in flat.split(step)]
    return torch.cat(parts).view(*children.shape[:-1], -1)


def _of_sentence(rules: Rules, logs: list[Tensor], k: int) -> list[Tensor]:
    """The logarithms of the rules of sentence ``k``, without the root."""
    own = rules.root.dim() == 2
    return [part[k] if own else part for part in logs[1:]]


def _backtrace(chart: Tensor, logs: list[Tensor], top: int, size: int) -> LabelledSpans:
    """The spans of the best tree of one sentence, ``chart`` (N, N + 1, M), below nonterminal ``top``."""
    count = len(chart)
    spans = [(0, count, top)]
    for start, end, label in spans:  # grows while it is read
        middles = torch.arange(start + 1, end, device=chart.device)
        lefts, rights = chart[start, middles], chart[middles, end]  # (splits, M)
        if len(logs) == 1:
            totals = lefts[:, :, None] + rights[:, None] + logs[0][label]
            place = int(totals.argmax())
            split, pair = divmod(place, totals[0].numel())
            left, right = divmod(pair, totals.shape[2])
        else:
            left_best, right_best = (lefts + logs[0][label]).max(-1), (rights + logs[1][label]).max(-1)
            split = int((left_best.values + right_best.values).argmax())
            left, right = int(left_best.indices[split]), int(right_best.indices[split])
        middle = start + 1 + split
        spans += [(start, middle, left)] * (left < size) + [(middle, end, right)] * (right < size)
    return spans
