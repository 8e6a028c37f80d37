"""Inside algorithm as plain loops over spans and splits, on logarithms: the twin of the passes of `Rules`."""

from __future__ import annotations

import torch
from torch import Tensor

from induce.models.grammars.rules import Rules


def log_partition(emissions: Tensor, rules: Rules, *, weights: Tensor | None = None) -> Tensor:
    """Log Z of a sentence from log probabilities ``emissions`` (N, T) and ``weights`` (N, N + 1) of spans."""
    count, _ = emissions.shape
    size = rules.root.shape[-1]
    table = rules.table().log()
    chart: dict[tuple[int, int], Tensor] = {}
    blank = emissions.new_full((size,), -torch.inf)
    for i in range(count):
        chart[i, i + 1] = torch.cat([blank, emissions[i]])  # (M,)
    for width in range(2, count + 1):
        for start in range(count - width + 1):
            end = start + width
            ways = [
                (table + chart[start, k][:, None] + chart[k, end]).flatten(1).logsumexp(-1)
                for k in range(start + 1, end)
            ]
            phrase = torch.stack(ways).logsumexp(0)  # (S,)
            if weights is not None:
                phrase = phrase + weights[start, end].log()
            chart[start, end] = torch.cat([phrase, emissions.new_full((emissions.shape[1],), -torch.inf)])
    return (chart[0, count][:size] + rules.root.log()).logsumexp(0)
