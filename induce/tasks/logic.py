"""Propositional logic (Bowman, Manning & Potts 2015): which of seven relations holds between two formulas.

A formula stands for the set of worlds in which it is true, one bit for each of the 64 ways to choose true or false for
six variables; the relation of two formulas is that of their sets.
"""

from __future__ import annotations

import os
import random
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from induce.setting import choice, count, limited
from induce.settings.run import PurposeSettings
from induce.tasks.base import CLOSE, OPEN, Example, Expression, Group, bad, binary_tree, distinct, joins, size_groups
from treebank.base.errors import SynparseError
from treebank.core.sentence import Location
from treebank.core.tree import Span
from treebank.io.lines import member_lines, open_lines
from treebank.io.source import open_zip

VARIABLES = tuple("abcdef")
AND, OR, NOT = "and", "or", "not"
WORLDS = 2 ** len(VARIABLES)
ALL = 2**WORLDS - 1
TRUE_IN = {name: sum(1 << world for world in range(WORLDS) if world >> k & 1) for k, name in enumerate(VARIABLES)}
Meaning = int | str | tuple[str, int]  # the worlds of a formula; an operator; an operator and the worlds on its right
MEANINGS: dict[str, Meaning] = {**TRUE_IN, AND: AND, OR: OR, NOT: NOT}
#: in, reverse, equal, negation (always just one of the two), alternation (never both), independent, cover (always one)
RELATIONS = ("<", ">", "=", "^", "|", "#", "v")

CHOICES = (AND, AND, OR, OR, "", "", "", "", "")  # equally likely choices of the generator; "": a variable
NEGATED = 1 / 3
LONGEST = 12  # budget of the generator, halved for both sides of an operator; lower bound of the last group
UNIVERSE = 4  # number of variables of one pair
SEED = 20150708

PARTITIONS = {  # table 4: patterns excluded from training pairs
    "full": re.compile(r"(?!)"),
    "A": re.compile(re.escape("( and ( not a ) )")),
    "B": re.compile(re.escape("( and ( not ")),
    "C": re.compile(r"\( (?:and|or) \( not "),
}


@dataclass(frozen=True, kw_only=True)
class LogicSettings(PurposeSettings):
    """Settings of the task."""

    reads_text = False

    expressions: int = count(20_000, "training pairs to generate if no file is given")
    operators: int = limited(6, 0, 1e9, "maximum operators of a training formula")
    partition: str = choice("full", tuple(PARTITIONS), "training pairs; A, B and C leave out those of table 4")

    @property
    def max_size(self) -> int:
        """Size of the largest training examples."""
        return self.operators


class Logic:
    """The task. The size of a pair is that of the longer formula, in operators."""

    Config = LogicSettings
    name = "logic"
    words = (OPEN, CLOSE, *VARIABLES, OR, AND, NOT)
    labels = RELATIONS
    sides = 2
    measure = "operators"

    def generate(self, config: LogicSettings, part: str, count: int, *, longer: bool = False) -> Iterator[Example]:
        """``count`` different pairs of ``part``, for training with up to ``config.operators`` operators."""
        chance = random.Random(SEED)
        excluded = PARTITIONS[config.partition]

        def is_member(drawn: Example) -> bool:
            for_training = drawn.size <= config.operators and not excluded.search(str(drawn))
            return drawn.part == part and (longer or for_training)

        def draw() -> Example | None:
            """A random pair over a few variables, or None if one formula is always or never true."""
            universe = chance.sample(VARIABLES, UNIVERSE)
            (left, true_left), (right, true_right) = (_draw(chance, universe, LONGEST) for _ in range(2))
            return None if {true_left, true_right} & {0, ALL} else pair(left, right)

        return distinct(draw, count, is_member)

    def read(self, paths: Iterable[str], config: LogicSettings) -> Iterator[Example]:
        """The pairs of published files with up to ``config.operators`` operators, without those of the partition."""
        excluded = PARTITIONS[config.partition]
        for line in self.read_all(paths):
            if line.size <= config.operators and (config.partition == "full" or not excluded.search(str(line))):
                yield line

    def read_all(self, paths: Iterable[str]) -> Iterator[Example]:
        """The pairs of files with a line ``relation TAB formula TAB formula`` each, with relations checked.

        Archives (.zip) and folders are read in the order of the numbers in the names of their files. Raises
        TreebankError with file and line for a malformed line, and for a wrong relation.
        """
        for location, line in (each for path in paths for each in _lines(path)):
            if not line.strip():
                continue
            fields = line.split("\t")
            if len(fields) != 3 or fields[0] not in RELATIONS:
                raise bad(location, f"expected one of {' '.join(RELATIONS)}, a tab, a formula, a tab and a formula")
            try:
                parsed = pair(fields[1].split(), fields[2].split())
            except ValueError as error:
                raise bad(location, str(error)) from None
            if RELATIONS[parsed.label] != fields[0]:
                raise bad(location, f"the relation is {RELATIONS[parsed.label]!r}, and the line says {fields[0]!r}")
            yield parsed

    def groups(self, settings: LogicSettings) -> list[Group]:
        """Groups by the number of operators, 12 or more, and longer pairs that the partition excludes."""
        ranges = [(str(size), range(size, size + 1)) for size in range(LONGEST)]
        groups = size_groups(settings.max_size, [*ranges, (f"{LONGEST}-", range(LONGEST, 10**9))])
        if settings.partition != "full":
            excluded, longer = PARTITIONS[settings.partition], groups[1].contains
            name = f"longer, {settings.partition}"
            groups.append(Group(name, lambda example: longer(example) and bool(excluded.search(str(example)))))
        return groups


