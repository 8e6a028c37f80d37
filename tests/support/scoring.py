"""Toy trees as nested lists, and toy treebanks and predictions made from them.

A leaf is a pair (tag, word), a node a list [label, child, …].
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from tests.support.reference import SHARED
from treebank.core.sentence import Location, Sentence, Treebank
from treebank.core.tree import Tree
from treebank.evaluate.systems import System, SystemInfo
from treebank.io.predictions import PredictedTree

Node = Any
SAFE = ["S", ["NP", ("NN", "a"), ("NN", "b")], ("VB", "c")]  # a tree with Penn tags, so that a treebank is not empty
DEPENDENCY_SAMPLE = SHARED / "data" / "nltk_data" / "corpora" / "dependency_treebank.zip"


def bracketed(node: Node) -> str:
    """The node in brackets."""
    return f"({node[0]} {node[1]})" if isinstance(node, tuple) else f"({node[0]} {' '.join(map(bracketed, node[1:]))})"


def treebank_of(nodes: Sequence[Node]) -> Treebank:
    """A treebank with one sentence per node, read from ``toy.mrg``."""
    trees = [Tree.from_text(bracketed(node)) for node in nodes]
    return Treebank(
        "toy",
        [Sentence(tree.words, tree.tags, tree, location=Location("toy.mrg", i)) for i, tree in enumerate(trees, 1)],
    )


def predictions_of(nodes: Sequence[Node]) -> list[PredictedTree]:
    """The nodes as predictions of the file ``p.txt``."""
    texts = [bracketed(node) for node in nodes]
    return [PredictedTree("p.txt", i, text, Tree.from_text(text)) for i, text in enumerate(texts, 1)]


def predicted_system(predictions: Sequence[Any], kind: Any = "trees", name: str = "p.txt") -> System:
    """A system that returns these predictions."""
    return System(SystemInfo(name), kind, lambda sentences: predictions)


@contextmanager
def without_intervals() -> Iterator[None]:
    """Skip the bootstrap inside the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("treebank.evaluate.score.bootstrap_interval", lambda *_: (0.0, 0.0))
        yield


@cache
def dependency_sample() -> Treebank:
    """The sentences of nltk's sample of dependency trees. Skips the test if it is missing."""
    if not DEPENDENCY_SAMPLE.exists():
        pytest.skip(f"{DEPENDENCY_SAMPLE} is missing")
    sentences = []
    with zipfile.ZipFile(DEPENDENCY_SAMPLE) as archive:
        for name in sorted(name for name in archive.namelist() if name.endswith(".dp")):
            for block in archive.read(name).decode().strip().split("\n\n"):
                words, tags, heads = zip(*(row.split() for row in block.strip().split("\n")), strict=True)
                sentences.append(Sentence(words, tags, heads=tuple(int(head) - 1 for head in heads)))
    return Treebank("dependency_treebank", sentences)
