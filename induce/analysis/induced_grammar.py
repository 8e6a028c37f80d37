"""Readable descriptions of a trained grammar, and sentences drawn from it.

For neural PCFGs: the words of the preterminals and the rules, counted in drawn sentences. For grammars over classes
(`dmv`, `ndmv`): the words of the word classes, and the arcs between classes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treebank.base.errors import SynparseError
from treebank.base.tables import Cell, Column, Table
from treebank.core.sentence import ROOT, Sentence
from treebank.core.tree import Tree

if TYPE_CHECKING:
    from induce.models.dependency.head_sampling import DrawnHeads
    from induce.models.em.dmv import Dmv
    from induce.models.grammars.tree_sampling import DrawnTree
    from induce.parsing.model_parser import ModelParser
    from induce.parsing.parser import Words


MAX_ATTEMPTS = 1_000  # trees in a row that may be too long
DRAWN_SENTENCES = 1_000
EXAMPLES = 3  # phrases of a rule, or pairs of words of an arc
SIDES = ("right", "left")  # of the head, in the order of the model's tables
NumberedHeads = tuple[Sequence[str], Sequence[int], Mapping[int, int]]  # words, heads, and classes by index


def generate(
    run: str | os.PathLike[str], *, seed: int = 1, limit: int = 10, max_length: int = 40, with_heads: bool = False
) -> Iterator[Sentence]:
    """Yield ``limit`` sentences of at most ``max_length`` words, drawn from the grammar in ``run`` with its trees.

    Labels are those of the decoder ``brackets``, with the preterminals T0, T1, … as tags. Sentences of a lexicalized
    grammar have heads, too. Those of a dependency model have heads alone, with the word classes C0, C1, … as tags.
    Longer sentences are drawn again. Raises SynparseError if the model is not a grammar, if 1,000 sentences in a row
    are too long, or if ``with_heads`` is true and the grammar has no heads.
    """
    from induce.models.dependency.head_sampling import DrawnHeads

    names, draw = _drawing(run, seed, with_heads=with_heads)
    for _ in range(limit):
        attempts = (draw(max_length) for _ in range(MAX_ATTEMPTS))
        drawn = next((attempt for attempt in attempts if attempt is not None), None)
        if drawn is None:
            problem = f"{MAX_ATTEMPTS:,} trees in a row have more than {max_length} words"
            raise SynparseError(f"{run}: {problem}; train the grammar longer, or allow more words with --max-length")
        words, heads = tuple(names[word] for word in drawn.words), tuple(drawn.heads)
        if isinstance(drawn, DrawnHeads):
            yield Sentence(words, tuple(f"C{group}" for group in drawn.classes), heads=heads)
            continue
        tags = tuple(f"T{preterminal}" for preterminal in drawn.preterminals)
        spans, labels = [(start, end) for start, end, _ in drawn.spans], [f"NT{label}" for _, _, label in drawn.spans]
        yield Sentence(words, tags, Tree(words, tags, tuple(spans), tuple(labels)), heads=heads)


def _drawing(
    run: str | os.PathLike[str], seed: int, *, with_heads: bool
) -> tuple[Sequence[str], Callable[[int], DrawnTree | DrawnHeads | None]]:
    """Words of the vocabulary, and a function that draws a sentence of at most so many words."""
    import torch

    from induce.models.dependency.head_sampling import HeadSampler, class_grammars
    from induce.models.dependency.neural_dmv import Ndmv
    from induce.models.em.dmv import Dmv
    from induce.models.grammars.grammar import Grammar
    from induce.models.grammars.headed_grammar import HeadedGrammar
    from induce.models.grammars.tree_sampling import Sampler
    from induce.parsing.load import read_trained
    from induce.registry import MODELS, model_class
    from induce.storage.checkpoint import build_model

    checkpoint = read_trained(run)
    model = build_model(checkpoint).eval()
    names = checkpoint.vocabulary.names
    if isinstance(model, Dmv | Ndmv):
        return names, HeadSampler(class_grammars(model), seed).draw
    kind = HeadedGrammar if with_heads else Grammar
    if not isinstance(model, kind):
        models = [name for name in MODELS if issubclass(model_class(name), (kind, Dmv, Ndmv))]
        requirement = "a grammar with head words" if with_heads else "a grammar to draw from"
        raise SynparseError(
            f"{run}: model {checkpoint.config.model_name!r} is not {requirement}; use one of {', '.join(models)}"
        )
    return names, Sampler(model, torch.Generator().manual_seed(seed)).draw


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
    examples = {  # the most frequent phrases, on ties the shortest
        rule: tuple(sorted(counts, key=lambda phrase: (-counts[phrase], phrase.count(" "), phrase))[:EXAMPLES])
        for rule, counts in phrases.items()
    }
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
            Rule(*rule, count / parents[rule[0]], count / DRAWN_SENTENCES, examples[rule])
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
    from induce.models.dependency.neural_dmv import Ndmv
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
