"""Constituents from heads."""

from __future__ import annotations

from induce.decoding.heads import Matrix, Root, eisner
from treebank.core.dependency import Heads
from treebank.core.sentence import ROOT


def heads_to_tree(probability: Matrix, *, root: Root = "free") -> list[tuple[int, int]]:
    """Brackets of the heads that `eisner` returns: one phrase for each word with dependents.

    A phrase spans the word and all words that depend on it directly or indirectly. Phrases are flat.
    """
    return phrases(eisner(probability, root=root))


def phrases(heads: Heads) -> list[tuple[int, int]]:
    """Span of each word with dependents together with all words below it, for arcs that do not cross.

    Words are visited from the leaves up, and each passes the ends of its span to its head. Linear time.
    """
    starts, ends = list(range(len(heads))), [i + 1 for i in range(len(heads))]
    waiting = [0] * len(heads)  # dependents that have not been visited yet
    for head in heads:
        if head != ROOT:
            waiting[head] += 1
    ready = [word for word, count in enumerate(waiting) if not count]
    while ready:
        word = ready.pop()
        head = heads[word]
        if head == ROOT:
            continue
        starts[head], ends[head] = min(starts[head], starts[word]), max(ends[head], ends[word])
        waiting[head] -= 1
        if not waiting[head]:
            ready.append(head)
    return [(start, end) for start, end in zip(starts, ends, strict=True) if end - start > 1]
