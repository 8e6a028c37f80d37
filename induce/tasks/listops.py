"""ListOps (Nangia & Bowman 2018): the value of nested operations on lists of digits.

``[MAX 2 9 [MIN 4 7 ] 0 ]`` is 9. The tree of an operation is left-branching: the operator takes one argument after the
other and at last its closing bracket.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from induce.setting import count, limited
from induce.settings.run import PurposeSettings
from induce.tasks.base import Example, Expression, Group, bad, binary_tree, distinct, ranges_up_to, size_groups
from treebank.core.sentence import Location
from treebank.core.tree import Span, pre_order
from treebank.io.lines import open_lines
from treebank.io.read import expand

OPERATIONS: dict[str, Callable[[list[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(median(values)),
    "[SM": lambda values: sum(values) % 10,
}
OPERATORS = tuple(OPERATIONS)
END = "]"
DIGITS = tuple("0123456789")
LINE = "9 TAB ( ( ( [MAX 2 ) 9 ) ] )"  # of a file
DEEPEST = 20  # maximum depth of nested operations
NESTING = 0.25  # probability that an argument is an operation
ARGUMENTS = (2, 5)
SEED = 20180413
GROUPS = (10, 20, 30, 50, 100, 200)  # the largest number of tokens of each group


@dataclass(frozen=True, kw_only=True)
class ListOpsSettings(PurposeSettings):
    """Settings of the task."""

    reads_text = False

    expressions: int = count(20_000, "training expressions to generate if no file is given")
    longest: int = limited(0, 0, 1e9, "maximum tokens of a training expression; 0: no limit")

    @property
    def max_size(self) -> int:
        """Size of the largest training examples."""
        return self.longest or 10**9


class ListOps:
    """The task, with the published grammar as generator. The sizes of the parts are not published."""

    Config = ListOpsSettings
    name = "listops"
    words = (*DIGITS, *OPERATORS, END)
    labels = DIGITS
    sides = 1
    measure = "tokens"

    def generate(self, config: ListOpsSettings, part: str, count: int, *, longer: bool = False) -> Iterator[Example]:
        """``count`` different expressions of ``part``, for training with up to ``config.longest`` tokens."""
        longest = 0 if longer else config.longest
        chance = random.Random(SEED)

        def draw() -> Example | None:
            tokens = _draw(chance, 1, longest)
            return None if tokens is None else example(tokens)

        return distinct(draw, count, lambda drawn: drawn.part == part)

    def read(self, paths: Iterable[str], config: ListOpsSettings) -> Iterator[Example]:
        """The expressions of files that have up to ``config.longest`` tokens."""
        return (line for line in self.read_all(paths) if not config.longest or line.size <= config.longest)

    def read_all(self, paths: Iterable[str]) -> Iterator[Example]:
        """The expressions of files with a line ``label TAB bracketed expression`` each, with labels and trees checked.

        Raises TreebankError with file and line for a malformed line, and for a wrong label or tree.
        """
        for path in expand(paths):
            for number, line in open_lines(path):
                if line.strip():
                    yield _read_line(line, Location(path, number))

    def groups(self, settings: ListOpsSettings) -> list[Group]:
        """Groups by the number of tokens, up to 200, and 201 or more."""
        return size_groups(settings.max_size, ranges_up_to(GROUPS))


def example(tokens: Sequence[str]) -> Example:
    """The expression ``tokens`` with its value and its tree. Raises ValueError if it is malformed."""
    value, spans = evaluate(tokens)
    return Example((Expression(tuple(tokens), spans),), value, len(tokens))


def evaluate(tokens: Sequence[str]) -> tuple[int, tuple[Span, ...]]:
    """Value of an expression, and the brackets of its left-branching tree in pre-order.

    MED is the median without its fraction, SM the sum modulo 10. Raises ValueError for a malformed expression.
    """
    spans: list[Span] = []
    operations: list[tuple[str, int, list[int], list[int]]] = []  # operator, location, values and ends of its arguments
    result: int | None = None
    for i, token in enumerate(tokens):
        if result is not None:
            raise ValueError(f"{token!r} follows the end of the expression")
        if token in OPERATORS:
            operations.append((token, i, [], []))
            continue
        if token == END:
            if not operations:
                raise ValueError("an operation is closed that was never opened")
            operator, start, values, ends = operations.pop()
            if not values:
                raise ValueError(f"{operator} has no arguments")
            value = OPERATIONS[operator](values)
            spans += [(start, end) for end in (*ends, i + 1)]
        elif token in DIGITS:
            value = int(token)
        else:
            raise ValueError(f"{token!r} is not an operator, a digit or {END!r}")
        if operations:
            operations[-1][2].append(value)
            operations[-1][3].append(i + 1)
        else:
            result = value
    if result is None:
        raise ValueError("the expression is not complete")
    return result, tuple(sorted(spans, key=pre_order))


def _draw(chance: random.Random, depth: int, longest: int) -> list[str] | None:
    """A random expression, or None as soon as it has more than ``longest`` tokens (0: any number)."""
    tokens: list[str] = []
    left: list[int] = []  # number of missing arguments of each open operation
    while True:
        if depth + len(left) < DEEPEST and chance.random() <= NESTING:
            tokens.append(chance.choice(OPERATORS))
            left.append(chance.randint(*ARGUMENTS))
        else:
            tokens.append(chance.choice(DIGITS))
            while left:
                left[-1] -= 1
                if left[-1]:
                    break
                left.pop()
                tokens.append(END)
        if longest and len(tokens) + len(left) > longest:
            return None
        if not left:
            return tokens


def _read_line(line: str, location: Location) -> Example:
    """The expression of one line of a published file."""
    label, tab, bracketed = line.partition("\t")
    if not tab or label not in DIGITS:
        raise bad(location, f"expected a digit, a tab and a tree in round brackets, such as {LINE}")
    try:
        words, spans = binary_tree(bracketed.split())
    except ValueError as error:
        raise bad(location, f"{error}; write the tree of the expression in round brackets, such as {LINE}") from None
    try:
        parsed = example(words)
    except ValueError as error:
        raise bad(location, str(error)) from None
    if parsed.label != int(label):
        raise bad(location, f"the value of the expression is {parsed.label}, and the line says {label}")
    if parsed.sides[0].spans != spans:
        raise bad(location, "the brackets are not those of a left-branching tree for each operation")
    return parsed
