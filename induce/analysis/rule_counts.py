"""Readable rules of a neural PCFG of any type: what its symbols stand for, counted in sentences drawn from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from induce.analysis.samples import generate
from treebank.base.tables import Cell, Column, Table
from treebank.core.tree import Tree

DRAWN_SENTENCES = 1_000
EXAMPLES = 3  # phrases of a rule, or pairs of words of an arc


@dataclass(frozen=True)
class Preterminal:
    """A preterminal with its most frequent words and its share of all words."""

    name: str
    words: tuple[str, ...]
    share: float


@dataclass(frozen=True)
class Rule:
    """A binary rule: its share of the uses of the parent, its rate per sentence, and its most frequent phrases."""

    parent: str
    left: str
    right: str
    share: float
    rate: float
    examples: tuple[str, ...]


@dataclass(frozen=True)
class RuleReport:
    """Preterminals and rules of a grammar, the most frequent first."""

    run: str
    sentences: int  # drawn
    preterminals: tuple[Preterminal, ...]
    rules: tuple[Rule, ...]

    def tables(self) -> list[Table]:
        """One row per preterminal, and one per rule."""
        groups: list[list[Cell]] = [[group.name, " ".join(group.words), group.share] for group in self.preterminals]
        rules: list[list[Cell]] = [
            [rule.parent, rule.left, rule.right, ", ".join(rule.examples), rule.share, rule.rate] for rule in self.rules
        ]
        columns = [Column(name) for name in ("Parent", "Left child", "Right child", "Examples")]
        return [
            Table("Preterminals", [Column("Symbol"), Column("Words"), Column("Of words", ".1%")], groups),
            Table("Rules", [*columns, Column("Of parent", ".1%"), Column("Per sentence", ".2f")], rules),
        ]

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return asdict(self)


def is_pcfg(run: str) -> bool:
    """Whether the model in ``run`` is a neural PCFG."""
    from induce.models.grammars.grammar import Grammar
    from induce.parsing.load import read_trained
    from induce.settings.run import kind_of

    return issubclass(kind_of(read_trained(run).config), Grammar)


def describe_rules(run: str, *, words: int = 8, rules: int = 30) -> RuleReport:
    """Describe the grammar in ``run``, with ``words`` per preterminal and ``rules`` rules.

    Everything is counted in 1,000 sentences drawn from the grammar, the labels of whose trees are the symbols. Raises
    SynparseError like `generate`.
    """
    forms: dict[str, Counter[str]] = {}
    phrases: dict[tuple[str, str, str], Counter[str]] = {}
    for sentence in generate(run, limit=DRAWN_SENTENCES):
        assert sentence.tree is not None
        for tag, word in zip(sentence.tree.tags, sentence.tree.words, strict=True):
            forms.setdefault(tag, Counter())[word] += 1
        for rule, phrase in rules_in(sentence.tree):
            phrases.setdefault(rule, Counter())[phrase] += 1
    total = sum(counts.total() for counts in forms.values())
    groups = sorted(forms.items(), key=lambda item: (-item[1].total(), item[0]))
    uses = Counter({rule: counts.total() for rule, counts in phrases.items()})
    parents: Counter[str] = Counter()
    for (parent, _, _), count in uses.items():
        parents[parent] += count
    return RuleReport(
        Path(run).name,
        DRAWN_SENTENCES,
        tuple(
            Preterminal(tag, tuple(word for word, _ in counts.most_common(words)), counts.total() / total)
            for tag, counts in groups
        ),
        tuple(
            Rule(*rule, count / parents[rule[0]], count / DRAWN_SENTENCES, _shortest(phrases[rule]))
            for rule, count in uses.most_common(rules)
        ),
    )


def rules_in(tree: Tree) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Each binary rule of a tree, as its parent and children, with the words below it."""
    symbols = {(i, i + 1): tag for i, tag in enumerate(tree.tags)} | dict(zip(tree.spans, tree.labels, strict=True))
    for start, end in tree.spans:
        middle = next(k for k in range(start + 1, end) if (start, k) in symbols and (k, end) in symbols)
        rule = symbols[start, end], symbols[start, middle], symbols[middle, end]
        yield rule, " ".join(tree.words[start:end])


def _shortest(phrases: Counter[str]) -> tuple[str, ...]:
    """The most frequent phrases, on ties the shortest."""
    ordered = sorted(phrases, key=lambda phrase: (-phrases[phrase], phrase.count(" "), phrase))
    return tuple(ordered[:EXAMPLES])
