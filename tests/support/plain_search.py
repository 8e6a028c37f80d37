"""An independent search for patterns: nodes are objects with parents, and relations are tested pair by pair.

A pattern is (label, conditions); a condition is (negated, relation, pattern), or a list of alternatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.support.nested_trees import Node, is_leaf

RELATIONS = (
    "<",
    "<<",
    "<,",
    "<-",
    "<:",
    ">",
    ">>",
    ">,",
    ">-",
    ">:",
    ".",
    ",",
    "..",
    ",,",
    "$",
    "$.",
    "$,",
    "$..",
    "$,,",
)
Pattern = tuple[str, list[Any]]


@dataclass(eq=False)
class Part:
    """A phrase, tag or word with its words from ``start`` to ``end``."""

    label: str
    start: int
    parent: Part | None = None
    end: int = 0
    children: list[Part] = field(default_factory=list)


def parts_of(node: Node) -> list[Part]:
    """All nodes of a nested tree in pre-order, with tags above their words."""
    parts: list[Part] = []

    def walk(node: Node, start: int, parent: Part | None) -> Part:
        part = Part(node[0], start, parent)
        parts.append(part)
        if is_leaf(node):
            part.end = start + 1
            part.children.append(Part(node[1], start, part, start + 1))
            parts.append(part.children[0])
        else:
            part.end = start
            for child in node[1]:
                part.children.append(walk(child, part.end, part))
                part.end = part.children[-1].end
        return part

    walk(node, 0, None)
    return parts


def above(part: Part) -> Iterator[Part]:
    """The ancestors of a node."""
    while (part := part.parent) is not None:
        yield part


def holds(relation: str, a: Part, b: Part) -> bool:
    """Whether ``A relation B`` holds."""
    if relation[0] == ">":
        return holds(relation.replace(">", "<"), b, a)
    if relation in (",", ",,"):
        return holds("." * len(relation), b, a)
    if relation == "..":
        return a.end <= b.start and a not in above(b) and b not in above(a)
    if relation == ".":
        return a.end == b.start
    if relation[0] == "$":
        if a is b or a.parent is None or a.parent is not b.parent:
            return False
        distance = a.parent.children.index(b) - a.parent.children.index(a)
        return {"": True, ".": distance == 1, ",": distance == -1, "..": distance > 0, ",,": distance < 0}[relation[1:]]
    if relation == "<<":
        return a in above(b)
    index = {"<,": [0], "<-": [-1], "<:": [0] if len(a.children) == 1 else []}.get(relation)
    return any(b is child for child in (a.children if index is None else [a.children[i] for i in index if a.children]))


def matches(pattern: Pattern, part: Part, parts: list[Part]) -> bool:
    """Whether a node matches."""

    def fulfilled(condition: Any) -> bool:
        if isinstance(condition, list):
            return any(map(fulfilled, condition))
        negated, relation, operand = condition
        return negated != any(holds(relation, part, other) and matches(operand, other, parts) for other in parts)

    forms = ("*", part.label, part.label.replace("(", "-LRB-"))  # words have brackets as such
    return pattern[0] in forms and all(map(fulfilled, pattern[1]))


def random_pattern(random: Random, labels: list[str], depth: int = 2) -> Pattern:
    """A pattern with up to three conditions, some of them alternatives."""

    def condition() -> tuple[bool, str, Pattern]:
        operand = random_pattern(random, labels, depth - 1)
        return random.random() < 0.25, random.choice(RELATIONS), operand

    count = random.randrange(3) if depth else 0
    parts = [[condition(), condition()] if random.random() < 0.25 else condition() for _ in range(count)]
    return random.choice(labels), parts


def text_of(pattern: Pattern) -> str:
    """The pattern as it is written."""

    def written(condition: Any) -> str:
        if isinstance(condition, list):
            return f"[{' | '.join(map(written, condition))}]"
        negated, relation, operand = condition
        return f"{'!' * negated}{relation} ({text_of(operand)})"

    label = pattern[0] if pattern[0] == "*" else f'"{pattern[0]}"'
    return " ".join([label, *map(written, pattern[1])])