def formula(tokens: Sequence[str]) -> tuple[int, tuple[Span, ...], int]:
    """The worlds in which a formula is true as bits of an integer, its brackets in pre-order, and its operators.

    Raises ValueError for a malformed formula.
    """
    words, spans = binary_tree(tokens)
    for word in words:
        if word not in MEANINGS:
            raise ValueError(f"{word!r} is not a variable, an operator or a bracket")
    meanings = [MEANINGS[word] for word in words]
    for first, second in joins(spans, len(words)):
        meanings.append(_meaning(meanings[first], meanings[second]))
    if not isinstance(meanings[-1], int):
        raise ValueError("expected one formula")
    return meanings[-1], spans, sum(word not in TRUE_IN for word in words)


def _meaning(first: Meaning, second: Meaning) -> Meaning:
    """Meaning of two parts in brackets: a negation, an operator with its right side, or a left side with both."""
    if isinstance(second, int):
        if first == NOT:
            return ALL ^ second
        if isinstance(first, str):
            return first, second
    elif isinstance(first, int) and isinstance(second, tuple):
        operator, right = second
        return first & right if operator == AND else first | right
    raise ValueError("an operator lacks what it operates on")


def relation(left: int, right: int) -> str:
    """The relation of two sets of worlds (Bowman, Manning & Potts 2015, table 1)."""
    disjoint, cover = not left & right, left | right == ALL
    if left == right:
        return "="
    if disjoint:
        return "^" if cover else "|"
    if left & right == left:
        return "<"
    if left & right == right:
        return ">"
    return "v" if cover else "#"


def pair(left: Sequence[str], right: Sequence[str]) -> Example:
    """Two bracketed formulas with their relation. Raises ValueError if one is malformed."""
    (true_left, spans_left, count_left), (true_right, spans_right, count_right) = formula(left), formula(right)
    sides = (Expression(tuple(left), spans_left), Expression(tuple(right), spans_right))
    label = RELATIONS.index(relation(true_left, true_right))
    return Example(sides, label, max(count_left, count_right))


def _draw(chance: random.Random, universe: Sequence[str], longest: int) -> tuple[list[str], int]:
    """A random formula of up to about ``longest`` operators and variables, and its worlds."""
    operator = chance.choice(CHOICES) if longest >= 2 else ""
    if operator:
        (left, first), (right, second) = (_draw(chance, universe, longest // 2) for _ in range(2))
        tokens, true_in = [OPEN, *left, OPEN, operator, *right, CLOSE, CLOSE], _meaning(first, (operator, second))
    else:
        variable = chance.choice(universe)
        tokens, true_in = [variable], TRUE_IN[variable]
    assert isinstance(true_in, int)
    return ([OPEN, NOT, *tokens, CLOSE], ALL ^ true_in) if chance.random() < NEGATED else (tokens, true_in)


def _lines(path: str) -> Iterator[tuple[Location, str]]:
    """The lines of a file, or of all files of a folder or an archive in the order of the numbers in their names."""
    if os.path.isdir(path):
        for name in sorted(os.listdir(path), key=_number):
            yield from _lines(os.path.join(path, name))
    elif path.endswith(".zip"):
        try:
            with open_zip(path) as archive:
                for name in sorted(archive.namelist(), key=_number):
                    with archive.open(name) as stream:
                        for number, line in member_lines(stream, location := f"{path}/{name}"):
                            yield Location(location, number), line
        except (zipfile.BadZipFile, UnicodeDecodeError) as error:
            raise SynparseError(f"{path}: cannot be read as an archive of text ({error})") from None
    else:
        yield from ((Location(path, number), line) for number, line in open_lines(path))


def _number(name: str) -> tuple[int, str]:
    """The number in a file's name, for sorting: test2 before test10."""
    digits = re.findall(r"\d+", name)
    return (int(digits[-1]) if digits else -1, name)
