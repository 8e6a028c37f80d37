"""Trees and gold from a program: the natural calls of ``synparse.evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import synparse
from treebank.base.errors import SynparseError
from treebank.core.tree import Tree

TEXTS = ["(S (NP (DT the) (NN cat)) (VP (VBD sat)))", "(S (NP (DT a) (JJ big) (NN dog)) (VP (VBD ran)))"]
TREES = [Tree.from_text(text) for text in TEXTS]


@pytest.mark.parametrize("system", [TREES, [tree.to_nltk() for tree in TREES], TEXTS], ids=["Tree", "nltk", "text"])
def test_lists_of_trees_are_scored(system: list[Any]) -> None:
    (score,) = synparse.evaluate(TREES, system).trees
    assert round(score.value, 4) == 100
    assert score.system == "trees 1"


def test_gold_and_system_can_be_paths(tmp_path: Path) -> None:
    path = tmp_path / "gold.mrg"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    first, second = synparse.evaluate(path, path, TREES).trees
    assert (first.system, second.system) == ("trees 1", str(path))
    assert first.value == second.value


@pytest.mark.parametrize(
    ("system", "message"),
    [
        ("rihgt", "did you mean 'right'"),
        (42, "system 1 is not a parser, a path"),
        ([None], "not a tree: expected a Tree"),
    ],
)
def test_other_systems_are_refused(system: Any, message: str) -> None:
    with pytest.raises(SynparseError, match=message):
        synparse.evaluate(TREES, system)


def test_gold_that_is_not_a_list_of_trees_is_refused() -> None:
    with pytest.raises(SynparseError, match="gold is not a path, the name of a treebank or a list of trees: 42"):
        synparse.evaluate(42, "right")
