"""Voters: the members of an ensemble, which are models, files of trees or heads, and baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

import numpy as np

from induce.parsing.parser import Parser
from induce.storage.checkpoint import CheckpointError
from induce.storage.locate import PathType, locate
from induce.storage.model_spec import BASELINE, ModelSpec
from induce.structures import HeadDistribution, SpanScores
from treebank.base.errors import SynparseError
from treebank.core.baselines import find_baseline
from treebank.core.dependency import delete
from treebank.core.normalization import Recipe
from treebank.core.sentence import ROOT, Sentence
from treebank.core.tree import Tree
from treebank.evaluate.align import plain
from treebank.evaluate.systems import HEAD_BASELINES
from treebank.io.predictions import gives_heads, read_prediction_heads, read_prediction_trees

Votes = np.ndarray  # (N, N + 1) of spans, or (N, N) of heads: row word, column head, the diagonal for the root


class Voter(Protocol):
    """A member that is ready to vote."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str:
        """Its model, "baseline", or a file by itself: seeds of one kind agree more than kinds do."""

    @property
    def output(self) -> str:
        """``trees`` or ``heads``."""

    @property
    def learned_from(self) -> str: ...

    def vote(self, sentences: Sequence[Sentence], kept: Sequence[Sequence[int]], sums: bool) -> list[Votes | None]:
        """Its votes for spans (N, N + 1) or heads (N, N) over the ``kept`` words of each sentence; None: it has none.

        With ``sums`` a model that gives probabilities of spans or heads votes with these, and not with its tree.
        """
        ...


@dataclass(frozen=True)
class ParserVoter:
    """A run, or an ensemble."""

    name: str
    parser: Any  # a `StructureParser`

    @property
    def kind(self) -> str:
        return str(self.parser.name)

    @property
    def output(self) -> str:
        return str(self.parser.output)

    @property
    def learned_from(self) -> str:
        return str(self.parser.learned_from)

    def vote(self, sentences: Sequence[Sentence], kept: Sequence[Sequence[int]], sums: bool) -> list[Votes | None]:
        parser = self.parser
        structure = SpanScores if parser.output == "trees" else HeadDistribution
        if sums and parser.structure is structure:
            return [
                _moved(np.asarray(reading.scores, dtype=float), reading.kept, wanted, parser.output)
                for reading, wanted in zip(parser.read(sentences), kept, strict=True)
            ]
        if parser.output == "heads":
            return [
                head_votes(heads, wanted)
                for (_, heads), wanted in zip(parser.parse_heads(sentences), kept, strict=True)
            ]
        return [span_votes(tree, wanted) for tree, wanted in zip(parser.parse(sentences), kept, strict=True)]


@dataclass(frozen=True)
class BaselineVoter:
    """Trees or heads that follow from the number of words; random ones are drawn for each sentence by itself."""

    baseline: str
    kind: str = "baseline"
    learned_from: str = ""

    def __post_init__(self) -> None:
        """Raises SynparseError for a baseline that is not there, or that looks at gold trees."""
        if self.baseline not in HEAD_BASELINES:
            find_baseline(self.baseline)
        if self.baseline in ("oracle", "gold"):
            raise SynparseError(f"baseline {self.baseline!r} looks at gold trees, so it cannot vote")

    @property
    def name(self) -> str:
        return BASELINE + self.baseline

    @property
    def output(self) -> str:
        return "heads" if self.baseline in HEAD_BASELINES else "trees"

    def vote(self, sentences: Sequence[Sentence], kept: Sequence[Sequence[int]], sums: bool) -> list[Votes | None]:
        if self.output == "heads":
            return [head_votes(HEAD_BASELINES[self.baseline](len(words)), range(len(words))) for words in kept]
        build = find_baseline(self.baseline)
        votes: list[Votes | None] = []
        for sentence, wanted in zip(sentences, kept, strict=True):
            words = [sentence.words[index] for index in wanted]
            bare = Tree.from_spans(words, ())
            votes.append(span_votes(Tree.from_spans(words, build(bare, Random(" ".join(words)))), range(len(words))))
        return votes


class FileVoter:
    """Trees or heads in a file, found by the words that are left of them without punctuation."""

    learned_from = ""  # nobody knows

    def __init__(self, path: str, recipe: Recipe) -> None:
        """Reads the file. Of sentences with the same words the first tree counts."""
        self.name = self.kind = path
        self.recipe = recipe
        self.output = "heads" if gives_heads(path) else "trees"
        self.votes: dict[tuple[str, ...], Any] = {}
        for words, given in _heads_in(path) if self.output == "heads" else _trees_in(path):
            seen = recipe(plain(words))
            self.votes.setdefault(seen.forms, (given, seen.kept))

    def vote(self, sentences: Sequence[Sentence], kept: Sequence[Sequence[int]], sums: bool) -> list[Votes | None]:
        found: list[Votes | None] = []
        for sentence, wanted in zip(sentences, kept, strict=True):
            words = [sentence.words[index] for index in wanted]
            given = self.votes.get(self.recipe(plain(words)).forms)
            if given is None or len(given[1]) != len(wanted):
                found.append(None)
            else:
                found.append((head_votes if self.output == "heads" else span_votes)(*given))
        return found


