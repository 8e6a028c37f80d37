"""The reader of ``grammar.txt``: weighted rules with features, made into tables that the sampler walks.

The notation is described at the top of ``grammar.txt``. Rules are templates: ``NP[$n,person]`` stands for one rule per
value of ``$n``. Only the symbols that the start symbol can reach are made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import fsum
from typing import NamedTuple

from bench.sample.lexicon import WordClass
from treebank.base.errors import TreebankError

LEVELS = 5  # of nesting: at the last one no recursive rule (~) is used any more
DECAY = 0.55  # the weight of a recursive rule at each deeper level
START = "_text"
VARIABLE = re.compile(r"\$[a-z]+")
SYMBOL = re.compile(r"([A-Z_][A-Za-z.0-9]*)(?:\[([^\]]*)\])?")
ITEM = re.compile(r"(\*?)(.+?)(?:\?(\d+))?")


class Item(NamedTuple):
    """One daughter of a rule: a word, a class of words, or a symbol (exactly one of the three)."""

    word: tuple[str, str] | None
    words: WordClass | None
    symbol: Symbol | None
    head: bool
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

    name: str
    label: str
    tables: list[tuple[list[float], list[Rule]]] = field(default_factory=list)


class Template(NamedTuple):
    """One alternative as written: left side, weight, mark of recursion, items, line in the file."""

    left: str
    weight: float
    recursive: bool
    items: str
    line: int


def read_grammar(text: str, lexicon: dict[str, WordClass], path: str = "grammar.txt") -> Symbol:
    """The start symbol of the grammar, with everything that it can reach.

    Raises TreebankError, with the line, for malformed, unknown, headless or endlessly recursive rules.
    """
    variables: dict[str, dict[str, float]] = {}
    templates: dict[str, list[Template]] = {}
    left = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].rstrip()
        if not line:
            continue
        if line.startswith("$"):
            name, values = _variable(line, path, number)
            variables[name] = values
        elif not line[0].isspace():
            left = line
            if SYMBOL.fullmatch(left) is None:
                raise TreebankError(path, number, f"{left!r} is not a symbol; rules are indented below a symbol")
        else:
            template = _template(left, line, path, number)
            templates.setdefault(left.split("[")[0], []).append(template)
    return _Compiler(variables, templates, lexicon, path).compile()


def _variable(line: str, path: str, number: int) -> tuple[str, dict[str, float]]:
    """Name and weighted values of a declaration ``$n = sg 6, pl 4``."""
    name, _, values = (part.strip() for part in line.partition("="))
    try:
        pairs = [value.split() for value in values.split(",")]
        return name, {value: float(weight) for value, weight in pairs}
    except ValueError:
        raise TreebankError(path, number, f"{line!r} declares nothing; write '$n = sg 6, pl 4'") from None


def _template(left: str, line: str, path: str, number: int) -> Template:
    """The alternative ``weight [~] items`` of the symbol ``left``."""
    match = re.fullmatch(r"\s+(\d+(?:\.\d+)?)(~?)\s+(.+)", line)
    if match is None or not left:
        raise TreebankError(
            path, number, f"{line.strip()!r} is not a rule; write a weight, ~ if recursive, and the items"
        )
    return Template(left, float(match[1]), bool(match[2]), match[3], number)


class _Compiler:
    """Fills in the features, symbol by symbol, from the start symbol on."""

    def __init__(
        self,
        variables: dict[str, dict[str, float]],
        templates: dict[str, list[Template]],
        lexicon: dict[str, WordClass],
        path: str,
    ) -> None:
        self.variables, self.templates, self.lexicon, self.path = variables, templates, lexicon, path
        self.symbols: dict[str, Symbol] = {}
        self.unfilled: list[Symbol] = []
        self.items: dict[str, Item] = {}
        self.used: set[Template] = set()

    def compile(self) -> Symbol:
        """The start symbol, with the tables of all symbols below it."""
        start = self._symbol(START)
        while self.unfilled:
            self._fill(self.unfilled.pop())
        self._check_helpers()
        self._check_depth()
        for template in (template for group in self.templates.values() for template in group):
            if template not in self.used:
                raise TreebankError(self.path, template.line, f"no sentence can use this rule of {template.left}")
        return start

    def _symbol(self, name: str) -> Symbol:
        """The symbol ``name``, made when first asked for."""
        if name not in self.symbols:
            label = "" if name.startswith("_") else re.split(r"[.\[]", name)[0]
            self.symbols[name] = Symbol(name, label)
            self.unfilled.append(self.symbols[name])
        return self.symbols[name]

    def _fill(self, symbol: Symbol) -> None:
        """Gives ``symbol`` its rules, one table per level."""
        weighted: list[tuple[float, Rule]] = []
        for template in self.templates.get(symbol.name.split("[")[0], []):
            bound = self._bind(template, symbol.name)
            if bound is not None:
                self.used.add(template)
                weighted += list(self._rules(template, bound))
        decay = 1.0
        for level in range(LEVELS):
            last = level == LEVELS - 1
            cumulative, rules, total = [], [], 0.0
            for weight, rule in weighted:
                if not (rule.recursive and last):
                    total += weight * decay if rule.recursive else weight
                    cumulative.append(total)
                    rules.append(rule)
            symbol.tables.append((cumulative, rules))
            decay *= DECAY
        if not symbol.tables[-1][1]:
            raise TreebankError(self.path, 0, f"{symbol.name} has no rule that is not recursive")

    def _bind(self, template: Template, name: str) -> dict[str, str] | None:
        """Values of the left side's variables for the symbol ``name``, or None if it does not match."""
        bound: dict[str, str] = {}
        patterns, values = _arguments(template.left), _arguments(name)
        if len(patterns) != len(values):
            raise TreebankError(self.path, template.line, f"{name} is used, {template.left} is defined")
        for pattern, value in zip(patterns, values, strict=True):
            if not pattern.startswith("$"):
                if pattern != value:
                    return None
            elif value not in self._values(pattern, template) or bound.setdefault(pattern, value) != value:
                return None
        return bound

    def _rules(self, template: Template, bound: dict[str, str]) -> Iterator[tuple[float, Rule]]:
        """One weighted rule for each way to fill the variables that only the right side has."""
        free = [name for name in dict.fromkeys(VARIABLE.findall(template.items)) if name not in bound]
        for values in product(*(self._values(name, template).items() for name in free)):
            filled = bound | {name: value for name, (value, _) in zip(free, values, strict=True)}
            weight = template.weight
            for name, (_, share) in zip(free, values, strict=True):
                weight *= share / fsum(self.variables[name].values())
            yield weight, self._rule(template, _fill_in(template.items, filled))

    def _values(self, name: str, template: Template) -> dict[str, float]:
        """The declared values of a variable."""
        if name not in self.variables:
            raise TreebankError(self.path, template.line, f"{name} is not declared")
        return self.variables[name]

    def _rule(self, template: Template, text: str) -> Rule:
        """The rule written as ``text``, with its features filled in. ``-`` is the empty rule."""
        items = tuple(self._item(template, part) for part in text.split()) if text != "-" else ()
        heads = [item for item in items if item.head]
        helper = template.left.startswith("_")
        if len(heads) > 1 or (not heads and len(items) > 1 and not helper) or (not items and not helper):
            raise TreebankError(self.path, template.line, f"{text!r} needs one head, marked with *")
        if not helper and not heads:
            items = (items[0]._replace(head=True),)
        if any(item.head and item.chance < 1 for item in items):
            raise TreebankError(self.path, template.line, f"{text!r}: a head cannot be optional")
        return Rule(items, template.recursive)

    def _item(self, template: Template, text: str) -> Item:
        """One daughter: ``the/DT``, ``@person.sg``, ``NP[sg,person]``, with its marks ``*`` and ``?30``."""
        if text not in self.items:
            self.items[text] = self._read_item(template, text)
        return self.items[text]

    def _read_item(self, template: Template, text: str) -> Item:
        """``_item``, not seen before."""
        match = ITEM.fullmatch(text)
        assert match is not None  # every non-empty text matches
        head, chance = bool(match[1]), int(match[3] or 100) / 100
        body = match[2]
        if body.startswith("@"):
            if body[1:] not in self.lexicon:
                raise TreebankError(self.path, template.line, f"the lexicon has no {body[1:]}")
            return Item(None, self.lexicon[body[1:]], None, head, chance)
        if SYMBOL.fullmatch(body):
            if body.split("[")[0] not in self.templates:
                raise TreebankError(self.path, template.line, f"{body} has no rules")
            return Item(None, None, self._symbol(body), head, chance)
        word, slash, tag = body.rpartition("/")
        if not (word and slash and tag):
            raise TreebankError(self.path, template.line, f"{body!r} is neither word/TAG, @class nor SYMBOL")
        return Item((word, tag), None, None, head, chance)

    def _check_helpers(self) -> None:
        """Check that a helper has a head in all rules if it is marked as head, and in no rule otherwise."""
        marked = {True: {START}, False: set[str]()}
        for symbol in self.symbols.values():
            for rule in symbol.tables[0][1]:
                for item in rule.items:
                    if item.symbol is not None and not item.symbol.label:
                        marked[item.head].add(item.symbol.name)
        for head, names in marked.items():
            for name in sorted(names):
                for rule in self.symbols[name].tables[0][1]:
                    if any(item.head for item in rule.items) != head:
                        finding = "has a rule without a head" if head else "marks a head but is not used as one"
                        raise TreebankError(self.path, 0, f"{name} {finding}")

    def _check_depth(self) -> None:
        """Without its recursive rules the grammar must come to an end: no symbol below itself."""
        state: dict[str, int] = {}  # 1 being walked, 2 done

        def walk(symbol: Symbol) -> None:
            if state.get(symbol.name) == 1:
                raise TreebankError(self.path, 0, f"{symbol.name} can contain itself; mark the recursive rule with ~")
            if symbol.name not in state:
                state[symbol.name] = 1
                for rule in symbol.tables[-1][1]:
                    for item in rule.items:
                        if item.symbol is not None:
                            walk(item.symbol)
                state[symbol.name] = 2

        for symbol in self.symbols.values():
            walk(symbol)


def _fill_in(items: str, values: dict[str, str]) -> str:
    """``items`` with every variable replaced by its value."""
    return VARIABLE.sub(lambda match: values[match[0]], items)


def _arguments(name: str) -> list[str]:
    """``["sg", "person"]`` of ``NP[sg,person]``."""
    match = SYMBOL.fullmatch(name)
    return match[2].split(",") if match and match[2] else []
