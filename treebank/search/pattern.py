"""The grammar that patterns for trees and for heads share: nodes, relations between them, and their combination.

A language (`tree_language`, `head_language`) reads single nodes and relations; this module combines them with ``!``,
``&``, ``|``, brackets, names (``=n``), macros (``@ NAME …;``) and segments (``: =n < B``) as TGrep2 and nltk.tgrep do.
A pattern becomes nested functions, which are called for each node of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import regex

from treebank.base.errors import SynparseError, UnknownNameError
from treebank.io.conllu import BLANK

Names = dict[str, int]  # name in a pattern -> node that it is bound to
Test = Callable[[Any, int, Names], bool]  # whether a node of an indexed sentence matches
Relation = Callable[[Any, int], Iterable[int]]  # from an indexed sentence and a node to its related nodes, in order
Needs = tuple[frozenset[str], ...]  # of each set, a sentence must contain one label, else it has no match

MAX_REGEX_SECONDS = 1.0  # for one word or label
MAX_CHARACTERS = 10_000  # of a pattern
MAX_DEPTH = 50  # brackets inside brackets; each level takes several frames of the stack
_SKIPPED = re.compile(r"(?:\s|#[^\n]*(?:\n|$))*")  # white space and comments
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_REGEX = re.compile(r"/((?:[^/\\\n]|\\.)*)/")
_RECURSION = re.compile(r"\(\?(?:R|[+-]?\d|&|P>)")
_USE = re.compile(r"=([A-Za-z0-9]+)")
_BIND = re.compile(r"=[A-Za-z0-9]+")
_TREGEX = re.compile(r"[<>]#|[<>$][.,]*[+-]+\(|(?<![\w.])@[A-Z]+\b|[<>](?:<-|-<)#")  # head of, path, basic category
_MACRO = re.compile(r"@([^\]\s;:.,&|<>()\[$!@%'^=]+)")
_DEFINITION = re.compile(r"@\s+([^\]\s;:.,&|<>()\[$!@%'^=]+)")


class PatternError(UnknownNameError):
    """A malformed pattern: the ``problem``, and the ``position`` of the character at which it was detected."""

    def __init__(self, pattern: str, position: int, problem: str) -> None:
        self.pattern, self.position, self.problem = pattern, position, problem
        super().__init__(f"pattern {pattern!r}, character {position + 1}: {problem}")

    def picture(self) -> str:
        """The problem, the line of the pattern that contains it, and a caret below the position."""
        from treebank.base.tables import columns

        start = self.pattern.rfind("\n", 0, self.position) + 1
        line = self.pattern[start:].partition("\n")[0].replace("\t", " ")
        return f"{self.problem}\n  {line}\n  {' ' * columns(line[: self.position - start])}^"


class Scanner:
    """A pattern and the position up to which it has been read."""

    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0

    def match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        """Read ``expression`` after white space and comments. Returns None and reads nothing if it does not match."""
        skipped = _SKIPPED.match(self.text, self.position)
        match = expression.match(self.text, skipped.end() if skipped else self.position)
        if match:
            self.position = match.end()
        return match

    def accept(self, *literals: str) -> str:
        """Read and return the first of ``literals`` that follows, or ""."""
        self.skip()
        for literal in literals:
            if self.text.startswith(literal, self.position):
                self.position += len(literal)
                return literal
        return ""

    def skip(self) -> None:
        """Read white space and comments."""
        if skipped := _SKIPPED.match(self.text, self.position):
            self.position = skipped.end()

    def follows(self, *literals: str) -> bool:
        """Whether one of ``literals`` follows, without reading it."""
        self.skip()
        return self.text.startswith(literals, self.position)

    def expect(self, literal: str, problem: str) -> None:
        """Read ``literal``. Raises PatternError with ``problem`` if it does not follow."""
        if not self.accept(literal):
            raise self.error(problem)

    def quoted(self) -> str | None:
        r"""Read ``"text"`` and return the text, with ``\"`` and ``\\`` unescaped, or None if no quotation mark follows.

        A space becomes U+00A0, as in words.
        Raises PatternError if the closing quotation mark is missing.
        """
        if not self.follows('"'):
            return None
        match = self.match(_QUOTED)
        if not match:
            raise self.error('the closing " is missing')
        return match[1].replace('\\"', '"').replace("\\\\", "\\").replace(" ", BLANK)

    def regular(self, *, ignore_case: bool = False) -> Callable[[str], object] | None:
        """Read ``/expression/`` and return the search for the regular expression, or None if no slash follows.

        A space becomes U+00A0, as in words.
        Raises PatternError if the closing slash is missing, and at the position of an error in the expression.
        """
        if not self.follows("/"):
            return None
        start = self.position + 1
        match = self.match(_REGEX)
        if not match:
            raise self.error("the closing / is missing")
        if _RECURSION.search(match[1]):
            raise self.error("a regular expression cannot contain itself; leave out (?R) and the like", start)
        try:
            expression = regex.compile(match[1].replace(" ", BLANK), regex.IGNORECASE if ignore_case else 0)
        except regex.error as error:
            raise self.error(f"invalid regular expression: {error.msg}", start + (error.pos or 0)) from None
        except RecursionError:
            raise self.error("this regular expression is nested too deeply", start) from None
        return partial(_search_in_time, expression)

    def error(self, problem: str, position: int | None = None) -> PatternError:
        """The error for a problem at ``position``, by default where reading stopped."""
        self.skip()
        if tregex := _TREGEX.search(self.text):
            problem = f"{problem}; {tregex[0]} is an operator of Tregex that is not supported"
        return PatternError(self.text, self.position if position is None else position, problem)


def _search_in_time(expression: regex.Pattern[str], text: str) -> object:
    """The match in ``text``, or None. Raises SynparseError if the search takes too long."""
    try:
        return expression.search(text, timeout=MAX_REGEX_SECONDS)
    except TimeoutError:
        problem = f"/{expression.pattern}/: more than {MAX_REGEX_SECONDS:g} s for {text!r}"
        raise SynparseError(f"{problem}; repeat no part that contains a repetition") from None


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one node.

    ``labels`` are the only labels that match, if the condition depends on nothing else; they allow faster searching.
    """

    test: Test
    labels: frozenset[str] | None = None
    needs: Needs = ()


