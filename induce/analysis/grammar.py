"""Readable description of a grammar over word classes (`dmv`, `ndmv`): words of classes, and arcs between classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from induce.analysis.rule_counts import DRAWN_SENTENCES, EXAMPLES
from induce.analysis.samples import generate
from treebank.base.errors import SynparseError
from treebank.base.tables import Cell, Column, Table
from treebank.core.sentence import ROOT, Sentence

if TYPE_CHECKING:
    from induce.models.em.dmv import Dmv
    from induce.parsing.model_parser import ModelParser
    from induce.parsing.parser import Words

SIDES = ("right", "left")  # of the head, in the order of the model's tables
NumberedHeads = tuple[Sequence[str], Sequence[int], Mapping[int, int]]  # words, heads, and classes by index


@dataclass(frozen=True)
class WordClass:
    """A class: its most frequent words, its share of the training text, and its probability as root."""

    number: int
    words: tuple[str, ...]
    share: float
    root: float


@dataclass(frozen=True)
class ClassArc:
    """Dependents of one class in another: head class, side, dependent class and their rate per word of a text."""

    head: int
    side: str  # "left" or "right" of the head
    child: int
    rate: float  # arcs per word; expected first dependents, if there is no text
    examples: tuple[str, ...]  # head and dependent in the order of the text


@dataclass(frozen=True)
class GrammarReport:
    """Description of one grammar: word classes by their share of the words, and arcs between classes by frequency."""

    run: str
    member: int  # from 1
    members: int
    classes: tuple[WordClass, ...]
    arcs: tuple[ClassArc, ...]

    def tables(self) -> list[Table]:
        """One row per class, and one per arc."""
        classes: list[list[Cell]] = [
            [str(group.number), " ".join(group.words), group.share, group.root] for group in self.classes
        ]
        names = {group.number: f"{group.number} ({group.words[0]})" for group in self.classes}
        arcs: list[list[Cell]] = []
        for arc in self.arcs:
            head, child = (names.get(number, str(number)) for number in (arc.head, arc.child))
            arcs.append([head, arc.side, child, ", ".join(arc.examples), arc.rate])
        class_columns = [Column("Class"), Column("Words"), Column("Of text", ".1%"), Column("Root", ".1%")]
        arc_columns = [Column(name) for name in ("Head", "Dependent is", "Dependent", "Examples")]
        title = f"Word classes of grammar {self.member} of {self.members}"
        return [
            Table(title, class_columns, classes),
            Table("Arcs between classes", [*arc_columns, Column("Of words", ".2%")], arcs),
        ]

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        return asdict(self)


def describe_grammar(
    run: str, *, member: int = 1, words: int = 8, arcs: int = 30, text: Iterable[Words] | None = None
) -> GrammarReport:
    """Describe grammar ``member`` of the model in ``run``, with ``words`` per class and ``arcs`` arcs.

    With ``text``, arcs are counted in its trees and exemplified from it. Otherwise they are the expected first
    dependents in the training text, exemplified by the most frequent words of the classes; those of `ndmv` are counted
    in 1,000 sentences drawn from it. Raises SynparseError if the model has no grammar over word classes, or fewer
    members.
    """
    from induce.models.dependency.ndmv import Ndmv
    from induce.models.em.dmv import Dmv
    from induce.parsing.load import load_model_parser

    parser = load_model_parser(run, device="cpu")
    model = parser.model
    if isinstance(model, Ndmv) and member == 1:
        drawn = list(generate(run, limit=DRAWN_SENTENCES))
        if text is None:
            numbered = [(item.words, item.heads, dict(enumerate(map(_class_of, item.tags or ())))) for item in drawn]
            class_arcs = _count_arcs(numbered, arcs)
        else:
            class_arcs = _counted_arcs(parser, model.classes.tolist(), text, arcs)
        return GrammarReport(Path(run).name, 1, 1, _drawn_classes(drawn, words), class_arcs)
    if not isinstance(model, Dmv):
        raise SynparseError(
            f"{run}: model {parser.name!r} has no grammar over word classes or symbols; dmv, ndmv and neural PCFGs have"
        )
    members = model.config.members
    if not 1 <= member <= members:
        raise SynparseError(f"{run}: there is no grammar {member}; this model has {members}")
    classes = _classes(model, member - 1, parser.checkpoint.vocabulary.names, words)
    if text is None:
        class_arcs = _expected_arcs(model, member - 1, {group.number: group.words for group in classes}, arcs)
    else:
        class_arcs = _counted_arcs(parser, model.classes[member - 1].tolist(), text, arcs)
    return GrammarReport(Path(run).name, member, members, classes, class_arcs)


def _class_of(tag: str) -> int:
    """Number of the class of a drawn word."""
    return int(tag[1:])


def _drawn_classes(sentences: Sequence[Sentence], count: int) -> tuple[WordClass, ...]:
    """Classes in drawn ``sentences``, the most frequent first, with their most frequent words."""
    pairs = Counter(
        pair for item in sentences for pair in zip(map(_class_of, item.tags or ()), item.words, strict=True)
    )
    roots = Counter(_class_of((item.tags or ())[item.heads.index(ROOT)]) for item in sentences)
    sizes: Counter[int] = Counter()
    words: dict[int, list[str]] = {}
    for (group, word), number in pairs.most_common():
        sizes[group] += number
        words.setdefault(group, []).append(word)
    return tuple(
        WordClass(group, tuple(words[group][:count]), size / sizes.total(), roots[group] / len(sentences))
        for group, size in sizes.most_common()
    )


def _classes(model: Dmv, member: int, names: Sequence[str], count: int) -> tuple[WordClass, ...]:
    """Classes with at least one word of the training text, the largest first."""
    share, classes = model.share.numpy(), model.classes[member].numpy()
    sums = np.bincount(classes, share, model.class_count)
    root = model.root[member].numpy()
    groups = []
    for number in np.argsort(-sums, kind="stable").tolist():
        words = np.flatnonzero((classes == number) & (share > 0))
        if len(words):
            frequent = words[np.argsort(-share[words], kind="stable")][:count]
            forms = tuple(names[word] for word in frequent.tolist())
            groups.append(WordClass(number, forms, float(sums[number]), float(root[number])))
    return tuple(groups)


def _expected_arcs(model: Dmv, member: int, words: dict[int, tuple[str, ...]], count: int) -> tuple[ClassArc, ...]:
    """Expected first dependents: share of the head's class times the probabilities to continue and of the dependent."""
    grammar = model.grammar(member)
    share = np.bincount(model.classes[member].numpy(), model.share.numpy(), model.class_count)
    rates = share[:, None, None] * (1 - grammar.stop[:, :, 0])[..., None] * grammar.choose[:, :, 0]  # (K, 2, K)
    arcs = []
    for index in np.argsort(-rates, axis=None, kind="stable")[:count].tolist():
        head, side, child = (int(i) for i in np.unravel_index(index, rates.shape))
        pairs = list(zip(words.get(head, ()), words.get(child, ()), strict=False))[:EXAMPLES]
        examples = tuple(" ".join(pair if side == 0 else pair[::-1]) for pair in pairs)
        arcs.append(ClassArc(head, SIDES[side], child, float(rates[head, side, child]), examples))
    return tuple(arcs)


