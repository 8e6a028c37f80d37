"""What can be scored: baselines, files of trees or heads, and parsers; each is asked for brackets or for heads.

A system gets the gold sentences as views and gives, for each, brackets or heads over the words of the view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from treebank.base.errors import UnknownNameError
from treebank.base.registry import nearest
from treebank.core.baselines import SEEDED, find_baseline
from treebank.core.dependency import Heads
from treebank.core.sentence import ROOT, Sentence
from treebank.core.tree import Tree
from treebank.evaluate.align import GivenHeads, HeadView, PredictedHeads, Reading, View, align
from treebank.io.predictions import PredictedTree, read_prediction_heads, read_prediction_trees


class _Named(Protocol):
    """What every system says of itself."""

    @property
    def name(self) -> str: ...

    @property
    def seed(self) -> int | None: ...

    @property
    def model(self) -> str:
        """The folder of a trained model, else nothing."""

    @property
    def learned_from(self) -> str:
        """The trees that it learned from, such as ``gold trees: wsj-train``, else nothing."""

    @property
    def decoded(self) -> str:
        """Which model gave the trees and how they were read, ``model:onlstm|checkpoint:3f2a91c0|…``, else nothing."""


class TreeSystem(_Named, Protocol):
    """Something that gives brackets to gold sentences."""

    def readings(self, views: Sequence[View], wanted: Sequence[bool]) -> list[Reading]:
        """A tree for each view; those of views that are not wanted may be empty."""


class HeadSystem(_Named, Protocol):
    """Something that gives heads to gold sentences."""

    def heads(self, views: Sequence[HeadView], wanted: Sequence[bool]) -> list[Heads]:
        """Heads of each view's words; those of views that are not wanted may be empty."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Trees built from the number of words; a random one draws over the whole treebank, whatever is wanted of it."""

    name: str
    random_seed: int = 1
    model: str = ""
    learned_from: str = ""
    decoded: str = ""

    @property
    def seed(self) -> int | None:
        return self.random_seed if self.name in SEEDED else None

    def readings(self, views: Sequence[View], wanted: Sequence[bool]) -> list[Reading]:
        build, chance = find_baseline(self.name), Random(self.random_seed)
        return [Reading.over_survivors(build(view.tree, chance), len(view)) for view in views]


@dataclass(frozen=True, slots=True)
class Expectation:
    """A random baseline by the exact expectation of its score, with a few runs beside it."""

    name: str
    seeds: Sequence[int] = (1, 2, 3, 4, 5)
    seed: None = None

    def runs(self, views: Sequence[View]) -> dict[str, list[Reading]]:
        """The trees of each run."""
        return {str(seed): Baseline(self.name, seed).readings(views, ()) for seed in self.seeds}


@dataclass(frozen=True, slots=True)
class Predictions:
    """Trees of a parser, one for each gold sentence, or for each one that is short enough to be scored."""

    name: str
    trees: Sequence[PredictedTree]
    seed: int | None = None
    model: str = ""
    learned_from: str = ""
    decoded: str = ""

    @classmethod
    def of_file(cls, path: str) -> Predictions:
        """The trees of a file or folder. Raises TreebankError with file and line if they cannot be read."""
        return cls(path, list(read_prediction_trees(path)))

    def readings(self, views: Sequence[View], wanted: Sequence[bool]) -> list[Reading]:
        """The tree of each view. Raises SynparseError if the trees are of other sentences."""
        return align(self.name, self.trees, views, wanted, thing="tree", none=Reading())


@dataclass(frozen=True, slots=True)
class ParsedTrees:
    """Trees that a parser gives to the sentences that are wanted, when it is first asked."""

    name: str
    parse: Callable[[Sequence[Sentence]], Iterable[Tree]]
    seed: int | None = None
    model: str = ""
    learned_from: str = ""
    decoded: str = ""
    given: list[PredictedTree] = field(default_factory=list, repr=False)
    parse_text: Callable[[Sequence[Sentence]], Iterable[Tree]] | None = None  # of the surface, its leaves what it finds
    characters: bool = False  # whether its leaves are characters, so that all is scored over these

    def readings(self, views: Sequence[View], wanted: Sequence[bool]) -> list[Reading]:
        """The tree of each view."""
        if not self.given:
            sentences = [view.sentence for view, is_wanted in zip(views, wanted, strict=True) if is_wanted]
            self.given.extend(PredictedTree(self.name, i, "", tree) for i, tree in enumerate(self.parse(sentences), 1))
        return align(self.name, self.given, views, wanted, thing="tree", none=Reading())