class Language(Protocol):
    """The reader of the nodes and relations of one type of annotation."""

    #: words of an error message if a node is missing
    expected: str

    def read_node(self, scanner: Scanner) -> Condition | None:
        """Read a node, or return None."""

    def read_relation(self, scanner: Scanner) -> Relation | None:
        """Read a relation without the node after it, or return None."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern."""

    text: str
    root: Condition
    heads: frozenset[str] | None  # labels of the nodes that can match, or None for all

    def nodes(self, sentence: Any) -> list[int]:
        """The matching nodes of an indexed sentence, in order."""
        test, labels = self.root.test, sentence.labels
        if self.heads is not None:
            heads = self.heads
            return [node for node, label in enumerate(labels) if label in heads and test(sentence, node, {})]
        return [node for node in range(len(labels)) if test(sentence, node, {})]


def parse_pattern(text: str, language: Language) -> Pattern:
    """The compiled pattern. Raises PatternError with the position of the first problem."""
    return _Reader(text, language).pattern()


class _Reader:
    """Recursive-descent reader of one pattern. Each method reads one rule of the grammar."""

    def __init__(self, text: str, language: Language) -> None:
        if len(text) > MAX_CHARACTERS:
            problem = f"{len(text):,} characters are too many; give at most {MAX_CHARACTERS:,}"
            raise PatternError(f"{text[:40]}…", 40, problem)
        self.scanner, self.language = Scanner(text), language
        self.names: set[str] = set()
        self.macros: dict[str, Condition] = {}
        self.depth = 0

    def pattern(self) -> Pattern:
        """``@ MACRO …; EXPRESSION; …``: a node matches if one of the expressions does."""
        expressions: list[Condition] = []
        head: list[Condition] = []
        while True:
            if definition := self.scanner.match(_DEFINITION):
                self.macros[definition[1]] = self.segmented()[1]
            elif not (expressions and self.at_end()):
                first, node = self.segmented()
                expressions.append(node)
                head.append(first)
            if not self.scanner.accept(";"):
                break
        if not self.at_end():
            raise self.scanner.error("expected a relation such as <, or the end of the pattern")
        if not expressions:
            raise self.scanner.error(f"expected {self.language.expected}")
        labels = [node.labels for node in head]
        known = [label for label in labels if label is not None]
        heads = frozenset().union(*known) if len(known) == len(labels) else None
        return Pattern(self.scanner.text, _either(expressions), heads)

    def at_end(self) -> bool:
        """Whether the whole pattern has been read."""
        self.scanner.skip()
        return self.scanner.position == len(self.scanner.text)

    def segmented(self) -> tuple[Condition, Condition]:
        """``EXPRESSION : =n RELATIONS : …``. Returns the first node of the expression and the complete condition."""
        first, node = self.expression()
        nodes = [node]
        while self.scanner.accept(":"):
            name = self.used_name()
            if name is None:
                raise self.scanner.error("expected the name of a node, such as =n")
            relations = self.relations(required=False)
            if relations:
                nodes.append(replace(relations, test=_at_name(name, relations.test)))
        return first, _all(nodes)

    def expression(self) -> tuple[Condition, Condition]:
        """``NODE RELATIONS``. Returns the node alone and the complete condition."""
        first = self.node()
        relations = self.relations(required=False)
        return first, _all([first, relations]) if relations else first

    def node(self) -> Condition:
        """``(EXPRESSION)`` or ``NODE=name|NODE|…``."""
        if self.scanner.accept("("):
            self.descend()
            node = self.expression()[1]
            self.scanner.expect(")", "the closing ) is missing")
            self.depth -= 1
            return replace(node, labels=None)
        self.scanner.accept("'")  # marks the node to print in TGrep2
        alternatives = [self.named()]
        while self.scanner.follows("|") and self.may_be_node():
            alternatives.append(self.single())
        return _either(alternatives)

    def descend(self) -> None:
        """Count an opening bracket. Raises PatternError if the pattern is nested too deeply."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.scanner.error(f"more than {MAX_DEPTH} brackets inside each other")

    def may_be_node(self) -> bool:
        """Read ``|`` if a node follows it, and not a relation, which ``|`` separates as well."""
        start = self.scanner.position
        self.scanner.accept("|")
        position = self.scanner.position
        try:
            is_node = self.try_single() is not None
        except PatternError:
            is_node = True
        self.scanner.position = position if is_node else start
        return is_node

    def named(self) -> Condition:
        """A node, and ``=name`` directly after it."""
        node = self.single()
        if binding := _BIND.match(self.scanner.text, self.scanner.position):
            self.scanner.position = binding.end()
            name = binding[0][1:]
            self.names.add(name)
            return Condition(_bound(node.test, name), None, node.needs)
        return node

    def single(self) -> Condition:
        """A node of the language, the use of a name, or the use of a macro. Raises PatternError for anything else."""
        node = self.try_single()
        if node is None:
            raise self.scanner.error(f"expected {self.language.expected}")
        return node

    def try_single(self) -> Condition | None:
        if (name := self.used_name()) is not None:
            return Condition(lambda sentence, node, names: names.get(name) == node)
        start = self.scanner.position
        if macro := self.scanner.match(_MACRO):
            if macro[1] not in self.macros:
                raise self.scanner.error(f"the macro @{macro[1]} is not defined before", start)
            return self.macros[macro[1]]
        return self.language.read_node(self.scanner)

    def used_name(self) -> str | None:
        """Read ``=name``. Raises PatternError if no node before has this name."""
        self.scanner.skip()
        start = self.scanner.position
        use = self.scanner.match(_USE)
        if use and use[1] not in self.names:
            raise self.scanner.error(f"no node before has the name {use[1]!r}; write NP={use[1]}", start)
        return use[1] if use else None

    def relations(self, *, required: bool) -> Condition | None:
        """``RELATION & RELATION | RELATION …``, where ``&`` may be left out and binds more strongly than ``|``."""
        alternatives: list[Condition] = []
        while True:
            conjunction: list[Condition] = []
            while (relation := self.relation(required=required)) is not None:
                conjunction.append(relation)
                required = bool(self.scanner.accept("&"))
            if conjunction:
                alternatives.append(_all(conjunction))
            if not alternatives:
                return None
            if not self.scanner.accept("|"):
                return _either(alternatives)
            required = True

    def relation(self, *, required: bool) -> Condition | None:
        """``[RELATIONS]`` or ``RELATION NODE``, both with ``!`` before them for the opposite."""
        start = self.scanner.position
        is_negated = bool(self.scanner.accept("!"))
        if self.scanner.accept("["):
            self.descend()
            node = self.relations(required=True)
            self.scanner.expect("]", "the closing ] is missing")
            self.depth -= 1
            assert node is not None
        elif relation := self.language.read_relation(self.scanner):
            node = _related(relation, self.node())
        elif is_negated or required:
            raise self.scanner.error("expected a relation such as <")
        else:
            self.scanner.position = start
            return None
        test = node.test
        return Condition(lambda sentence, node, names: not test(sentence, node, names)) if is_negated else node


def _related(relation: Relation, operand: Condition) -> Condition:
    """The condition that one of the related nodes matches ``operand``."""
    test, labels = operand.test, operand.labels
    if labels is not None:
        is_disjoint = labels.isdisjoint
        return Condition(
            lambda sentence, node, names: not is_disjoint(map(sentence.labels.__getitem__, relation(sentence, node))),
            needs=operand.needs,
        )
    return Condition(
        lambda sentence, node, names: any(test(sentence, other, names) for other in relation(sentence, node)),
        needs=operand.needs,
    )


def _all(conditions: list[Condition]) -> Condition:
    """The condition that all match, tested in this order. Nested functions would exceed the depth of the stack."""
    if len(conditions) == 1:
        return conditions[0]
    tests = [condition.test for condition in conditions]
    needs = tuple(labels for condition in conditions for labels in condition.needs)
    if len(tests) == 2:  # faster than a loop
        test, next_test = tests
        return Condition(
            lambda tree, node, names: test(tree, node, names) and next_test(tree, node, names), needs=needs
        )
    return Condition(lambda tree, node, names: all(test(tree, node, names) for test in tests), needs=needs)


def _either(nodes: list[Condition]) -> Condition:
    """The condition that one of ``nodes`` matches, tested in this order."""
    if len(nodes) == 1:
        return nodes[0]
    tests = [node.test for node in nodes]
    known = [node.labels for node in nodes if node.labels is not None]
    labels = frozenset().union(*known) if len(known) == len(nodes) else None
    return Condition(
        lambda sentence, node, names: any(test(sentence, node, names) for test in tests),
        labels,
        (labels,) if labels is not None and all(node.needs for node in nodes) else (),
    )


def _bound(test: Test, name: str) -> Test:
    """``test`` that binds ``name`` to the node if it matches."""

    def bind(sentence: Any, node: int, names: Names) -> bool:
        matches = test(sentence, node, names)
        if matches:
            names[name] = node
        return matches

    return bind


def _at_name(name: str, test: Test) -> Test:
    """``test`` of the node with this name instead of the given node."""
    return lambda sentence, node, names: name in names and test(sentence, names[name], names)
