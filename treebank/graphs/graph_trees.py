"""Trees from syntax graphs whose phrases may be discontinuous, as in NeGra and TIGER, and their nodes for writers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from treebank.core.tags import bare_label
from treebank.core.tree import Tree

ROOT_LABEL = "VROOT"  # phrase over all words if several nodes have no parent
NOTHING = "--"  # cell for a missing label, tag or function
HEAD = "HD"  # function of the head of a phrase


class Edge(NamedTuple):
    """A child of a phrase: the id of its node, and its function."""

    child: str
    function: str


@dataclass
class Graph:
    """The syntax graph of a sentence: words with tags under their ids in order, and phrases with labels and edges."""

    words: dict[str, str] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    edges: dict[str, list[Edge]] = field(default_factory=dict)

    def new(self, node: str) -> str:
        """The id ``node``. Raises ValueError if a word or phrase has it already."""
        if node in self.words or node in self.labels:
            raise ValueError(f"two words or phrases have the id {node!r}")
        return node

    def tree(self) -> tuple[Tree, int]:
        """The tree of the graph, and the number of its discontinuous phrases.

        A discontinuous phrase keeps the words around its head, or its longest part if no child has the function `HD`;
        its other parts become children of the phrase above. Labels are ``NP-SB`` with the function ``SB``. Raises
        ValueError if an edge has no node, a node has two parents, or edges form a cycle.
        """
        return _TreeBuilder(self).build()


@dataclass(frozen=True)
class _Part:
    """A continuous subtree: its words, and its brackets in pre-order as (start, end, label)."""

    start: int
    end: int
    is_head: bool
    brackets: tuple[tuple[int, int, str], ...] = ()


class _TreeBuilder:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.discontinuous = graph, 0
        self.position = {node: index for index, node in enumerate(graph.words)}
        self.functions: dict[str, str] = {}
        for edges in graph.edges.values():
            for child, function in edges:
                if child not in self.position and child not in graph.labels:
                    raise ValueError(f"an edge leads to {child!r}, which is not a node of this sentence")
                if child in self.functions:
                    raise ValueError(f"the node {child!r} has two parents")
                self.functions[child] = function

    def build(self) -> tuple[Tree, int]:
        graph = self.graph
        parts: dict[str, list[_Part]] = {
            node: [_Part(index, index + 1, self.functions.get(node) == HEAD)] for node, index in self.position.items()
        }
        for node in self._bottom_up():
            children = [part for child, _ in graph.edges.get(node, ()) for part in parts.pop(child, ())]
            parts[node] = self._joined(node, children)
        tops = sorted((part for group in parts.values() for part in group), key=lambda part: part.start)
        brackets = [bracket for part in tops for bracket in part.brackets]
        if len(tops) > 1 or (tops and not brackets):
            brackets.insert(0, (0, len(graph.words), ROOT_LABEL))
        pairs = [((start, end), label) for start, end, label in brackets]
        return Tree.from_brackets(graph.words.values(), graph.tags, pairs), self.discontinuous

    def _bottom_up(self) -> list[str]:
        """The phrases, each after the phrases below it. Raises ValueError for a cycle."""
        order = [node for node in self.graph.labels if node not in self.functions]
        for node in order:  # grows during the loop
            order += [child for child, _ in self.graph.edges.get(node, ()) if child in self.graph.labels]
        if len(order) < len(self.graph.labels):
            raise ValueError("the edges of this sentence form a cycle")
        return order[::-1]

    def _joined(self, node: str, children: list[_Part]) -> list[_Part]:
        """The continuous phrase over the children, and the parts that it loses."""
        groups: list[list[_Part]] = []
        for part in sorted(children, key=lambda part: part.start):
            if groups and groups[-1][-1].end == part.start:
                groups[-1].append(part)
            else:
                groups.append([part])
        if not groups:
            raise ValueError(f"the phrase {node!r} has no words; delete it")
        self.discontinuous += len(groups) > 1
        main = max(groups, key=lambda group: (any(part.is_head for part in group), group[-1].end - group[0].start))
        function = self.functions.get(node, NOTHING)
        start, end = main[0].start, main[-1].end
        inner = tuple(bracket for part in main for bracket in part.brackets)
        label = full_label(self.graph.labels[node], function)
        phrase = _Part(start, end, function == HEAD, ((start, end, label), *inner))
        others = [part for group in groups if group is not main for part in group]
        return [phrase, *(_Part(part.start, part.end, False, part.brackets) for part in others)]


def full_label(label: str, function: str) -> str:
    """``NP-SB`` for the phrase ``NP`` with the function ``SB``."""
    if function in ("", NOTHING):
        return "" if label == NOTHING else label
    return label + (function if function.startswith("=") else f"-{function}")


def split_label(label: str) -> tuple[str, str]:
    """Phrase and function of a label, the inverse of `full_label`, with `NOTHING` for a missing one."""
    phrase = bare_label(label)
    function = label[len(phrase) :].removeprefix("-")
    return phrase or NOTHING, function or NOTHING


class Node(NamedTuple):
    """A phrase to write, with its number, and its children: indices of words, and numbers of phrases."""

    number: int
    phrase: str
    function: str
    words: list[int]
    phrases: list[int]


FIRST_NUMBER = 500  # of a phrase, by convention


def nodes_of(tree: Tree) -> tuple[list[Node], list[int], list[int]]:
    """The phrases of a tree, children first, and its top nodes: words and numbers of phrases.

    Phrases have numbers from `FIRST_NUMBER` on, and after those of the words, which count from 1. A phrase `VROOT` over
    all words is not a node; its children are top nodes.
    """
    size = len(tree.spans)
    *children, tops = tree.children()
    is_virtual = size > 0 and tops == [0] and tree.labels[0] == ROOT_LABEL
    tops = children[0] if is_virtual else tops
    numbers = count(max(FIRST_NUMBER, len(tree) + 1))
    number = {k: next(numbers) for k in reversed(range(is_virtual, size))}

    def divided(nodes: Sequence[int]) -> tuple[list[int], list[int]]:
        return [node - size for node in nodes if node >= size], [number[node] for node in nodes if node < size]

    nodes = [Node(number[k], *split_label(tree.labels[k]), *divided(children[k])) for k in number]
    return nodes, *divided(tops)
