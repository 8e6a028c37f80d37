"""Baselines of trees and heads, which do not depend on the words. Without recursion.

A baseline is a function from the gold tree of a sentence, over the words that a convention counts, and a random number
generator to brackets. All except ``oracle`` and ``gold`` use only the number of words. A random baseline is drawn for a
whole treebank, in the order of the file, from one ``random.Random(seed)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import exp, lgamma
from random import Random

from treebank.core.dependency import Heads
from treebank.core.distances import distances_from_tree, spans_from_distances
from treebank.core.sentence import ROOT
from treebank.core.tree import Tree

Spans = Sequence[tuple[int, int]]
Baseline = Callable[[Tree, Random], Spans]


def left(gold: Tree, chance: Random) -> Spans:
    """Brackets of ``(((a b) c) d)``."""
    return [(0, end) for end in range(len(gold), 1, -1)]


def right(gold: Tree, chance: Random) -> Spans:
    """Brackets of ``(a (b (c d)))``.

    >>> right(Tree.from_spans(["a", "b", "c", "d"], []), Random(1))
    [(0, 4), (1, 4), (2, 4)]
    """
    n = len(gold)
    return [(start, n) for start in range(n - 1)]


def balanced(gold: Tree, chance: Random) -> Spans:
    """Brackets of the tree that splits in the middle. The right part of an odd number of words gets one more."""
    return _halve(len(gold), lambda size: size // 2)


def balanced_williams(gold: Tree, chance: Random) -> Spans:
    """Brackets of the tree whose right parts get 2^ceil(log2 n)/2 words (Williams et al. 2018)."""
    return _halve(len(gold), lambda size: size - (1 << (size - 1).bit_length()) // 2)


def _halve(n: int, left_size: Callable[[int], int]) -> Spans:
    """Brackets in pre-order of the tree in which a part of ``size`` words gives ``left_size(size)`` to the left."""
    spans: list[tuple[int, int]] = []
    todo = [(0, n)]
    while todo:
        start, end = todo.pop()
        if end - start > 1:
            spans.append((start, end))
            middle = start + left_size(end - start)
            todo += [(middle, end), (start, middle)]
    return spans


def random(gold: Tree, chance: Random) -> Spans:
    """Brackets made by merging a random adjacent pair until one tree is left (Williams et al. 2018)."""
    starts = list(range(len(gold) + 1))  # where each part begins; the last entry closes the sentence
    spans: list[tuple[int, int]] = []
    while len(starts) > 2:
        pair = chance.choice(range(len(starts) - 2))
        spans.append((starts[pair], starts[pair + 2]))
        del starts[pair + 1]
    return spans


def random_uniform(gold: Tree, chance: Random) -> Spans:
    """Brackets of one of all binary trees, each equally likely.

    Rémy's algorithm as in Knuth, The Art of Computer Programming 4A, 7.2.1.6, algorithm R: nodes with odd numbers are
    brackets with the children ``link[v]`` and ``link[v + 1]``, even ones words; ``link[0]`` is the root.
    """
    link = [0] * max(2 * len(gold) - 1, 1)
    for inner in range(1, len(gold)):
        node, side = divmod(chance.randrange(4 * inner - 2), 2)
        link[2 * inner - side] = 2 * inner
        link[2 * inner - 1 + side] = link[node]
        link[node] = 2 * inner - 1
    spans: list[tuple[int, int]] = []
    word = 0
    todo = [(link[0], -1)]  # a node, and the word at which it began once its children are under way
    while todo:
        node, start = todo.pop()
        if node % 2 == 0:
            word += 1
        elif start >= 0:
            spans.append((start, word))
        else:
            todo += [(node, word), (link[node + 1], -1), (link[node], -1)]
    return spans


def oracle(gold: Tree, chance: Random) -> Spans:
    """Brackets of the gold tree, right-binarized without unary chains: the upper bound of binary trees."""
    return spans_from_distances(distances_from_tree(gold))


def gold(gold: Tree, chance: Random) -> Spans:
    """Brackets of the gold tree itself, unary chains collapsed, which every convention should score as perfect."""
    return [(start, end) for start, end in gold.collapse_unary().spans if end - start > 1]


BASELINES: dict[str, Baseline] = {
    "left": left,
    "right": right,
    "balanced": balanced,
    "balanced-williams": balanced_williams,
    "random": random,
    "random-uniform": random_uniform,
    "oracle": oracle,
    "gold": gold,
}


#: name of a baseline -> heads of a number of words: the word before each word, or the word after it
HEAD_BASELINES: dict[str, Callable[[int], Heads]] = {
    "previous": lambda length: tuple(range(ROOT, length - 1)),
    "next": lambda length: (*range(1, length), ROOT) if length else (),
}


def merge_probability(length: int, n: int, at_edge: bool) -> float:
    """Probability that ``random`` gives a bracket over ``length`` words of ``n``, at an edge of the sentence or not."""
    if length == n:
        return 1.0
    return 1 / length if at_edge else 2 / (length * (length + 1))


def uniform_probability(length: int, n: int, at_edge: bool) -> float:
    """Probability of a bracket in ``random_uniform``: the share of all binary trees that have it (Catalan numbers)."""
    return exp(_log_catalan(length - 1) + _log_catalan(n - length) - _log_catalan(n - 1))


@cache
def _log_catalan(k: int) -> float:
    return lgamma(2 * k + 1) - lgamma(k + 1) - lgamma(k + 2)


#: the random baselines, each with the probability of a bracket
SEEDED: dict[str, Callable[[int, int, bool], float]] = {
    "random": merge_probability,
    "random-uniform": uniform_probability,
}
