"""Patterns for trees in the syntax of TGrep2, as nltk.tgrep reads it, with the sister relations of Tregex.

Nodes are the brackets, tags and words of a tree, numbered in pre-order: the descendants of a node follow it directly.
Words are nodes with parents, which they are not in nltk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from treebank.core.tree import Tree
from treebank.core.word_check import spellings
from treebank.search.pattern import Condition, Relation, Scanner

_LITERAL = re.compile(r"[^\]\[ \r\t\n;:.,&|<>()$!@%'^=]+")
_POSITION = re.compile(r"N\(\s*((?:\d{1,9}\s*,\s*)*(?:\d{1,9}\s*)?)\)")
_OPERATOR = re.compile(r"[$%][.,+-]*|[.,]+|[<>][%,.<>0-9\-':]*")
_CHILD = re.compile(r"([<>])(-?)(\d{1,9})")
_ESCAPED_CHARACTERS = re.compile(r"[()\[\]{}/*]")  # words in a tree may have other forms of them
_MAX_LABELS = 1 << 16  # of the cache of each regular expression


class IndexedTree:
    """The nodes of a tree in pre-order: label, parent (-1 for the root), last descendant, and words (start, end)."""

    __slots__ = ("ends", "labels", "last", "parents", "starts")

    def __init__(self, tree: Tree, words: Sequence[str] = ()) -> None:
        """``words`` are written instead of those of the tree, which must be as many."""
        labels, parents, last = list[str](), list[int](), list[int]()
        starts, ends = list[int](), list[int]()
        open_nodes, open_ends = [-1], [len(tree.words) + 1]
        spans, count, k = tree.spans, len(tree.spans), 0
        for word, (form, tag) in enumerate(zip(words or tree.words, tree.tags, strict=True)):
            while k < count and spans[k][0] == word:
                node, end = len(labels), spans[k][1]
                labels.append(tree.labels[k])
                parents.append(open_nodes[-1])
                starts.append(word)
                ends.append(end)
                last.append(node)
                open_nodes.append(node)
                open_ends.append(end)
                k += 1
            node, end = len(labels), word + 1
            if tag:
                labels += (tag, form)
                parents += (open_nodes[-1], node)
                starts += (word, word)
                ends += (end, end)
                last += (node + 1, node + 1)
                node += 1
            else:
                labels.append(form)
                parents.append(open_nodes[-1])
                starts.append(word)
                ends.append(end)
                last.append(node)
            while open_ends[-1] == end:
                open_ends.pop()
                last[open_nodes.pop()] = node
        self.labels, self.parents, self.last, self.starts, self.ends = labels, parents, last, starts, ends

    def children(self, node: int) -> Iterator[int]:
        """The children of a node, from left to right."""
        child, last = node + 1, self.last[node]
        while child <= last:
            yield child
            child = self.last[child] + 1

    def position(self, node: int) -> tuple[int, ...]:
        """The index of each node on the path from the root among its sisters, as ``treeposition`` of nltk."""
        path = []
        while (parent := self.parents[node]) >= 0:
            path.append(list(self.children(parent)).index(node))
            node = parent
        return tuple(reversed(path))


class TreeLanguage:
    """The nodes and relations of patterns for trees."""

    expected = "a node: a label, a word, /regular expression/ or * for any"

    def read_node(self, scanner: Scanner) -> Condition | None:
        """Read ``*``, a label or word, ``"quoted"``, ``/regular/``, ``i@…`` (ignoring case) or ``N(0,1)``."""
        if position := scanner.match(_POSITION):
            path = tuple(map(int, re.findall(r"\d+", position[1])))
            return Condition(lambda tree, node, names: tree.position(node) == path)
        ignore_case = bool(scanner.accept("i@"))
        if (quoted := scanner.quoted()) is not None:
            if not ignore_case:
                return _labeled(quoted)
            forms = {form.lower() for form in spellings(quoted)}
            return Condition(lambda tree, node, names: tree.labels[node].lower() in forms)
        if (expression := scanner.regular(ignore_case=ignore_case)) is not None:
            is_match = LabelTest(expression)
            return Condition(lambda tree, node, names: is_match[tree.labels[node]])
        if ignore_case:
            raise scanner.error('expected "text" or /expression/ after i@')
        if scanner.accept("*"):
            return Condition(lambda tree, node, names: True)
        literal = scanner.match(_LITERAL)
        if not literal:
            return None
        return Condition(lambda tree, node, names: True) if literal[0] == "__" else _labeled(literal[0])

    def read_relation(self, scanner: Scanner) -> Relation | None:
        """Read an operator such as ``<`` or ``$..``. Raises PatternError if the operator is unknown."""
        scanner.skip()
        start = scanner.position
        operator = scanner.match(_OPERATOR)
        if not operator:
            return None
        related = RELATIONS.get(operator[0]) or _numbered(operator[0])
        if related is None:
            known = " ".join(name for name in RELATIONS if "%" not in name)
            raise scanner.error(f"unknown relation {operator[0]}; known are {known} and <2 <-2 >2 …", start)
        return related


class LabelTest(dict[str, bool]):
    """Labels for which ``search`` matches, remembered: a treebank has few different ones."""

    def __init__(self, search: Callable[[str], object]) -> None:
        super().__init__()
        self._search = search

    def __missing__(self, label: str) -> bool:
        if len(self) >= _MAX_LABELS:
            self.clear()
        self[label] = result = self._search(label) is not None
        return result


def _labeled(label: str) -> Condition:
    """The condition that a node has this label, with brackets and accented letters in words written in any way."""
    labels = spellings(label)
    if len(labels) > 1:
        return Condition(lambda tree, node, names: tree.labels[node] in labels, labels)
    needs = () if _ESCAPED_CHARACTERS.search(label) else (labels,)
    return Condition(lambda tree, node, names: tree.labels[node] == label, labels, needs)


def _numbered(operator: str) -> Relation | None:
    """The relation of ``<3`` (third child), ``<-2`` (last but one), ``>3`` and ``>-2``, or None."""
    number = _CHILD.fullmatch(operator)
    if not number or not int(number[3]):
        return None
    index = -int(number[3]) if number[2] else int(number[3]) - 1
    return partial(_child if number[1] == "<" else _as_child, index)


def _child(index: int, tree: IndexedTree, node: int) -> list[int]:
    children = list(tree.children(node))
    return [children[index]] if -len(children) <= index < len(children) else []


def _as_child(index: int, tree: IndexedTree, node: int) -> list[int]:
    parent = tree.parents[node]
    return [parent] if parent >= 0 and _child(index, tree, parent) == [node] else []


def _only_child(tree: IndexedTree, node: int) -> list[int]:
    return [node + 1] if node < tree.last[node] == tree.last[node + 1] else []


def _as_only_child(tree: IndexedTree, node: int) -> list[int]:
    parent = tree.parents[node]
    return [parent] if parent >= 0 and _only_child(tree, parent) == [node] else []


def _ancestors(tree: IndexedTree, node: int) -> Iterator[int]:
    while (node := tree.parents[node]) >= 0:
        yield node


def _leftmost_descendants(tree: IndexedTree, node: int) -> Iterator[int]:
    while node < tree.last[node]:
        node += 1
        yield node


def _single_path_down(tree: IndexedTree, node: int) -> Iterator[int]:
    while below := _only_child(tree, node):
        node = below[0]
        yield node


def _single_path_up(tree: IndexedTree, node: int) -> Iterator[int]:
    while above := _as_only_child(tree, node):
        node = above[0]
        yield node


def _directly_after(tree: IndexedTree, node: int) -> Iterator[int]:
    """The nodes whose first word follows the last word of ``node``: one node and its leftmost descendants."""
    after = tree.last[node] + 1
    if after < len(tree.last):
        yield after
        yield from _leftmost_descendants(tree, after)


def _directly_before(tree: IndexedTree, node: int) -> list[int]:
    """The nodes whose last word precedes the first word of ``node``, from the largest to the smallest."""
    start = tree.starts[node]
    return [before for before in range(node) if tree.ends[before] == start]


def _sisters(tree: IndexedTree, node: int) -> list[int]:
    parent = tree.parents[node]
    return [sister for sister in tree.children(parent) if sister != node] if parent >= 0 else []


def _sisters_before(tree: IndexedTree, node: int) -> list[int]:
    return [sister for sister in _sisters(tree, node) if sister < node]


def _sisters_after(tree: IndexedTree, node: int) -> list[int]:
    return [sister for sister in _sisters(tree, node) if sister > node]


#: operator -> the nodes B for which ``A operator B`` holds (TGrep2 manual, section 4.2)
RELATIONS: dict[str, Relation] = {
    "<": lambda tree, node: tree.children(node),
    ">": lambda tree, node: [parent] if (parent := tree.parents[node]) >= 0 else [],
    "<,": partial(_child, 0),
    ">,": partial(_as_child, 0),
    "<'": partial(_child, -1),
    ">'": partial(_as_child, -1),
    "<-": partial(_child, -1),
    ">-": partial(_as_child, -1),
    "<:": _only_child,
    ">:": _as_only_child,
    "<<": lambda tree, node: range(node + 1, tree.last[node] + 1),
    ">>": _ancestors,
    "<<,": _leftmost_descendants,
    ">>,": lambda tree, node: (top for top in _ancestors(tree, node) if tree.starts[top] == tree.starts[node]),
    "<<'": lambda tree, node: [k for k in range(node + 1, tree.last[node] + 1) if tree.last[k] == tree.last[node]],
    ">>'": lambda tree, node: (top for top in _ancestors(tree, node) if tree.last[top] == tree.last[node]),
    "<<:": _single_path_down,
    ">>:": _single_path_up,
    ".": _directly_after,
    ",": _directly_before,
    "..": lambda tree, node: range(tree.last[node] + 1, len(tree.last)),
    ",,": lambda tree, node: [before for before in range(node) if tree.last[before] < node],
    "$": _sisters,
    "$.": lambda tree, node: _sisters_after(tree, node)[:1],
    "$,": lambda tree, node: _sisters_before(tree, node)[-1:],
    "$..": _sisters_after,
    "$,,": _sisters_before,
}
_SISTERS = {"": "", ".": ".", ",": ",", "..": "..", ",,": ",,", "+": ".", "-": ",", "++": "..", "--": ",,"}
RELATIONS |= {f"{sign}{form}": RELATIONS[f"${same}"] for sign in "$%" for form, same in _SISTERS.items()}
RELATIONS["<<1"] = _leftmost_descendants
