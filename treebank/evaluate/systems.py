"""Systems that can be scored: baselines, files of trees or heads, and parsers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, Protocol

from treebank.base.arguments import nearest, split_name
from treebank.base.errors import SynparseError, TreebankError, UnknownNameError
from treebank.core.baselines import BASELINES, HEAD_BASELINES, SEEDED
from treebank.core.sentence import Location, Sentence, Treebank
from treebank.core.tree import Tree
from treebank.evaluate.align import Bracketing
from treebank.io.predictions import (
    PredictedHeads,
    PredictedTree,
    gives_heads,
    read_prediction_heads,
    read_prediction_trees,
)

DRAWS = (1, 2, 3, 4, 5)  # seeds of the draws that accompany the expectation of a random baseline

Predict = Callable[[Sequence[Sentence]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class SystemInfo:
    """Name and origin of a system.

    ``seed`` is the seed of a random baseline that was drawn once. ``model`` is the folder of a trained model.
    ``learned_from`` names the trees that it was trained on, such as ``gold trees: wsj-train``. ``decoded`` says how its
    trees were read, ``model:onlstm|checkpoint:3f2a91c0|…``. All are empty if they do not apply.
    """

    name: str
    seed: int | None = None
    model: str = ""
    learned_from: str = ""
    decoded: str = ""
    empty: int = 0


@dataclass(frozen=True, slots=True)
class System:
    """A source of trees or heads for gold sentences.

    ``predict`` returns one ``PredictedTree`` or ``PredictedHeads`` per sentence, or for a file one per sentence of the
    file. It is None for a baseline, whose name says how structures follow from the number of words. A random baseline
    without a seed is scored by its exact expectation, next to one draw for each seed in ``draws``. ``predict_text``
    parses the running text of each sentence instead of its words. ``characters`` asks for scores over characters.
    """

    info: SystemInfo
    kind: Literal["trees", "heads"]
    predict: Predict | None = None
    draws: Sequence[int] = ()
    predict_text: Predict | None = None
    characters: bool = False
    is_file: bool = False

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def is_parser(self) -> bool:
        """Whether the system is neither a baseline nor a file."""
        return self.predict is not None and not self.is_file

    @property
    def is_exact(self) -> bool:
        """Whether the exact expectation is scored."""
        return self.predict is None and self.name in SEEDED and self.info.seed is None


def baseline(name: str, seed: int | None = None) -> System:
    """The baseline with this name. ``seed`` draws a random one once instead of computing its expectation.

    Raises UnknownNameError, with the nearest name, if the name is unknown.
    """
    if name in HEAD_BASELINES:
        return System(SystemInfo(name), "heads")
    if name not in BASELINES:
        raise UnknownNameError(f"no baseline {name!r}; {nearest(name, [*BASELINES, *HEAD_BASELINES])}")
    random = name in SEEDED
    return System(SystemInfo(name, seed if random else None), "trees", draws=DRAWS if random and seed is None else ())


def baseline_draw(name: str, seed: int | None) -> Callable[[Tree], Bracketing]:
    """A function that returns the brackets of a baseline for one gold tree after the other of a treebank."""
    build, chance = BASELINES[name], Random(1 if seed is None else seed)
    return lambda tree: Bracketing(len(tree), build(tree, chance))


def file_system(path: str, encoding: str = "") -> System:
    """Predictions in a file or folder: heads or trees, depending on the suffix. ``path`` can be ``NAME=PATH``.

    Files that are not UTF-8 are read in ``encoding``.

    Raises TreebankError with file and line if they cannot be read.
    """
    name, path = split_name(path)
    kind: Literal["trees", "heads"] = "heads" if gives_heads(path) else "trees"
    read = read_prediction_heads if kind == "heads" else read_prediction_trees
    try:
        predictions = list[Any](read(path))
    except TreebankError:
        if not encoding:
            raise
        predictions = list(read(path, encoding=encoding))
    empty = sum(each.is_empty for each in predictions) if kind == "trees" else 0
    return System(SystemInfo(name or path, empty=empty), kind, lambda sentences: predictions, is_file=True)


def given_trees(name: str, trees: Iterable[Any]) -> System:
    """Trees from a program as a system: one `Tree`, nltk tree or string in brackets per gold sentence.

    Raises SynparseError with the number of a tree that cannot be read.
    """
    predictions = [PredictedTree(name, number, None, tree) for number, tree in enumerate(map(_tree, trees), start=1)]
    return System(SystemInfo(name), "trees", lambda sentences: predictions, is_file=True)


def given_gold(trees: Iterable[Any]) -> Treebank:
    """Trees from a program as a gold treebank. Raises SynparseError for a value that is not a list of trees."""
    if not isinstance(trees, Iterable):
        raise SynparseError(f"gold is not a path, the name of a treebank or a list of trees: {trees!r}")
    sentences = []
    for number, tree in enumerate(map(_tree, trees), start=1):
        sentences.append(Sentence((), location=Location("gold", number)).with_tree(tree))
    return Treebank("gold", sentences)


def _tree(value: Any) -> Tree:
    """The tree of a sentence, or of any value that `Tree.of` accepts."""
    if isinstance(value, Sentence) and value.tree is not None:
        return value.tree
    try:
        return Tree.of(value)
    except (TypeError, ValueError) as error:
        raise SynparseError(f"not a tree: {error}") from None


class Parser(Protocol):
    """The methods that a parser needs to be scored. ``output`` names the one that it implements."""

    @property
    def name(self) -> str: ...

    @property
    def output(self) -> str:
        """``trees`` or ``heads``."""

    def parse(self, sentences: Iterable[Any], /) -> Iterable[Tree]:
        """One tree per sentence, in order."""

    def parse_heads(self, sentences: Iterable[Any], /) -> Iterable[tuple[Sequence[str], Sequence[int]]]:
        """The words and heads of each sentence, in order."""


def parser_system(parser: Parser, info: SystemInfo | None = None) -> System:
    """A parser as a system, by default under its own name."""
    info = info or SystemInfo(parser.name)
    if parser.output == "heads":
        return System(info, "heads", head_predictions(info.name, parser.parse_heads))
    return System(info, "trees", tree_predictions(info.name, parser.parse))


def tree_predictions(name: str, parse: Callable[[Sequence[Sentence]], Iterable[Tree]]) -> Predict:
    """``parse`` as the ``predict`` of a system. Error messages number the sentences."""
    return lambda sentences: [PredictedTree(name, i, "", tree) for i, tree in enumerate(parse(sentences), 1)]


def head_predictions(
    name: str, parse: Callable[[Sequence[Sentence]], Iterable[tuple[Sequence[str], Sequence[int]]]]
) -> Predict:
    """``parse`` as the ``predict`` of a system. Error messages number the sentences."""
    return lambda sentences: [
        PredictedHeads(name, i, tuple(words), tuple(heads)) for i, (words, heads) in enumerate(parse(sentences), 1)
    ]