def _trees_in(path: str) -> Iterator[tuple[Sequence[str], Tree]]:
    """Words and tree of each prediction; two of what can be read in two ways, of which only one fits any sentence.

    Raises SynparseError for spans without words.
    """
    for given in read_prediction_trees(path):
        if given.spans is not None:
            raise SynparseError(f"{given.path}:{given.line}: these spans have no words, so they fit any sentence")
        if given.labelled is not None:
            tree = given.labelled.without_traces()
            yield tree.words, tree
        with suppress(ValueError):
            yield given.bare.words, given.bare


def _heads_in(path: str) -> Iterator[tuple[Sequence[str], Sequence[int]]]:
    """Words and heads of each sentence."""
    for given in read_prediction_heads(path):
        yield given.words, given.heads


def span_votes(tree: Tree, kept: Sequence[int]) -> Votes:
    """1 for each span of ``tree`` over two or more of the ``kept`` words, counted among these; (N, N + 1)."""
    mask = np.zeros(len(tree) + 1, dtype=int)
    mask[[index + 1 for index in kept]] = 1
    before = mask.cumsum()
    votes = np.zeros((len(kept), len(kept) + 1))
    if tree.spans:
        spans = before[np.asarray(tree.spans)]
        spans = spans[spans[:, 1] - spans[:, 0] > 1]
        votes[spans[:, 0], spans[:, 1]] = 1.0
    return votes


def head_votes(heads: Sequence[int], kept: Sequence[int]) -> Votes:
    """1 for the head of each of the ``kept`` words, on the diagonal for a root; (N, N)."""
    mask = [False] * len(heads)
    for index in kept:
        mask[index] = True
    votes = np.zeros((len(kept), len(kept)))
    for word, head in enumerate(delete(heads, mask)):
        votes[word, word if head == ROOT else head] = 1.0
    return votes


def _moved(row: np.ndarray, own: Sequence[int], kept: Sequence[int], output: str) -> Votes:
    """Probabilities over a member's ``own`` words as votes over the ``kept`` ones; those of heads sum to 1 a word."""
    if output == "heads":
        return _moved_heads(row, own, kept)
    if list(own) == list(kept):
        return row.reshape(len(kept), len(kept) + 1)
    votes = np.zeros((len(kept), len(kept) + 1))
    if len(own):
        first = np.searchsorted(own, kept)  # of each word kept, how many of the member's own come before it
        last = np.searchsorted(own, kept, side="right")
        inside = last[None, :] > first[:, None]
        votes[:, 1:] = np.where(inside, row[np.minimum(first, len(own) - 1)][:, last], 0.0)
    return votes


def _moved_heads(row: np.ndarray, own: Sequence[int], kept: Sequence[int]) -> Votes:
    votes = np.zeros((len(kept), len(kept)))
    places = {index: place for place, index in enumerate(kept)}
    shared = [(place, places[index]) for place, index in enumerate(own) if index in places]
    if shared:
        from_, to = map(list, zip(*shared, strict=True))
        votes[np.ix_(to, to)] = row[np.ix_(from_, from_)]
    return votes / np.maximum(votes.sum(1, keepdims=True), 1e-12)


def make_voter(member: ModelSpec, path: str, recipe: Recipe, load: Callable[..., Parser]) -> Voter:
    """The voter for ``member``, whose model or file is at ``path``; ``load`` makes a parser of a model.

    Raises SynparseError if the path does not exist, and for options of a file or a baseline.
    """
    options = {name: value for name, value in member.options.items() if name != "weight"}
    located = locate(path)
    if options and (member.baseline or not located.is_model):
        raise SynparseError(f"{member.name}: only a model has {' or '.join(options)}")
    if member.baseline:
        return BaselineVoter(member.baseline)
    if located.type in (PathType.MISSING, PathType.TREEBANK):
        raise SynparseError(f"{path}: there is no such model or file")
    if located.type is PathType.FOLDER:
        raise CheckpointError(f"{path}: this folder holds no model")
    if not located.is_model:
        return FileVoter(path, recipe)
    parser = load(path, **options)
    if parser.token != "word":
        raise SynparseError(f"{path}: a model of {parser.token}s cannot vote with those of words")
    return ParserVoter(member.name, parser)
