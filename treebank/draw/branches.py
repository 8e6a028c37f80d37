"""The shape of a tree for drawing: parents, children, depths and positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from treebank.core.tree import Tree

BARE_LABELS = frozenset({"", "X", "·"})  # of brackets that have no name
BARE_TAGS = frozenset({"", "W"})  # of words that have no tag
TOP = -1  # the parent of a node without a bracket around it


@dataclass(frozen=True)
class Branches:
    """The brackets and words of ``tree``, numbered: bracket k is k, word i is ``len(tree.spans) + i``."""

    tree: Tree

    @cached_property
    def parents(self) -> list[int]:
        """The bracket around each bracket, then around each word, or ``TOP`` without one."""
        parents = [TOP] * (len(self.tree.spans) + len(self.tree))
        for k, below in enumerate(self.children):
            for node in below:
                parents[node] = k
        return parents

    @cached_property
    def children(self) -> list[list[int]]:
        """The brackets and words directly below each bracket, from left to right."""
        return self.tree.children()[:-1]

    @cached_property
    def depths(self) -> list[int]:
        """Number of brackets around each bracket."""
        depths: list[int] = []
        for parent in self.parents[: len(self.tree.spans)]:
            depths.append(0 if parent == TOP else depths[parent] + 1)
        return depths

    @cached_property
    def levels(self) -> int:
        """Maximum number of nested brackets."""
        return max(self.depths, default=-1) + 1

    @cached_property
    def labelled(self) -> bool:
        """Whether any bracket has a label."""
        return any(label not in BARE_LABELS for label in self.tree.labels)

    def start(self, node: int) -> int:
        """The first word of a bracket, or the word itself."""
        count = len(self.tree.spans)
        return node - count if node >= count else self.tree.spans[node][0]

    def middles(self, words: Sequence[float]) -> list[float]:
        """Horizontal position of each bracket, given those of the words: midway between its outermost children."""
        count = len(self.tree.spans)
        positions = [0.0] * count + list(words)
        for k in reversed(range(count)):  # children come after their parents
            children = self.children[k]
            positions[k] = (positions[children[0]] + positions[children[-1]]) / 2
        return positions[:count]


def visible(name: str, bare: frozenset[str]) -> str:
    """``name``, or "" if it is one of the ``bare`` names."""
    return "" if name in bare else name
