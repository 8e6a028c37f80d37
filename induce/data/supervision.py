"""Selection of training sentences and of their trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random

from induce.settings.run import DataConfig
from treebank.core.baselines import find_baseline
from treebank.core.sentence import Sentence
from treebank.core.tree import Tree


def in_share(index: int, share: float) -> bool:
    """Whether sentence ``index``, from 1, is in an evenly spread ``share`` of a text."""
    return int(index * share) > int((index - 1) * share)


def spread(sentences: Iterable[Sentence], share: float) -> Iterator[Sentence]:
    """An evenly spread ``share`` of the sentences."""
    return (sentence for index, sentence in enumerate(sentences, start=1) if in_share(index, share))


def supervised(sentences: Sequence[Sentence], config: DataConfig, *, seed: int) -> Iterator[Sentence]:
    """Sentences of a treebank, an evenly spread ``tree_share`` of them with trees.

    With ``trees = "random"`` each of these trees is replaced by a random binary tree (Du et al. 2020, table 4).
    """
    generator, build = Random(seed), find_baseline("random")
    for index, sentence in enumerate(sentences, start=1):
        tree = sentence.tree
        if not in_share(index, config.tree_share):
            tree = None
        elif tree is not None and config.trees == "random":
            gold = tree.without_traces()
            tree = Tree.from_spans(gold.words, build(gold, generator))
        yield replace(sentence, tree=tree)
