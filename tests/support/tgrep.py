"""Trees and generated patterns for the comparison of `treebank.search` with nltk.tgrep.

The trees for nltk avoid two known problems of nltk.tgrep: words have no parents because they are strings, and subtrees
are compared by their content, so that two equal phrases of a tree are taken for one. In nltk, only macros can be named,
so the patterns with names have macros.

``python -m tests.support.tgrep FILE`` writes the answers of nltk that the suite compares with. It needs pyparsing, as
nltk.tgrep does.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from treebank.core.tree import Tree
from treebank.search.search import Query
from treebank.search.tree_language import RELATIONS, IndexedTree

#: patterns of the TGrep2 manual and of the documentation of nltk.tgrep, for labels that are in the trees of `TREES`
MANUAL = tuple(
    """
    A < B
    A > B
    A <1 B
    A >1 B
    A <2 B
    A >2 B
    A <-2 B
    A >-2 B
    A <, B
    A >, B
    A <- B
    A >- B
    A <-1 B
    A >-1 B
    A <' B
    A >' B
    A <: B
    A >: B
    A << B
    A >> B
    A <<, B
    A >>, B
    A <<1 B
    A <<' B
    A >>' B
    A <<: B
    A >>: B
    A . B
    A , B
    A .. B
    A ,, B
    A $ B
    A $. B
    A $, B
    A $.. B
    A $,, B
    A % B
    A %. B
    A %, B
    A %.. B
    A %,, B
    * < B
    __ < B
    A
    A|B
    A|B|C < C|D
    'A < B
    A < 'B
    /^[AB]$/
    /A|B/ < /c/
    "A" << "b"
    i@"a" < i@/^B$/
    i@/^A/
    A !< B
    * !>> A
    A !<< B !$ C
    A < B < C
    A < B & < C
    A < B | < C
    A < B | < C & < D
    A [< B | < C] & < D
    A ![< B | < C]
    A [< B & $ C] | > D
    A < (B < C)
    A < (B < C) << d
    A < (B|C !< D)
    (A < B) < C
    N()
    N(0,)
    N(0,1)
    A << N(0,0)
    @ A A; @A=n < B : =n << C
    @ B /B/; A < @B=b : =b < C
    @ B /B/; @ C C; A < @B=b < @C=c : =b .. =c
    @ B /B/; A < @B=b << (C . =b)
    @ B *; @B=b $ (A !$ =b)
    @ VOWEL /^[AE]/; @VOWEL < B
    @ ONE A|B; @ TWO (C < @ONE); @TWO
    A < B; C < D
    A < B # a comment
    A; B;
    """.strip().split("\n")
)
MANUAL = tuple(line.strip() for line in MANUAL)
OPERATORS = [name for name in RELATIONS if not re.fullmatch("[$%][+-]+", name)]  # without those of Tregex
OPERATORS += ["<1", ">1", "<2", ">2", "<-1", ">-1", "<-2", ">-2"]
LABELS, WORDS = "ABCDE", "abcde"


def random_tree(random: Random, length: int) -> Tree:
    """A tree of few labels and words, so that patterns match often, with words without tags and unary brackets."""
    words = [random.choice(WORDS) for _ in range(length)]
    nodes = [f"({random.choice(LABELS)} {word})" if random.random() < 0.7 else word for word in words]
    while len(nodes) > 1:
        start = random.randrange(len(nodes))
        end = min(len(nodes), start + random.choice((1, 2, 2, 3, 4)))
        nodes[start:end] = [f"({random.choice(LABELS)} {' '.join(nodes[start:end])})"]
    return Tree.from_text(nodes[0] if nodes[0].startswith("(") else f"(A {nodes[0]})")


def random_node(random: Random) -> str:
    forms = (random.choice(LABELS), random.choice(WORDS), "*", f"/[{random.choice(LABELS)}{random.choice(WORDS)}]/")
    return "|".join(random.sample(forms, random.choice((1, 1, 1, 2)))).replace("|*", "").replace("*|", "")


def random_pattern(random: Random, depth: int = 2) -> str:
    """A pattern with up to three relations on each of ``depth`` levels."""
    parts = [random_node(random)]
    for number in range(random.choice((1, 1, 2, 3)) if depth else 0):
        if number:
            parts.append(random.choice(("", "&", "|")))
        operand = random_node(random) if random.random() < 0.5 else f"({random_pattern(random, depth - 1)})"
        relation = f"{random.choice(('', '', '', '!'))}{random.choice(OPERATORS)} {operand}"
        parts.append(f"{random.choice(('', '!'))}[{relation}]" if random.random() < 0.15 else relation)
    return " ".join(part for part in parts if part)


def our_nodes(pattern: str, trees: Iterable[Tree]) -> list[list[int]]:
    """The numbers, in pre-order, of the matching nodes in each tree."""
    query = Query(pattern).pattern
    return [query.nodes(IndexedTree(tree)) for tree in trees]


def nltk_nodes(pattern: str, trees: Sequence[Any]) -> list[list[int]]:
    """The numbers, in pre-order, of the nodes that nltk.tgrep finds in trees of `nltk_tree`."""
    from nltk.tgrep import tgrep_positions

    numbers = [{position: number for number, position in enumerate(tree.treepositions())} for tree in trees]
    matches = tgrep_positions(pattern, trees)
    return [[known[position] for position in positions] for known, positions in zip(numbers, matches, strict=True)]


def nltk_tree(tree: Tree) -> Any:
    """The tree for nltk, with words as nodes without children, and nodes that are equal only to themselves."""
    from nltk import ParentedTree

    class Node(ParentedTree):
        __eq__ = object.__eq__
        __hash__ = object.__hash__

        def __bool__(self) -> bool:
            return True

    def convert(node: Any) -> Any:
        return Node(node, []) if isinstance(node, str) else Node(node.label(), [convert(child) for child in node])

    return convert(tree.to_nltk())


def write_answers(path: str, patterns: int = 119, trees: int = 10) -> None:
    """Write the answers of nltk.tgrep for the manual and for random patterns on random trees. Needs pyparsing."""
    random = Random(7)
    sample = [random_tree(random, random.randrange(4, 14)) for _ in range(trees)]
    converted = list(map(nltk_tree, sample))
    all_patterns = [*MANUAL, *(random_pattern(random) for _ in range(patterns))]
    answers = [{"pattern": pattern, "nodes": nltk_nodes(pattern, converted)} for pattern in all_patterns]
    lines = [json.dumps([str(tree) for tree in sample]), *map(json.dumps, answers)]
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    write_answers(sys.argv[1])
