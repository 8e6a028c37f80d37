"""Patterns for heads: words in braces, ``{upos=VERB} >nsubj {form=dog}``, and relations between them.

Relations, names and brackets combine as in patterns for trees. The language resembles Semgrex, in which ``A > B`` says
that A is the head of B.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from treebank.core.sentence import ROOT, Sentence
from treebank.core.word_check import plain, spellings
from treebank.search.pattern import Condition, Relation, Scanner, Test
from treebank.search.tree_language import LabelTest

_ATTRIBUTE = re.compile(r"[a-z]+")
_COMPARISON = re.compile(r"!=|>=|<=|=|>|<")
_VALUE = re.compile(r'[^\s;|{}"]+')
_NUMBER = re.compile(r"\d{1,9}(?!\d)")
_OPERATOR = re.compile(r"<<|>>|<|>|\.\.|\.|,,|,|\$\.\.|\$,,|\$")
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}


class IndexedHeads:
    """The words of a sentence with heads. Nodes are the indices of words."""

    __slots__ = ("_dependents", "heads", "labels", "sentence")

    def __init__(self, sentence: Sentence) -> None:
        self.sentence = sentence
        self.labels: Sequence[str] = plain(sentence.words)
        self.heads = sentence.heads or (ROOT,) * len(sentence.words)
        self._dependents: list[list[int]] | None = None

    def dependents(self, node: int) -> list[int]:
        """The dependents of a word, from left to right."""
        if self._dependents is None:
            self._dependents = [[] for _ in self.heads]
            for dependent, head in enumerate(self.heads):
                if head != ROOT:
                    self._dependents[head].append(dependent)
        return self._dependents[node]


#: attribute with text -> its value for each word of a sentence, or () if it has none
TEXTS: dict[str, Callable[[IndexedHeads], Sequence[str]]] = {
    "form": lambda heads: heads.labels,
    "tag": lambda heads: heads.sentence.tags,
    "upos": lambda heads: heads.sentence.universal_tags,
    "relation": lambda heads: heads.sentence.relations,
}
ATTRIBUTES = (*TEXTS, "distance", "direction")
DIRECTIONS: dict[str, Test] = {  # position of the head of a word
    "left": lambda heads, node, names: ROOT != heads.heads[node] < node,
    "right": lambda heads, node, names: heads.heads[node] > node,
    "root": lambda heads, node, names: heads.heads[node] == ROOT,
}


class HeadLanguage:
    """The nodes and relations of patterns for heads."""

    expected = "a word in braces, such as {upos=VERB} or {} for any"

    def read_node(self, scanner: Scanner) -> Condition | None:
        """Read ``{attribute=value; …}``, in which all conditions must hold."""
        if not scanner.accept("{"):
            return None
        tests = []
        while not scanner.accept("}"):
            tests.append(_read_condition(scanner))
            if not scanner.accept(";") and not scanner.follows("}"):
                raise scanner.error("expected ; or the closing }")
        return Condition(lambda heads, node, names: all(test(heads, node, names) for test in tests))

    def read_relation(self, scanner: Scanner) -> Relation | None:
        """Read an operator. A relation or ``/regular expression/`` may follow ``<`` and ``>`` directly."""
        match = scanner.match(_OPERATOR)
        if not match:
            return None
        name = match[0]
        following = scanner.text[scanner.position : scanner.position + 1]  # no white space and no node
        if name not in ("<", ">") or not (following in ("/", '"') or following.isalnum()):
            return RELATIONS[name]
        is_relation = _read_text(scanner, "relation")
        if name == ">":
            return lambda heads, node: (word for word in heads.dependents(node) if is_relation(heads, word, {}))
        return lambda heads, node: _head(heads, node) if is_relation(heads, node, {}) else []


def _read_condition(scanner: Scanner) -> Test:
    """Read ``attribute=value``. Raises PatternError for an unknown attribute and for a value that it cannot have."""
    scanner.skip()
    start = scanner.position
    attribute = scanner.match(_ATTRIBUTE)
    if not attribute or attribute[0] not in ATTRIBUTES:
        raise scanner.error(f"expected an attribute: {', '.join(ATTRIBUTES)}", start)
    name, comparison = attribute[0], scanner.match(_COMPARISON)
    if not comparison:
        raise scanner.error("expected = or !=")
    if name == "distance":
        number, compare = scanner.match(_NUMBER), _COMPARE[comparison[0]]
        if not number:
            raise scanner.error("expected a number of words")
        size = int(number[0])  # a word without a head has no distance
        return lambda heads, node, names: heads.heads[node] != ROOT and compare(abs(heads.heads[node] - node), size)
    if comparison[0] not in ("=", "!="):
        raise scanner.error(f"{name} is compared with = or !=", comparison.start())
    if name == "direction":
        direction = scanner.match(_ATTRIBUTE)
        if not direction or direction[0] not in DIRECTIONS:
            problem = f"expected {', '.join(DIRECTIONS)}: the position of the head"
            raise scanner.error(problem, direction.start() if direction else None)
        test = DIRECTIONS[direction[0]]
    else:
        test = _read_text(scanner, name)
    return test if comparison[0] == "=" else lambda heads, node, names: not test(heads, node, names)


def _read_text(scanner: Scanner, name: str) -> Test:
    """Read ``value|value``: literal, quoted, or ``/regular expression/``, with ``i@`` before it to ignore case."""
    searches = [_read_value(scanner)]
    while scanner.accept("|"):
        searches.append(_read_value(scanner))
    matches = LabelTest(lambda text: next((True for search in searches if search(text)), None))
    values = TEXTS[name]

    def test(heads: IndexedHeads, node: int, names: dict[str, int]) -> bool:
        texts = values(heads)
        return bool(texts) and matches[texts[node]]

    return test


def _read_value(scanner: Scanner) -> Callable[[str], Any]:
    ignore_case = bool(scanner.accept("i@"))
    if (expression := scanner.regular(ignore_case=ignore_case)) is not None:
        return expression
    value = scanner.quoted()
    if value is None:
        literal = scanner.match(_VALUE)
        if not literal:
            raise scanner.error('expected a value, "a value" or /regular expression/')
        value = literal[0]
    if ignore_case:
        forms = {form.lower() for form in spellings(value)}
        return lambda text: text.lower() in forms
    return spellings(value).__contains__


def _head(heads: IndexedHeads, node: int) -> list[int]:
    return [] if heads.heads[node] == ROOT else [heads.heads[node]]


def _all_heads(heads: IndexedHeads, node: int) -> Iterator[int]:
    """The head, its head, and so on. Heads that do not form a tree may contain a cycle, which is passed once."""
    passed = {node}
    while (node := heads.heads[node]) != ROOT and node not in passed:
        passed.add(node)
        yield node


def _all_dependents(heads: IndexedHeads, node: int) -> list[int]:
    """The dependents, their dependents, and so on, in the order of the sentence."""
    reached, todo = {node}, [node]
    while todo:
        for dependent in heads.dependents(todo.pop()):
            if dependent not in reached:
                reached.add(dependent)
                todo.append(dependent)
    return sorted(reached - {node})


def _sisters(heads: IndexedHeads, node: int) -> list[int]:
    """Other dependents of the head of a word."""
    head = heads.heads[node]
    return [] if head == ROOT else [sister for sister in heads.dependents(head) if sister != node]


RELATIONS: dict[str, Relation] = {
    ">": lambda heads, node: heads.dependents(node),
    "<": _head,
    ">>": _all_dependents,
    "<<": _all_heads,
    ".": lambda heads, node: range(node + 1, min(node + 2, len(heads.heads))),
    ",": lambda heads, node: range(max(node - 1, 0), node),
    "..": lambda heads, node: range(node + 1, len(heads.heads)),
    ",,": lambda heads, node: range(node),
    "$": _sisters,
    "$..": lambda heads, node: [sister for sister in _sisters(heads, node) if sister > node],
    "$,,": lambda heads, node: [sister for sister in _sisters(heads, node) if sister < node],
}


def is_for_heads(pattern: str) -> bool:
    """Whether a pattern is for heads: it contains braces outside of quotation marks and regular expressions."""
    return "{" in re.sub(r'"(?:[^"\\]|\\.)*"|/(?:[^/\\]|\\.)*/|#[^\n]*', "", pattern)
