"""Speed of the inside algorithm, forward and backward, against the minimal time of its matrix products.

The floor is the time of the multiplications and additions of the products, in both passes, at the speed at which this
machine multiplies two square matrices of 1,024 rows. Batches hold sentences of one length. Rules of low rank have twice
as many ranks as nonterminals; the product of their factors, once per batch, is not part of the floor.
"""

from __future__ import annotations

from functools import partial
from itertools import product

import torch

from bench.common import best_seconds
from induce.models.grammars.npcfg import FullRules
from induce.models.grammars.rules import Rules
from induce.models.grammars.simple_pcfg import SimpleRules
from induce.models.grammars.tn_pcfg import RankRules

SIZES = {"full": [(30, 60)], "simple": [(64, 128), (128, 256), (256, 512)], "rank": [(64, 128), (250, 500)]}
RANKS_PER_NONTERMINAL = 2
LENGTHS = (10, 20, 30, 40)
BATCH_WORDS = 300


def operations(kind: str, count: int, size: int, words: int) -> float:
    """Number of additions and multiplications for one sentence of ``count`` words, in both passes."""
    spans = count * (count - 1) / 2
    if kind == "rank":
        return operations("simple", count, RANKS_PER_NONTERMINAL * size, words)
    if kind == "simple":
        return 3 * 2 * (count * words * 2 * size + (spans - 1) * size * 2 * size)
    wide = (count - 3) * (count - 2) / 2  # spans that split into two phrases
    splits = sum((count - width + 1) * (width - 3) for width in range(4, count + 1))
    beside_words = 2 * (spans - (count - 1)) * size**2
    terminal = 2 * count * words * size**2 + (count - 1) * (words**2 * size + words * size)
    return 3 * 2 * (wide * size**3 + splits * size**2 + beside_words + terminal)


def random_rules(kind: str, size: int, words: int) -> Rules:
    """Random rules that require gradients."""
    symbols = size + words
    root = torch.randn(size).softmax(-1).requires_grad_()
    if kind == "full":
        return FullRules(root, torch.randn(size, symbols**2).softmax(-1).view(size, symbols, symbols).requires_grad_())
    if kind == "rank":
        rank = RANKS_PER_NONTERMINAL * size
        shapes = [(size, rank), (rank, symbols), (rank, symbols)]
        return RankRules(root, *(torch.randn(shape).softmax(-1).requires_grad_() for shape in shapes))
    left, right = (torch.randn(size, symbols).softmax(-1).requires_grad_() for _ in range(2))
    return SimpleRules(root, left, right)


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """Words per second and share of the floor by grammar, size and length, on one thread."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    figures = {}
    for kind, sizes in SIZES.items():
        for (size, words), count in product(sizes[:1] if quick else sizes, LENGTHS):
            batch = max(1, BATCH_WORDS // count)
            rules = random_rules(kind, size, words)
            emissions = (torch.randn(batch, count, words) - 8).requires_grad_()
            growth, square = 0.0 if kind == "full" else 1.0, torch.rand(1024, 1024)
            runs = {
                "square": partial(torch.matmul, square, square),
                "inside": lambda: rules.log_partition(emissions, growth=growth).sum().backward(),  # noqa: B023
            }
            seconds = best_seconds(runs, 2)
            floor = batch * operations(kind, count, size, words) * seconds["square"] / (2 * 1024**3)
            figures[f"grammar {kind}, nonterminals {size}, preterminals {words}, length {count}"] = {
                "words a second": batch * count / seconds["inside"],
                "share of the floor": floor / seconds["inside"],
            }
    return figures
