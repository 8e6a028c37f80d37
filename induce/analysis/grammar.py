"""The grammar of a trained `dmv` as a person reads it: classes by their words, and which class heads which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT

if TYPE_CHECKING:
    from induce.models.em.dmv import Dmv
    from induce.parsing.parser import Words

SIDES = ("right", "left")  # of the head, in the order of the model's tables


@dataclass(frozen=True)
class WordClass:
    """One class: its most frequent words, its share of the text, how often it is the root of a sentence."""

    number: int
    words: tuple[str, ...]
    share: float
    root: float


@dataclass(frozen=True)
class ClassArc:
    """Children of a class: how often head class, side and child class come together, for a word of the text."""

    head: int
    side: str  # where the child stands: "left" or "right" of its head
    child: int
    rate: float  # arcs a word; of a grammar by itself that of first children
    examples: tuple[str, ...]  # "head child" in the order of the text


@dataclass(frozen=True)
class GrammarReport:
    """What one member of a model holds; classes by their share, arcs by how frequent they are."""

    run: str
    member: int  # from 1
    members: int
    classes: tuple[WordClass, ...]
    arcs: tuple[ClassArc, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries."""
        return asdict(self)


def describe_grammar(
    run: str, *, member: int = 1, words: int = 8, arcs: int = 30, text: Iterable[Words] | None = None
) -> GrammarReport:
    """Member ``member`` of the model in ``run``, with so many ``words`` a class and so many ``arcs``.

    With ``text`` arcs are counted in its trees and have examples from it; without, they are what the grammar says of a
    word of the text it learned from, and examples are its classes' most frequent words. Raises SynparseError if the
    model is none of these, or has fewer members.
    """
    from induce.models.em.dmv import Dmv
    from induce.parsing.load import load_model_parser

    parser = load_model_parser(run, device="cpu")
    model = parser.model
    if not isinstance(model, Dmv):
        raise SynparseError(f"{run}: model {parser.name!r} holds no grammar over word classes; dmv does")
    if not 1 <= member <= model.config.members:
        raise SynparseError(f"{run}: there is no member {member}; this model has {model.config.members}")
    vocabulary = parser.checkpoint.vocabulary
    classes = _classes(model, member - 1, vocabulary.names, words)
    if text is None:
        found = _expected_arcs(model, member - 1, {one.number: one.words for one in classes}, arcs)
    else:
        recipe = parser.recipe
        trees = ((sentence, recipe(sentence).kept, heads) for sentence, heads in parser.parse_heads(text))
        numbers = model.classes[member - 1].tolist()
        parsed = (
            (words, {i: numbers[vocabulary.id(recipe(words).forms[j])] for j, i in enumerate(kept)}, heads)
            for words, kept, heads in trees
        )
        found = _counted_arcs(parsed, arcs)
    return GrammarReport(Path(run).name, member, model.config.members, classes, found)


def _classes(model: Dmv, member: int, words: Sequence[str], count: int) -> tuple[WordClass, ...]:
    """Classes that hold a word of the text, the largest first."""
    share, classes = model.share.numpy(), model.classes[member].numpy()
    sums = np.bincount(classes, share, model.class_count)
    root = model.root[member].numpy()
    result = []
    for number in np.argsort(-sums, kind="stable").tolist():
        own = np.flatnonzero((classes == number) & (share > 0))
        if len(own):
            first = own[np.argsort(-share[own], kind="stable")][:count]
            shown = tuple(words[i] for i in first.tolist())
            result.append(WordClass(number, shown, float(sums[number]), float(root[number])))
    return tuple(result)


def _expected_arcs(model: Dmv, member: int, words: dict[int, tuple[str, ...]], count: int) -> tuple[ClassArc, ...]:
    """First children: share of the head's class times the probabilities of going on and of the child."""
    grammar = model.grammar(member)
    share = np.bincount(model.classes[member].numpy(), model.share.numpy(), model.class_count)
    rates = share[:, None, None] * (1 - grammar.stop[:, :, 0])[..., None] * grammar.choose[:, :, 0]  # (K, 2, K)
    result = []
    for place in np.argsort(-rates, axis=None, kind="stable")[:count].tolist():
        head, side, child = (int(i) for i in np.unravel_index(place, rates.shape))
        pairs = zip(words.get(head, ()), words.get(child, ()), strict=False)
        examples = tuple(f"{one} {other}" if side == 0 else f"{other} {one}" for one, other in list(pairs)[:3])
        result.append(ClassArc(head, SIDES[side], child, float(rates[head, side, child]), examples))
    return tuple(result)


def _counted_arcs(
    parsed: Iterable[tuple[Sequence[str], dict[int, int], Sequence[int]]], count: int
) -> tuple[ClassArc, ...]:
    """Arcs between words that have a class, in trees: words, classes by place, heads."""
    arcs: Counter[tuple[int, str, int]] = Counter()
    examples: dict[tuple[int, str, int], Counter[str]] = {}
    total = 0
    for words, classes, heads in parsed:
        total += len(classes)
        for child, head in enumerate(heads):
            if head != ROOT and child in classes and head in classes:
                key = (classes[head], SIDES[child < head], classes[child])
                arcs[key] += 1
                pair = sorted((child, head))
                examples.setdefault(key, Counter())[f"{words[pair[0]]} {words[pair[1]]}"] += 1
    return tuple(
        ClassArc(*key, times / total, tuple(pair for pair, _ in examples[key].most_common(3)))
        for key, times in arcs.most_common(count)
    )
