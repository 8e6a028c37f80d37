"""Brackets from the links between neighboring words in each layer of a Tree Transformer, without recursion."""

from __future__ import annotations

from collections.abc import Sequence


def link_brackets(
    links: Sequence[Sequence[float]], *, threshold: float = 0.8, part_threshold: float = 0.7, lowest: int = 2
) -> list[tuple[int, int]]:
    """Brackets of a tree of any arity by the rule of Tree Transformer (Wang et al. 2019).

    ``links`` has one row for each layer, lowest first; entry k is the probability that words k and k + 1 are in one
    constituent. The sentence is split at the top layer. A span is split at its weakest link, the first one on ties, if
    that link is at most ``threshold``. Otherwise, the layer below decides, and a span that layer ``lowest`` (from 0)
    does not split is flat. A part is treated at the same layer, or at the layer below if all its links are above
    ``part_threshold``. The result contains the full-sentence span.

    >>> sorted(link_brackets([[0.9, 0.4, 0.9], [0.9, 0.5, 0.9]], lowest=0))
    [(0, 2), (0, 4), (2, 4)]
    """
    top, count = len(links) - 1, len(links[-1]) + 1
    lowest = min(lowest, top)
    spans = []
    pending = [(0, count, top)] if count > 1 else []
    for start, end, first in pending:  # the loop appends to this list
        spans.append((start, end))
        layer = first
        while layer > lowest and min(links[layer][start : end - 1]) > threshold:
            layer -= 1
        gaps = links[layer][start : end - 1]
        if end - start == 2 or min(gaps) > threshold:
            continue
        middle = start + gaps.index(min(gaps)) + 1
        for left, right in ((start, middle), (middle, end)):
            if right - left > 1:
                is_joined = min(links[layer][left : right - 1]) > part_threshold
                pending.append((left, right, max(lowest, layer - 1) if is_joined else layer))
    return spans
