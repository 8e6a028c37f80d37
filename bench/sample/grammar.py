"""The reader of ``grammar.txt``: weighted rules with features, made into tables that the sampler walks.

The notation is described at the top of ``grammar.txt``. Rules are templates: ``NP[$n,person]`` stands for one rule per
value of ``$n``. Only the symbols that the start symbol can reach are made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import fsum
from typing import NamedTuple

from bench.sample.lexicon import WordClass

LEVELS = 5  # of nesting: at the last one no recursive rule (~) is used any more
DECAY = 0.55  # the weight of a recursive rule at each deeper level
START = "_text"
VARIABLE = re.compile(r"\$[a-z]+")
SYMBOL = re.compile(r"([A-Z_][A-Za-z.0-9]*)(?:\[([^\]]*)\])?")
ITEM = re.compile(r"(\*?)(.+?)(?:\?(\d+))?")


class Item(NamedTuple):
    """One daughter of a rule: a word with its tag, a class of words, or a symbol."""

    content: tuple[str, str] | WordClass | Symbol
    is_head: bool
    chance: float


class Rule(NamedTuple):
    """One way to rewrite a symbol."""

    items: tuple[Item, ...]
    recursive: bool


@dataclass(eq=False)
class Symbol:
    """A symbol with its features filled in. ``tables[level]`` holds accumulated weights and rules.

    ``label`` is the Penn label of its bracket; "" for a helper (``_name``), whose daughters belong to its mother.
    """

    label: str
    tables: list[tuple[list[float], list[Rule]]] = field(default_factory=list)


class Template(NamedTuple):
    """One alternative as written: left side, weight, mark of recursion, items."""

    left: str
    weight: float
    recursive: bool
    items: str


def read_grammar(text: str, lexicon: Mapping[str, WordClass]) -> Symbol:
    """The start symbol of the grammar, with everything that it can reach."""
    variables: dict[str, dict[str, float]] = {}
    templates: dict[str, list[Template]] = {}
    left = ""
    for line in (raw.split("#", 1)[0].rstrip() for raw in text.splitlines()):
        if line.startswith("$"):
            name, values = line.split(" = ")
            pairs = [value.split() for value in values.split(",")]
            variables[name] = {value: float(weight) for value, weight in pairs}
        elif line and not line[0].isspace():
            left = line
        elif line:
            weight, items = line.split(maxsplit=1)
            template = Template(left, float(weight.rstrip("~")), weight.endswith("~"), items)
            templates.setdefault(left.split("[")[0], []).append(template)
    return _Compiler(variables, templates, lexicon).compile()


class _Compiler:
    """Fills in the features, symbol by symbol, from the start symbol on."""

    def __init__(
        self,
        variables: Mapping[str, Mapping[str, float]],
        templates: Mapping[str, list[Template]],
        lexicon: Mapping[str, WordClass],
    ) -> None:
        self.variables, self.templates, self.lexicon = variables, templates, lexicon
        self.symbols: dict[str, Symbol] = {}
        self.unfilled: list[str] = []
        self.items: dict[str, Item] = {}

    def compile(self) -> Symbol:
        """The start symbol, with the tables of all symbols below it."""
        start = self._symbol(START)
        while self.unfilled:
            self._fill(self.unfilled.pop())
        return start

    def _symbol(self, name: str) -> Symbol:
        """The symbol ``name``, made when it is first used."""
        if name not in self.symbols:
            self.symbols[name] = Symbol("" if name.startswith("_") else re.split(r"[.\[]", name)[0])
            self.unfilled.append(name)
        return self.symbols[name]

    def _fill(self, name: str) -> None:
        """Give the symbol ``name`` its rules, one table per level."""
        weighted: list[tuple[float, Rule]] = []
        for template in self.templates[name.split("[")[0]]:
            bound = self._bind(template, name)
            if bound is not None:
                weighted += self._rules(template, bound)
        decay = 1.0
        for level in range(LEVELS):
            cumulative, rules, total = [], [], 0.0
            for weight, rule in weighted:
                if not (rule.recursive and level == LEVELS - 1):
                    total += weight * decay if rule.recursive else weight
                    cumulative.append(total)
                    rules.append(rule)
            self.symbols[name].tables.append((cumulative, rules))
            decay *= DECAY

    def _bind(self, template: Template, name: str) -> dict[str, str] | None:
        """Values of the left side's variables for the symbol ``name``, or None if it does not match."""
        bound: dict[str, str] = {}
        for pattern, value in zip(_arguments(template.left), _arguments(name), strict=True):
            if not pattern.startswith("$"):
                if pattern != value:
                    return None
            elif value not in self.variables[pattern] or bound.setdefault(pattern, value) != value:
                return None
        return bound

    def _rules(self, template: Template, bound: dict[str, str]) -> Iterator[tuple[float, Rule]]:
        """One weighted rule for each way to fill the variables that only the right side has."""
        free = [name for name in dict.fromkeys(VARIABLE.findall(template.items)) if name not in bound]
        for values in product(*(self.variables[name].items() for name in free)):
            filled = bound | {name: value for name, (value, _) in zip(free, values, strict=True)}
            weight = template.weight
            for name, (_, share) in zip(free, values, strict=True):
                weight *= share / fsum(self.variables[name].values())
            items = VARIABLE.sub(lambda match, filled=filled: filled[match[0]], template.items)
            yield weight, self._rule(template, items)

    def _rule(self, template: Template, text: str) -> Rule:
        """The rule written as ``text``, with its features filled in. ``-`` is the empty rule."""
        items = tuple(map(self._item, text.split())) if text != "-" else ()
        if not template.left.startswith("_") and not any(item.is_head for item in items):
            items = (items[0]._replace(is_head=True),)
        return Rule(items, template.recursive)

    def _item(self, text: str) -> Item:
        """One daughter: ``the/DT``, ``@person.sg``, ``NP[sg,person]``, with its marks ``*`` and ``?30``."""
        if text not in self.items:
            match = ITEM.fullmatch(text)
            assert match is not None  # every non-empty text matches
            mark, body, percent = match.groups()
            content: tuple[str, str] | WordClass | Symbol
            if body.startswith("@"):
                content = self.lexicon[body[1:]]
            elif SYMBOL.fullmatch(body):
                content = self._symbol(body)
            else:
                word, _, tag = body.rpartition("/")
                content = word, tag
            self.items[text] = Item(content, bool(mark), int(percent or 100) / 100)
        return self.items[text]


def _arguments(name: str) -> list[str]:
    """``["sg", "person"]`` of ``NP[sg,person]``."""
    match = SYMBOL.fullmatch(name)
    return match[2].split(",") if match and match[2] else []
