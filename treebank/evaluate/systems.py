"""Systems that can be scored: baselines, files of trees or heads, and parsers.

Parsers that do not see the word boundaries of a treebank are scored over characters. Each gold word becomes its
characters, and each word of several characters a bracket over them. The leaves of predicted trees, characters or the
words of a segmenter, are treated alike. Then trees are scored as usual. In addition, words are scored on their own: a
gold word is predicted if a leaf begins and ends where the word does. (Zhang et al. 2013 score joint segmentation and
parsing in this way.)
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, compress, pairwise
from random import Random
from typing import Any, Literal, Protocol

from treebank.base.arguments import nearest, split_name
from treebank.base.errors import SynparseError, TreebankError, UnknownNameError
from treebank.core.baselines import BASELINES, HEAD_BASELINES, SEEDED
from treebank.core.sentence import Location, Sentence, Surface, Treebank, short_sentences
from treebank.core.tree import Span, Tree
from treebank.core.word_check import align, mismatch, plain
from treebank.evaluate.align import Bracketing, by_sentence, check_has_trees, readings
from treebank.io.predictions import (
    PredictedHeads,
    PredictedTree,
    gives_heads,
    read_prediction_heads,
    read_prediction_trees,
)
from treebank.tokenize.segmenters import is_unspaced

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

    @property
    def source(self) -> str:
        """The folder of a model, else the name."""
        return self.model or self.name


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


def expand_files(patterns: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Names and paths of the files that match each pattern, or of the pattern if it is a path, by the pattern's name.

    The files of ``NAME=PATTERN`` are called NAME and the last part of their path. Raises SynparseError if none matches.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for pattern in dict.fromkeys(patterns):
        name, path = split_name(pattern)
        files = [(name or path, path)]
        if glob.has_magic(path) and not os.path.lexists(path):
            paths = sorted(glob.glob(path))
            files = [(f"{name} {os.path.basename(file)}" if name else file, file) for file in paths]
            if not files:
                raise SynparseError(f"{pattern}: no file matches this pattern")
        groups.setdefault(name or path, []).extend(files)
    return groups


def file_system(path: str, encoding: str = "", name: str = "") -> System:
    """Predictions in a file or folder, by default called like it: heads or trees, depending on the suffix.

    Files that are not UTF-8 are read in ``encoding``. Raises TreebankError with file and line if they cannot be read.
    """
    try:
        kind, predictions = _read(path)
    except TreebankError:
        if not encoding:
            raise
        kind, predictions = _read(path, encoding)
    empty = sum(each.is_empty for each in predictions) if kind == "trees" else 0
    return System(SystemInfo(name or path, empty=empty), kind, lambda sentences: predictions, is_file=True)


def _read(path: str, encoding: str = "") -> tuple[Literal["trees", "heads"], list[Any]]:
    """The kind of the predictions in a file or folder, and the predictions."""
    if gives_heads(path, encoding):
        return "heads", read_prediction_heads(path, encoding=encoding)
    return "trees", list(read_prediction_trees(path, encoding=encoding))


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


WORD = "word"  # the label of a bracket over the characters of a word
NOTE = "over characters"


@dataclass(frozen=True, slots=True)
class WordScore:
    """Agreement of the words of a system with those of gold, over all sentences together.

    ``matched``, ``predicted`` and ``gold`` count words. ``bracketed`` counts the gold words of several characters that
    are a bracket or a leaf of the tree, out of ``multi_character``.
    """

    info: SystemInfo
    matched: int
    predicted: int
    gold: int
    bracketed: int
    multi_character: int

    @property
    def precision(self) -> float:
        return 100 * self.matched / max(1, self.predicted)

    @property
    def recall(self) -> float:
        return 100 * self.matched / max(1, self.gold)

    @property
    def value(self) -> float:
        """F1 of words in percent."""
        return 200 * self.matched / max(1, self.predicted + self.gold)

    @property
    def in_brackets(self) -> float:
        """Percentage of the words of several characters that are a bracket or a leaf."""
        return 100 * self.bracketed / max(1, self.multi_character)

    def to_json(self) -> dict[str, Any]:
        """The entry under ``words`` in the output of ``synparse eval --format json``."""
        name, model = self.info.name, self.info.model
        scores = {"value": self.value, "precision": self.precision, "recall": self.recall}
        entry = {"system": name, "metric": "word F1", **scores, "in_brackets": self.in_brackets}
        return entry | ({"model": model} if model else {})


def over_characters(tree: Tree) -> Tree:
    """``tree`` with the characters of its words as leaves, and a bracket for each word of several characters."""
    words = plain(tree.words)
    ends = list(accumulate(map(len, words), initial=0))
    spans = [(ends[start], ends[end]) for start, end in tree.spans]
    in_words = [((ends[i], ends[i + 1]), WORD) for i, word in enumerate(words) if len(word) > 1]
    tags = chain.from_iterable([tag] * len(word) for word, tag in zip(words, tree.tags, strict=True))
    brackets = [*zip(spans, tree.labels, strict=True), *in_words]  # a word comes after its phrases
    return Tree.from_brackets(chain.from_iterable(words), tags, brackets)


def running_text(words: Sequence[str]) -> Surface:
    """``words`` as text, with spaces between them except next to a character of a script without spaces."""
    text, spans = "", []
    for word in words:
        if text and not (is_unspaced(text[-1]) or is_unspaced(word[0])):
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
    return Surface(text, tuple(spans))


def character_treebank(gold: Treebank) -> Treebank:
    """All sentences over their characters. The note of the treebank says so in every signature.

    Raises SynparseError if a sentence has no tree.
    """
    check_has_trees(gold)
    trees = [sentence.tree.without_traces() for sentence in gold.sentences if sentence.tree is not None]
    pairs = zip(gold.sentences, trees, strict=True)
    sentences = [sentence.with_tree(over_characters(tree)) for sentence, tree in pairs]
    return replace(gold, sentences=sentences, note=", ".join(filter(None, [gold.note, NOTE])))


def character_systems(
    systems: Sequence[System], gold: Treebank, *, max_length: int | None = None
) -> tuple[list[System], list[WordScore]]:
    """The systems with trees over characters, and the word scores of all systems except baselines.

    Both are for the sentences of at most ``max_length`` words. Raises SynparseError if the trees do not fit them.
    """
    included = short_sentences(gold, max_length)
    scored = replace(gold, sentences=list(compress(gold.sentences, included)))
    texts = [replace(sentence, surface=running_text(plain(sentence.words))) for sentence in scored.sentences]
    converted, scores = [], []
    for system in systems:
        if system.predict is not None:
            predicted = (system.predict_text or system.predict)(texts)
            by_index = by_sentence(
                *(system.name, predicted, gold, included, "tree"),
                lambda i, tree: _fitting_tree(tree, gold.sentences[i]),
            )
            trees = [_fitting_tree(by_index[i], gold.sentences[i]) for i in compress(range(len(gold)), included)]
            scores.append(word_score(system.info, trees, scored))
            predictions = [PredictedTree(system.name, i, "", over_characters(tree)) for i, tree in enumerate(trees, 1)]
            system = System(system.info, "trees", lambda sentences, predictions=predictions: predictions)  # type: ignore[misc]
        converted.append(system)
    return converted, scores


def _fitting_tree(predicted: PredictedTree, sentence: Sentence) -> Tree:
    """The reading of a prediction whose leaves spell the sentence. Raises SynparseError if neither reading does."""
    if predicted.spans is not None:
        return predicted.over(sentence.words)
    characters = "".join(plain(sentence.words))
    if predicted.is_empty:  # no brackets, and no words are divided
        return Tree((characters,), ("W",), (), ())
    trees = [tree.without_traces() for tree in readings(predicted)]
    spellings = ["".join(plain(tree.words)) for tree in trees]
    for tree, spelling in zip(trees, spellings, strict=True):
        if align(characters, [[True] * len(characters)], spelling) is not None:
            return tree
    location = f"{predicted.path}:{predicted.line}"
    raise SynparseError(
        mismatch(spellings, [characters], location=location, gold_location=str(sentence.location), unit="character")
    )


def word_score(info: SystemInfo, trees: Sequence[Tree], gold: Treebank) -> WordScore:
    """The score of the words that are leaves of ``trees``, one tree per gold sentence."""
    matched = predicted = words = bracketed = multi_character = 0
    for tree, sentence in zip(trees, gold.sentences, strict=True):
        leaves, reference = _spans(tree.words), _spans(sentence.words)
        units = {*leaves, *over_characters(tree).spans}
        long = [(start, end) for start, end in reference if end - start > 1]
        matched += len(leaves & reference)
        predicted += len(leaves)
        words += len(reference)
        bracketed += sum(span in units for span in long)
        multi_character += len(long)
    return WordScore(info, matched, predicted, words, bracketed, multi_character)


def _spans(words: Sequence[str]) -> set[Span]:
    """Start and end of each word, in characters."""
    ends = list(accumulate(map(len, plain(words)), initial=0))
    return set(pairwise(ends))
