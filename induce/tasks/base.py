"""The contract of tasks: expressions with trees, labeled examples in parts, and the results of their evaluation."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

from induce.data.vocabulary import RECIPES
from treebank.base.errors import SynparseError, TreebankError
from treebank.base.tables import Cell, Column, Table
from treebank.core.sentence import Location
from treebank.core.tree import Span, Tree
from treebank.evaluate.score import Runs, runs_of

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

    def normalized(self, recipe: str) -> Expression:
        """The expression in the forms of the normalization ``recipe``, or unchanged if no word would be left."""
        reduced = RECIPES[recipe](self.tokens)
        if recipe == "raw" or not reduced.forms:
            return self
        tree = Tree.from_spans(self.tokens, self.spans).keep([i in reduced.indices for i in range(len(self.tokens))])
        return Expression(reduced.forms, tuple(tree.collapse_unary().spans))


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


def ranges_up_to(bounds: Sequence[int]) -> list[tuple[str, range]]:
    """Names and ranges of sizes: up to each of ``bounds``, and one above the last of them."""
    ranges = [(f"{low + 1}-{high}", range(low + 1, high + 1)) for low, high in pairwise([0, *bounds])]
    return [*ranges, (f"{bounds[-1] + 1}-", range(bounds[-1] + 1, 10**9))]


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


class TaskScore(Protocol):
    """The score of one system on a task."""

    @property
    def model(self) -> str:
        """Folder of the model, or an empty string for other systems."""
        ...

    @property
    def value(self) -> float | None:
        """The main measure in percent, or None for tasks with several measures."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The score as a JSON object."""
        ...


@dataclass(frozen=True)
class TaskEvaluation:
    """The scores of several systems on the same data, with mean and deviation for each pattern of several models."""

    task: str
    data: str
    scores: Sequence[TaskScore]
    results: Sequence[Table]
    signatures: Sequence[str]
    groups: Mapping[str, Sequence[str]]  # pattern -> folders of models
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # sizes of the data, for JSON

    @property
    def spreads(self) -> dict[str, Runs]:
        """Values of the models of each pattern of several models. A pattern is left out if a value is missing."""
        values = {score.model: score.value for score in self.scores if score.value is not None}
        return runs_of(self.groups, values)

    def tables(self) -> list[Table]:
        """The tables of the task and the means, with the signatures below the last one."""
        rows: list[list[Cell]] = [
            [name, len(runs.values), runs.mean, runs.deviation] for name, runs in self.spreads.items()
        ]
        columns = [Column("Runs"), Column("Number"), Column("Mean", ".2f"), Column("SD", ".2f")]
        means = [Table("Mean over the runs of a pattern", columns, rows)] if rows else []
        tables = [*self.results, *means]
        return [*tables[:-1], tables[-1]._replace(footnotes=self.signatures)]

    def to_json(self) -> dict[str, Any]:
        """The evaluation as a JSON object."""
        document = {"task": self.task, "data": self.data, **self.counts}
        groups = [{"systems": pattern, **runs.to_json()} for pattern, runs in self.spreads.items()]
        scores = [score.to_json() for score in self.scores]
        return {**document, "scores": scores, **({"groups": groups} if groups else {})}
