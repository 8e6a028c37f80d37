"""The contract of tasks: expressions with trees, and labeled examples in training, development and test parts."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from treebank.base.errors import SynparseError, TreebankError
from treebank.core.sentence import Location
from treebank.core.tree import Span

OPEN, CLOSE = "(", ")"
SHARES = {"test": 10, "dev": 5}  # percent of all expressions; the rest is for training
MAX_FAILURES = 50_000  # maximum number of consecutive samples without a new example


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression: the tokens that a model reads, and the brackets of its binary tree.

    ``spans`` are over the words, the tokens but for round brackets, in pre-order, the whole expression included.
    """

    tokens: tuple[str, ...]
    spans: tuple[Span, ...]

    @property
    def leaves(self) -> list[int]:
        """Positions of the words among the tokens."""
        return [i for i, token in enumerate(self.tokens) if token not in (OPEN, CLOSE)]

    @property
    def words(self) -> tuple[str, ...]:
        """The tokens without round brackets."""
        return tuple(token for token in self.tokens if token not in (OPEN, CLOSE))

    def __str__(self) -> str:
        return " ".join(self.tokens)


@dataclass(frozen=True, slots=True)
class Example:
    """One item of a task: an expression, or a pair of them, and the number of its label."""

    sides: tuple[Expression, ...]
    label: int
    size: int  # size by which examples are grouped for accuracy

    def __str__(self) -> str:
        return "\t".join(map(str, self.sides))

    @property
    def part(self) -> str:
        """Part of the data: train, dev or test. It depends only on the expressions, so that parts never share one."""
        return part_of(str(self))


def part_of(text: str) -> str:
    """Part of the data of an item with this text: train, dev or test."""
    percent = zlib.crc32(text.encode()) % 100
    return "test" if percent < SHARES["test"] else "dev" if percent < sum(SHARES.values()) else "train"


class Group(NamedTuple):
    """A named set of examples."""

    name: str
    contains: Callable[[Example], bool]


def size_groups(max_size: int, ranges: Iterable[tuple[str, range]]) -> list[Group]:
    """Groups of examples: ``learned`` up to ``max_size``, ``longer`` above it, and one for each of ``ranges``."""
    named = [("learned", range(max_size + 1)), ("longer", range(max_size + 1, 10**9)), *ranges]
    return [Group(name, lambda example, sizes=sizes: example.size in sizes) for name, sizes in named]  # type: ignore[misc]


class Task(Protocol):
    """A task: its words and labels, a generator, and a reader of the published files."""

    Config: ClassVar[type]  # its settings
    name: ClassVar[str]
    words: ClassVar[tuple[str, ...]]
    labels: ClassVar[tuple[str, ...]]
    sides: ClassVar[int]  # number of expressions of an example
    measure: ClassVar[str]  # what the size of an example counts

    def generate(self, config: Any, part: str, count: int, *, longer: bool = False) -> Iterator[Example]:
        """``count`` different examples of ``part``, the same at every call, with ``longer`` also of larger sizes."""
        ...

    def read(self, paths: Iterable[str], config: Any) -> Iterator[Example]:
        """The training examples of published files, with all labels checked."""
        ...

    def read_all(self, paths: Iterable[str]) -> Iterator[Example]:
        """All examples of published files, with all labels checked."""
        ...

    def groups(self, settings: Any) -> list[Group]:
        """The groups of examples whose accuracy is reported, `size_groups` first."""
        ...


def binary_tree(tokens: Sequence[str]) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    """Words and brackets, in pre-order, of a fully bracketed binary expression, where single words have no brackets.

    Raises ValueError if the brackets are not balanced or a pair of them does not contain exactly two parts.
    """
    words: list[str] = []
    spans: list[list[int]] = []
    open_brackets: list[int] = []
    parts = [0]
    for token in tokens:
        if token == OPEN:
            parts[-1] += 1
            parts.append(0)
            open_brackets.append(len(spans))
            spans.append([len(words), 0])
        elif token != CLOSE:
            parts[-1] += 1
            words.append(token)
        elif not open_brackets:
            raise ValueError("a bracket is closed that was never opened")
        else:
            spans[open_brackets.pop()][1] = len(words)
            if (count := parts.pop()) != 2:
                raise ValueError(f"a pair of brackets holds {count} part{'s' * (count != 1)}; two are needed")
    if open_brackets:
        raise ValueError("a bracket is never closed")
    if parts != [1]:
        raise ValueError(f"{parts[0]} expressions where one was expected")
    return tuple(words), tuple((start, end) for start, end in spans)


def joins(spans: Sequence[Span], length: int) -> list[tuple[int, int]]:
    """The nodes that each node of a binary tree joins, children before parents.

    Words are the nodes 0 to ``length`` - 1, and the k-th join is node ``length`` + k. ``spans`` are in pre-order.
    """
    pairs: list[tuple[int, int]] = []
    node_from = {start: (start + 1, start) for start in range(length)}  # start -> end and node of its subtree
    for start, end in reversed(spans):
        middle, left = node_from[start]
        pairs.append((left, node_from[middle][1]))
        node_from[start] = (end, length + len(pairs) - 1)
    return pairs


def distinct(draw: Callable[[], Example | None], count: int, is_member: Callable[[Example], bool]) -> Iterator[Example]:
    """``count`` different examples for which ``is_member`` is true, in the order in which they are drawn.

    Raises SynparseError if fewer can be found.
    """
    seen: set[str] = set()
    idle = 0
    while len(seen) < count:
        example = draw()
        text = "" if example is None else str(example)
        if example is None or text in seen or not is_member(example):
            idle += 1
            if idle > MAX_FAILURES:
                raise SynparseError(f"only {len(seen):,} of {count:,} different expressions exist under these settings")
            continue
        idle = 0
        seen.add(text)
        yield example


def bad(location: Location, message: str) -> TreebankError:
    """An error at one line of a file."""
    return TreebankError(location.path, location.line, message)
