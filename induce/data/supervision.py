"""Which sentences are learned from, which of them with a tree, and whether that is the right one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random

from induce.settings.run import DataConfig
from treebank.core.baselines import find_baseline
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree


def in_share(index: int, share: float) -> bool:
    """Whether the sentence number ``index``, from 1, is one of an evenly spread ``share`` of a text."""
    return int(index * share) > int((index - 1) * share)


def spread(sentences: Iterable[Sentence], share: float) -> Iterator[Sentence]:
    """An evenly spread ``share`` of the sentences."""
    return (one for index, one in enumerate(sentences, start=1) if in_share(index, share))


def supervised(sentences: Sequence[Sentence], config: DataConfig, *, seed: int) -> Iterator[Sentence]:
    """The sentences of a treebank, an evenly spread ``tree_share`` of them with their trees, the others without.

    With ``trees = "random"`` each has a random binary tree in the place of its own (Du et al. 2020, table 4).
    """
    chance, build = Random(seed), find_baseline("random")
    for index, sentence in enumerate(sentences, start=1):
        tree = sentence.tree
        if not in_share(index, config.tree_share):
            tree = None
        elif tree is not None and config.trees == "random":
            seen = tree.without_traces()
            tree = Tree.from_spans(seen.words, build(seen, chance))
        yield replace(sentence, tree=tree)
