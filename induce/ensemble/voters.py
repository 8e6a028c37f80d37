"""Voters: the members of an ensemble, which are models, files of trees or heads, and baselines."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import chain
from random import Random
from typing import Any

import numpy as np

from induce.data.vocabulary import Recipe
from induce.parsing.parser import Parser
from induce.registry import Output
from induce.storage.locate import BASELINE, ModelSpec, PathType, locate
from treebank.base.arguments import nearest
from treebank.base.errors import SynparseError, UnknownNameError
from treebank.base.metadata import MetadataError
from treebank.core.baselines import BASELINES, HEAD_BASELINES
from treebank.core.dependency import delete
from treebank.core.sentence import ROOT, Sentence
from treebank.core.tree import Span, Tree
from treebank.core.word_check import plain
from treebank.io.predictions import gives_heads, read_prediction_heads, read_prediction_trees

USES_GOLD = frozenset({"oracle", "gold"})  # baselines that cannot vote
Votes = np.ndarray  # (N, N + 1) of spans, or (N, N) of heads: row word, column head, the diagonal for the root


class Voter:
    """A member that is ready to vote.

    ``kind`` is its model, "baseline" or its file; members of one type agree more than others. ``tokenization`` is the
    rule that tokenizes text for the member, or None if it does not read text.
    """

    name: str
    kind: str
    output: Output
    learned_from: str = ""
    head_style: str = ""
    tokenization: str | None = None
    device: str = "cpu"
    repeated: int = 0  # sentences of a file that occur before with another analysis

    def vote(self, sentences: Sequence[Sentence], words: Sequence[Sequence[int]], sums: bool) -> list[Votes | None]:
        """Votes for spans (N, N + 1) or heads (N, N) over the given ``words`` of each sentence, or None.

        With ``sums``, a model that gives probabilities of spans or heads votes with them instead of its tree.
        """
        raise NotImplementedError


class ParserVoter(Voter):
    """A model or an ensemble."""

    def __init__(self, name: str, parser: Parser) -> None:
        self.name, self.parser, self.kind, self.device = name, parser, parser.name, parser.device
        self.learned_from, self.tokenization = parser.learned_from, parser.tokenization
        self.head_style = parser.head_style

    @property
    def output(self) -> Output:  # type: ignore[override]
        """The output of the decoder, which may change."""
        return self.parser.output

    def vote(self, sentences: Sequence[Sentence], words: Sequence[Sequence[int]], sums: bool) -> list[Votes | None]:
        parser = self.parser
        if sums and parser.structure.votes_for == parser.output:
            return [
                _votes_over(parser.structure.votes(reading.scores), reading.indices, indices, parser.output)
                for reading, indices in zip(parser.predict(sentences), words, strict=True)
            ]
        if parser.output == "heads":
            return [
                head_votes(heads, indices)
                for (_, heads), indices in zip(parser.parse_heads(sentences), words, strict=True)
            ]
        return [span_votes(tree, indices) for tree, indices in zip(parser.parse(sentences), words, strict=True)]


class BaselineVoter(Voter):
    """A baseline, whose trees or heads follow from the number of words, or from the words if they are random."""

    kind = "baseline"

    def __init__(self, baseline: str) -> None:
        """Raises SynparseError for an unknown baseline and for one that uses gold trees."""
        if baseline in USES_GOLD:
            raise SynparseError(f"baseline {baseline!r} uses gold trees, so it cannot vote")
        known = {*BASELINES, *HEAD_BASELINES} - USES_GOLD
        if baseline not in known:
            raise UnknownNameError(f"no baseline {baseline!r}; {nearest(baseline, known)}")
        self.baseline, self.name = baseline, BASELINE + baseline
        self.output = "heads" if baseline in HEAD_BASELINES else "trees"

    def vote(self, sentences: Sequence[Sentence], words: Sequence[Sequence[int]], sums: bool) -> list[Votes | None]:
        if self.output == "heads":
            return [head_votes(HEAD_BASELINES[self.baseline](len(read)), range(len(read))) for read in words]
        build = BASELINES[self.baseline]
        votes: list[Votes | None] = []
        for sentence, indices in zip(sentences, words, strict=True):
            forms = [sentence.words[index] for index in indices]
            spans = build(Tree.from_spans(forms, ()), Random(" ".join(forms)))
            votes.append(span_votes(Tree.from_spans(forms, spans), range(len(forms))))
        return votes


class FileVoter(Voter):
    """Trees or heads in a file, looked up by the normalized words of a sentence."""

    def __init__(self, path: str, recipe: Recipe) -> None:
        """Reads the file. Of several sentences with the same words, the first votes."""
        self.name = self.kind = path
        self.recipe = recipe
        self.output = "heads" if gives_heads(path) else "trees"
        # digest of the words -> heads or spans, one number after the other, and the indices of the words; arrays,
        # because a file may have millions of words
        self._analyses: dict[bytes, tuple[array[int], array[int]]] = {}
        analyses: Iterable[tuple[Sequence[str], Sequence[Any]]] = _trees_in(path)
        if self.output == "heads":
            analyses = ((prediction.words, prediction.heads) for prediction in read_prediction_heads(path))
        for words, analysis in analyses:
            normalized = recipe(plain(words))
            numbers = analysis if self.output == "heads" else chain((len(words),), *analysis)
            stored = array("i", numbers), array("i", normalized.indices)
            self.repeated += self._analyses.setdefault(_digest(normalized.forms), stored) != stored

    def vote(self, sentences: Sequence[Sentence], words: Sequence[Sequence[int]], sums: bool) -> list[Votes | None]:
        votes: list[Votes | None] = []
        for sentence, indices in zip(sentences, words, strict=True):
            forms = self.recipe(plain([sentence.words[index] for index in indices])).forms
            numbers, kept_words = self._analyses.get(_digest(forms), (None, ()))
            if numbers is None or len(kept_words) != len(indices):
                votes.append(None)
            elif self.output == "heads":
                votes.append(head_votes(numbers, kept_words))
            else:
                spans = np.frombuffer(numbers, dtype=np.int32)[1:].reshape(-1, 2)
                votes.append(_span_votes(numbers[0], spans, kept_words))
        return votes


def _digest(words: Sequence[str]) -> bytes:
    """A digest of words that identifies them in less memory than the words themselves."""
    return blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _trees_in(path: str) -> Iterator[tuple[Sequence[str], Sequence[Span]]]:
    """Words and brackets of each prediction. A line that can be read in two ways gives both trees.

    Raises SynparseError for spans without words.
    """
    for prediction in read_prediction_trees(path):
        if prediction.spans is not None:
            problem = "these spans have no words, so they fit any sentence"
            raise SynparseError(f"{prediction.path}:{prediction.line}: {problem}")
        if prediction.labelled is not None:
            tree = prediction.labelled.without_traces()
            yield tree.words, tree.spans
        with suppress(ValueError):
            tree = prediction.bare
            yield tree.words, tree.spans


def span_votes(tree: Tree, indices: Sequence[int]) -> Votes:
    """Votes (N, N + 1): 1 for each span of ``tree`` over two or more of the ``indices`` words."""
    return _span_votes(len(tree), np.array(tree.spans, dtype=int).reshape(-1, 2), indices)


def _span_votes(length: int, spans: np.ndarray, indices: Sequence[int]) -> Votes:
    """Votes (N, N + 1) for ``spans`` (K, 2) in a sentence of ``length`` words, as in `span_votes`."""
    mask = np.zeros(length + 1, dtype=int)
    mask[[index + 1 for index in indices]] = 1
    before = mask.cumsum()
    votes = np.zeros((len(indices), len(indices) + 1))
    moved = before[spans]
    moved = moved[moved[:, 1] - moved[:, 0] > 1]
    votes[moved[:, 0], moved[:, 1]] = 1.0
    return votes


def head_votes(heads: Sequence[int], indices: Sequence[int]) -> Votes:
    """Votes (N, N): 1 for the head of each of the ``indices`` words, on the diagonal for a root."""
    mask = [False] * len(heads)
    for index in indices:
        mask[index] = True
    votes = np.zeros((len(indices), len(indices)))
    for word, head in enumerate(delete(heads, mask)):
        votes[word, word if head == ROOT else head] = 1.0
    return votes


def _votes_over(row: np.ndarray, read: Sequence[int], words: Sequence[int], output: str) -> Votes:
    """Probabilities over the words that a member ``read``, as votes over ``words``. Votes for heads sum to 1."""
    if output == "heads":
        votes = np.zeros((len(words), len(words)))
        positions = {index: position for position, index in enumerate(words)}
        shared = [(position, positions[index]) for position, index in enumerate(read) if index in positions]
        if shared:
            from_, to = map(list, zip(*shared, strict=True))
            votes[np.ix_(to, to)] = row[np.ix_(from_, from_)]
        return votes / np.maximum(votes.sum(1, keepdims=True), 1e-12)
    if list(read) == list(words):
        return row.reshape(len(words), len(words) + 1)
    votes = np.zeros((len(words), len(words) + 1))
    if len(read):
        first = np.searchsorted(read, words)  # number of words read before each word
        last = np.searchsorted(read, words, side="right")
        inside = last[None, :] > first[:, None]
        votes[:, 1:] = np.where(inside, row[np.minimum(first, len(read) - 1)][:, last], 0.0)
    return votes


def make_voter(member: ModelSpec, path: str, recipe: Recipe, load: Callable[..., Parser]) -> Voter:
    """The voter for ``member``, whose model or file is at ``path``.

    ``load`` makes a parser of a model. Raises SynparseError if the path does not exist, and for options of a file or a
    baseline.
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
        raise MetadataError(f"{path}: this folder holds no model")
    if not located.is_model:
        return FileVoter(path, recipe)
    parser: Parser = load(path, **options)
    if parser.token != "word":
        raise SynparseError(f"{path}: a model of {parser.token}s cannot vote with those of words")
    return ParserVoter(member.name, parser)