def _counted_arcs(
    parser: ModelParser, classes: Sequence[int], text: Iterable[Words], count: int
) -> tuple[ClassArc, ...]:
    """The most frequent arcs between words with a class in the trees of a text."""
    vocabulary = parser.checkpoint.vocabulary

    def numbered() -> Iterator[NumberedHeads]:
        for words, heads in parser.parse_heads(text):
            normalized = parser.recipe(words)
            pairs = zip(normalized.indices, normalized.forms, strict=True)
            yield words, heads, {index: classes[vocabulary.id(form)] for index, form in pairs}

    return _count_arcs(numbered(), count)


def _count_arcs(sentences: Iterable[NumberedHeads], count: int) -> tuple[ClassArc, ...]:
    """The most frequent arcs between words with a class, with examples."""
    counts: Counter[tuple[int, str, int]] = Counter()
    examples: dict[tuple[int, str, int], Counter[str]] = {}
    total = 0
    for words, heads, class_of in sentences:
        total += len(class_of)
        for child, head in enumerate(heads):
            if head != ROOT and child in class_of and head in class_of:
                key = (class_of[head], SIDES[child < head], class_of[child])
                counts[key] += 1
                first, last = sorted((child, head))
                examples.setdefault(key, Counter())[f"{words[first]} {words[last]}"] += 1
    return tuple(
        ClassArc(*key, arcs / total, tuple(pair for pair, _ in examples[key].most_common(EXAMPLES)))
        for key, arcs in counts.most_common(count)
    )
