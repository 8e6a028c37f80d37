"""Trees for the models that learn from trees: which sentences have one, and whether it is the right one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from induce.config import DataConfig
from treebank.baselines import find_baseline
from treebank.sentence import Sentence
from treebank.tree import Tree


def supervised(sentences: Sequence[Sentence], config: DataConfig, *, seed: int) -> Iterator[Sentence]:
    """The sentences of a treebank, an evenly spread ``tree_share`` of them with their trees, the others without.

    With ``trees = "random"`` each has a random binary tree in the place of its own (Du et al. 2020, table 4).
    """
    chance, build = Random(seed), find_baseline("random")
    for index, sentence in enumerate(sentences, start=1):
        tree = sentence.tree
        if int(index * config.tree_share) == int((index - 1) * config.tree_share):
            tree = None
        elif tree is not None and config.trees == "random":
            seen = tree.without_traces()
            tree = Tree.from_spans(seen.words, build(seen, chance))
        yield replace(sentence, tree=tree)
