"""Random labeled trees as nested pairs: a node is (label, children), a leaf (tag, word)."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from treebank.core.tree import TRACE, Tree

LABELS = st.sampled_from(["S", "NP-SBJ", "NP-SBJ-2", "VP", "PP=1", "PRT|ADVP", "X", ""])
LEAVES = st.sampled_from([("DT", "the"), ("NN", "man"), ("VBZ", "is"), ("$", "$"), (",", ","), ("-LRB-", "-LRB-")])
TRACES = st.sampled_from([(TRACE, "*T*-1"), (TRACE, "0")])
NODES = st.recursive(
    st.one_of(LEAVES, LEAVES, TRACES), lambda parts: st.tuples(LABELS, st.lists(parts, min_size=1, max_size=4))
)
ROOTS = st.tuples(st.sampled_from(["S", "TOP"]), st.lists(NODES, min_size=1, max_size=4))
Node = Any


def is_leaf(node: Node) -> bool:
    """Whether the node is a word."""
    return isinstance(node[1], str)


def flat(node: Node) -> Tree:
    """The node as a Tree, unary brackets included."""
    words: list[str] = []
    tags: list[str] = []
    spans: list[Any] = []
    labels: list[str] = []

    def walk(part: Node) -> None:
        if is_leaf(part):
            tags.append(part[0])
            words.append(part[1])
            return
        position, start = len(spans), len(words)
        spans.append(None)
        labels.append(part[0])
        for child in part[1]:
            walk(child)
        spans[position] = (start, len(words))

    walk(node)
    return Tree(tuple(words), tuple(tags), tuple(spans), tuple(labels))