def previous(length: int) -> Heads:
    """Each word depends on the one before it; the first is the root."""
    return tuple(range(-1, length - 1))


def following(length: int) -> Heads:
    """Each word depends on the one after it; the last is the root."""
    return (*range(1, length), ROOT) if length else ()


HEAD_BASELINES: dict[str, Callable[[int], Heads]] = {"previous": previous, "next": following}


@dataclass(frozen=True, slots=True)
class HeadBaseline:
    """Heads that follow from the number of words that are left."""

    name: str
    seed: None = None
    model: str = ""
    learned_from: str = ""
    decoded: str = ""

    def heads(self, views: Sequence[HeadView], wanted: Sequence[bool]) -> list[Heads]:
        """Heads of each view's words. Raises SynparseError if there is no such baseline."""
        if self.name not in HEAD_BASELINES:
            raise UnknownNameError(f"no baseline {self.name!r} for heads; {nearest(self.name, HEAD_BASELINES)}")
        return [HEAD_BASELINES[self.name](len(view.heads)) for view in views]


@dataclass(frozen=True, slots=True)
class HeadPredictions:
    """Heads of a parser, one sentence for each gold sentence, or for each one that is scored."""

    name: str
    sentences: Sequence[PredictedHeads]
    seed: int | None = None
    model: str = ""
    learned_from: str = ""
    decoded: str = ""

    @classmethod
    def of_file(cls, path: str) -> HeadPredictions:
        """The heads of a CoNLL-U file or a folder. Raises TreebankError with file and line if they cannot be read."""
        return cls(path, list(read_prediction_heads(path)))

    def heads(self, views: Sequence[HeadView], wanted: Sequence[bool]) -> list[Heads]:
        """Heads of each view's words. Raises SynparseError if the predictions are of other sentences."""
        return align(self.name, self.sentences, views, wanted, thing="sentence with heads")


@dataclass(frozen=True, slots=True)
class ParsedHeads:
    """Heads that a parser gives to all sentences, when it is first asked."""

    name: str
    parse: Callable[[Sequence[Sentence]], Iterable[tuple[Sequence[str], Sequence[int]]]]
    seed: int | None = None
    model: str = ""
    learned_from: str = ""
    decoded: str = ""
    given: list[GivenHeads] = field(default_factory=list, repr=False)

    def heads(self, views: Sequence[HeadView], wanted: Sequence[bool]) -> list[Heads]:
        """Heads of each view's words."""
        if not self.given:
            parsed = enumerate(self.parse([view.sentence for view in views]), 1)
            self.given.extend(GivenHeads(self.name, i, tuple(words), tuple(heads)) for i, (words, heads) in parsed)
        return align(self.name, self.given, views, wanted, thing="sentence with heads")


class Parser(Protocol):
    """What a parser must have to be scored; ``output`` says which of its two methods it answers."""

    @property
    def name(self) -> str: ...

    @property
    def output(self) -> str:
        """``trees`` or ``heads``."""

    def parse(self, sentences: Iterable[Any], /) -> Iterable[Tree]:
        """One tree a sentence, in order."""

    def parse_heads(self, sentences: Iterable[Any], /) -> Iterable[tuple[Sequence[str], Sequence[int]]]:
        """The words and heads of each sentence, in order."""


def parsed_by(
    parser: Parser, *, name: str | None = None, model: str = "", learned_from: str = "", decoded: str = ""
) -> ParsedTrees | ParsedHeads:
    """A parser as a system, under its own name if no other is given."""
    named = name or parser.name
    if parser.output == "heads":
        return ParsedHeads(named, parser.parse_heads, model=model, learned_from=learned_from, decoded=decoded)
    return ParsedTrees(named, parser.parse, model=model, learned_from=learned_from, decoded=decoded)
