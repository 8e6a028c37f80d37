"""Structures that models predict and decoders read, such as distances, heads and span scores.

A structure belongs to a batch of sentences, without boundary tokens. ``lengths`` (B,) are the numbers of words; all
entries after them are padding. ``rows`` splits a structure into one row per sentence, the input of a decoder.
``to_json`` and ``from_json`` convert a row to and from its value under the key ``name`` in the lines that
`synparse extract` writes and `synparse decode` reads. A new type needs a class here and a decoder that reads it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from induce.sharpness_measures import Span, distance_sharpness, head_sharpness, margins, span_sharpness
from treebank.base.errors import SynparseError
from treebank.core.sentence import ROOT

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


class Structure:
    """Base class of all structures."""

    name: ClassVar[str]  # the key of a row in JSON lines
    probabilities: bool = False  # whether the numbers are probabilities
    rows_are: ClassVar[str]  # a row in words, for error messages
    entries: ClassVar[str]  # name of the entries, one for each word, in the plural

    def rows(self) -> list[Any]:
        """Rows for a decoder, one for each sentence, on the CPU."""
        raise TypeError(f"{type(self).__name__} does not say what its rows are")

    @classmethod
    def trivial(cls, length: int) -> Any:
        """Row of a sentence that is too short for the model, from which every decoder makes the only possible tree."""
        raise TypeError(f"{cls.__name__} has no row for {length} words")

    @classmethod
    def to_json(cls, row: Any) -> Any:
        """``row`` in plain lists and numbers."""
        return row.tolist() if hasattr(row, "tolist") else row

    @classmethod
    def from_json(cls, value: Any) -> Any:
        """Convert the value written by ``to_json`` to a row. Raises ValueError if the value has another form."""
        return value

    @classmethod
    def words_of(cls, row: Any) -> int:
        """Number of words in the sentence of ``row``."""
        return len(row)

    @classmethod
    def sharpness(cls, row: Any) -> dict[str, float]:
        """Measures of how clearly ``row`` (three or more words) prefers one tree, by name, or an empty dictionary."""
        return {}

    #: parts of an analysis for which ``support`` is defined: ``trees`` (phrases), ``heads`` (arcs), or empty
    supports: ClassVar[str] = ""

    @classmethod
    def support(cls, row: Any, parts: Sequence[Span]) -> list[float]:
        """Confidence in each of ``parts``, which are phrases (start, end) or arcs (word, head), NaN if not defined.

        It is the margin of distances, in the model's unit, or the probability or share of votes of a phrase or an arc.
        """
        return []

    @classmethod
    def drawn_numbers(cls, row: Any) -> dict[str, Any]:
        """Numbers to draw next to the tree: ``distances`` (N,), ``probabilities`` (N, N) of heads, or nothing."""
        return {}

    #: target of the votes of a row in an ensemble that sums probabilities: ``trees``, ``heads``, or empty
    votes_for: ClassVar[str] = ""

    @classmethod
    def votes(cls, row: Any) -> np.ndarray:
        """Votes for spans (N, N + 1), or for heads (N, N) with the root on the diagonal, according to ``votes_for``."""
        import numpy as np

        return np.asarray(row, dtype=float)


def _cut_tables(values: Tensor | np.ndarray, lengths: Tensor | np.ndarray, more: int = 0) -> list[np.ndarray]:
    """The first n rows and n + ``more`` columns of each table, as arrays, for each n in ``lengths``."""
    tables = values.cpu().numpy() if hasattr(values, "cpu") else values
    return [table[:n, : n + more].copy() for table, n in zip(tables, lengths.tolist(), strict=True)]


def _cut(values: Tensor, lengths: Tensor, *size: int) -> list[Any]:
    """The first ``lengths`` values of each row, as lists. Raises SynparseError for another shape.

    A value is a number, or has the shape ``size``.
    """
    shape, needed = tuple(values.shape), (len(lengths), int(lengths.max()) if len(lengths) else 0, *size)
    if shape[:1] + shape[2:] != needed[:1] + needed[2:] or shape[1] < needed[1]:
        raise SynparseError(f"a model has returned numbers of the shape {shape}, not {needed}, a value for each word")
    return [row[:length] for row, length in zip(values.tolist(), lengths.tolist(), strict=True)]


class _WithDistances(Structure):
    """Base class of structures whose rows hold the distance of the gap before each word."""

    supports = "trees"
    values: Tensor
    lengths: Tensor
    value_size: ClassVar[tuple[int, ...]] = ()  # shape of the value of a word

    def rows(self) -> list[Any]:
        """The values of each word, one list per sentence."""
        return _cut(self.values, self.lengths, *self.value_size)

    @classmethod
    def gaps(cls, row: Any) -> Sequence[float]:
        """The distances in ``row``."""
        return row

    @classmethod
    def sharpness(cls, row: Any) -> dict[str, float]:
        """Margin and entropy of the splits."""
        return distance_sharpness(cls.gaps(row))

    @classmethod
    def support(cls, row: Any, parts: Sequence[Span]) -> list[float]:
        """Margins of the phrases."""
        return margins(cls.gaps(row), parts)

    @classmethod
    def drawn_numbers(cls, row: Any) -> dict[str, Any]:
        """The distances."""
        return {"distances": cls.gaps(row)}


@dataclass(frozen=True)
class Distances(_WithDistances):
    """Syntactic distances.

    ``values`` (B, N): entry i is the distance of the gap *before* word i; gaps with larger distances are split first.
    Entry 0 is before the sentence: the decoder `unbiased` ignores it, and `biased` reads it.
    """

    name = "distances"
    rows_are = "a list of numbers"
    entries = "distances"
    values: Tensor
    lengths: Tensor

    @classmethod
    def trivial(cls, length: int) -> list[float]:
        """Equal distances for all gaps."""
        return [0.0] * length

    @classmethod
    def from_json(cls, value: Any) -> list[float]:
        """Convert a list of numbers, which may include infinities. Raises ValueError for another value."""
        return checked_floats(value, cls)


@dataclass(frozen=True)
class Heights(_WithDistances):
    """Distances and heights.

    ``values`` (B, N, 2): for word i, the distance of the gap before it, as in `Distances`, and its height. The word
    with the greater height is the more probable head.
    """

    name = "heights"
    value_size = (2,)
    rows_are = "a list of pairs of numbers: gap before the word, height"
    entries = "heights"
    values: Tensor
    lengths: Tensor

    @classmethod
    def trivial(cls, length: int) -> list[list[float]]:
        """Equal distances and equal heights for all words."""
        return [[0.0, 0.0]] * length

    @classmethod
    def gaps(cls, row: Sequence[Sequence[float]]) -> list[float]:
        """The distances, without the heights."""
        return [gap for gap, _ in row]

    @classmethod
    def from_json(cls, value: Any) -> list[list[float]]:
        """Pairs of numbers."""
        return [checked_floats(pair, cls, length=2) for pair in checked_list(value, cls)]


@dataclass(frozen=True)
class HeadDistribution(Structure):
    """Distributions over the head of each word.

    ``probability`` (B, N, N): entry (i, j) is P(word j heads word i); the diagonal is P(word i is the root), or 0 if a
    model does not estimate it. If ``probabilities`` is false, the entries are non-negative scores whose rows need not
    sum to 1.
    """

    name = "heads"
    rows_are = "a list of lists of numbers"
    entries = "rows of heads"
    probability: Tensor | np.ndarray
    lengths: Tensor | np.ndarray
    probabilities: bool = True

    def rows(self) -> list[np.ndarray]:
        """Square matrices (N, N), one per sentence."""
        return _cut_tables(self.probability, self.lengths)

    @classmethod
    def trivial(cls, length: int) -> list[list[float]]:
        """Equal probabilities for all heads."""
        return [[1.0] * length] * length

    @classmethod
    def sharpness(cls, row: Any) -> dict[str, float]:
        """Entropy and largest probability of the heads."""
        return head_sharpness(row)

    votes_for = supports = "heads"

    @classmethod
    def support(cls, row: Any, parts: Sequence[Span]) -> list[float]:
        """Probabilities of the arcs, NaN for a root with probability 0, because models without roots write 0."""
        arcs = [(row[word][word] or math.nan) if head == ROOT else row[word][head] for word, head in parts]
        return list(map(float, arcs))

    @classmethod
    def drawn_numbers(cls, row: Any) -> dict[str, Any]:
        """The probabilities."""
        return {"probabilities": row}

    @classmethod
    def from_json(cls, value: Any) -> list[list[float]]:
        """Rows of head probabilities, from a list of lists of numbers."""
        return [checked_floats(row, cls) for row in checked_list(value, cls)]


@dataclass(frozen=True)
class StackDecisions(Structure):
    """Position of the top of a stack after the reductions before each word.

    ``slots`` (B, N): the index of a slot of the stack, 0 for the newest. If a word selects a slot above the slot of the
    previous word, the slots between them are joined.
    """

    name = "stack"
    rows_are = "a list of whole numbers"
    entries = "slots"
    slots: Tensor
    lengths: Tensor

    def rows(self) -> list[list[int]]:
        """The slot of each word."""
        return _cut(self.slots, self.lengths)

    @classmethod
    def trivial(cls, length: int) -> list[int]:
        """Slot 0 for every word."""
        return [0] * length

    @classmethod
    def from_json(cls, value: Any) -> list[int]:
        """Whole numbers."""
        if not isinstance(value, list) or any(type(slot) is not int for slot in value):
            raise ValueError(expected_form(cls))
        return value


@dataclass(frozen=True)
class SpanScores(Structure):
    """Probability that each span of words is a constituent, or another score of the span.

    ``score`` (B, N, N + 1): entry (i, j) is the score of the words i to j - 1; entries with j <= i have no meaning. The
    marginals of a grammar are ``probabilities``; scores of other models can be any finite numbers. ``symbols``
    (B, N, N + 1, S), if the query asked for them: the probability of each nonterminal over each span.
    """

    name = "span_scores"
    rows_are = "a row for each word i, with the score of the span from i up to each j = 0 … N"
    entries = "rows of scores"
    score: Tensor | np.ndarray
    lengths: Tensor | np.ndarray
    probabilities: bool = True
    symbols: Tensor | None = None

    def rows(self) -> list[np.ndarray]:
        """Scores (N, N + 1) of each sentence."""
        return _cut_tables(self.score, self.lengths, 1)

    def symbol_rows(self) -> list[np.ndarray] | None:
        """Probabilities (N, N + 1, S) of each sentence, or None."""
        return None if self.symbols is None else _cut_tables(self.symbols, self.lengths, 1)

    @classmethod
    def trivial(cls, length: int) -> list[list[float]]:
        """Equal scores for all spans."""
        return [[0.0] * (length + 1)] * length

    @classmethod
    def sharpness(cls, row: Any) -> dict[str, float]:
        """Entropy and largest probabilities of the spans, or an empty dictionary if they are not probabilities."""
        return span_sharpness(row)

    votes_for = supports = "trees"

    @classmethod
    def support(cls, row: Any, parts: Sequence[Span]) -> list[float]:
        """Scores of the phrases."""
        return [float(row[start][end]) for start, end in parts]

    @classmethod
    def from_json(cls, value: Any) -> list[list[float]]:
        """Convert N lists of N + 1 numbers. Raises ValueError for another value."""
        rows = checked_list(value, cls)
        return [checked_floats(row, cls, length=len(rows) + 1) for row in rows]


@dataclass(frozen=True)
class Brackets(Structure):
    """Trees that the model itself decoded.

    ``spans``: the spans ``(start, end)`` of each sentence, or ``(start, end, label)`` if the model labels them.
    """

    name = "brackets"
    rows_are = "a list of [start, end] or [start, end, label]; give the words, too"
    entries = "words"
    spans: Sequence[Sequence[tuple[Any, ...]]]
    lengths: Tensor

    def rows(self) -> list[list[tuple[Any, ...]]]:
        """The spans of each sentence."""
        return [list(spans) for spans in self.spans]

    @classmethod
    def trivial(cls, length: int) -> list[tuple[Any, ...]]:
        """The full-sentence span alone."""
        return [(0, length)] if length > 1 else []

    @classmethod
    def from_json(cls, value: Any) -> list[tuple[Any, ...]]:
        """Pairs of whole numbers, with a label or without."""
        for span in (spans := checked_list(value, cls)):
            kinds = [type(part) for part in span] if isinstance(span, list) else []
            if kinds not in ([int, int], [int, int, str]) or not 0 <= span[0] < span[1]:
                raise ValueError(expected_form(cls))
        return [tuple(span) for span in spans]

    @classmethod
    def words_of(cls, row: Sequence[tuple[Any, ...]]) -> int:
        """Number of words of a sentence, taken from the largest end of its spans."""
        return max((span[1] for span in row), default=0)


@dataclass(frozen=True)
class Heads(Structure):
    """Heads that the model itself decoded: the heads of the words of each sentence, ``ROOT = -1`` for the root."""

    name = "arcs"
    rows_are = f"a list of whole numbers, the head of each word, {ROOT} for the root"
    entries = "arcs"
    heads: Sequence[Sequence[int]]
    lengths: Tensor

    def rows(self) -> list[list[int]]:
        """The head of each word."""
        return [list(heads) for heads in self.heads]

    @classmethod
    def trivial(cls, length: int) -> list[int]:
        """A chain in which each word is the head of the next word."""
        return list(range(-1, length - 1))

    @classmethod
    def from_json(cls, value: Any) -> list[int]:
        """Indices of words, or -1."""
        heads = checked_list(value, cls)
        if any(type(head) is not int or not ROOT <= head < len(heads) or head == i for i, head in enumerate(heads)):
            raise ValueError(expected_form(cls))
        return heads


def expected_form(kind: type[Structure]) -> str:
    return f'expected an object with "{kind.name}", {kind.rows_are}'


def checked_list(value: Any, kind: type[Structure]) -> list[Any]:
    """The list ``value``. Raises ValueError, naming what ``kind`` expects, for another value."""
    if not isinstance(value, list):
        raise ValueError(expected_form(kind))
    return value


def checked_floats(value: Any, kind: type[Structure], *, length: int | None = None) -> list[float]:
    """Convert a list of numbers (``length`` of them, if given) to floats. Raises ValueError for another value."""
    if not isinstance(value, list) or any(type(number) not in (int, float) for number in value):
        raise ValueError(expected_form(kind))
    if length is not None and len(value) != length:
        raise ValueError(expected_form(kind))
    try:
        return list(map(float, value))
    except OverflowError:
        raise ValueError(f'"{kind.name}" holds a whole number that is too large') from None


@dataclass(frozen=True)
class Impact(Structure):
    """Impact of masking words on other words.

    ``values`` (B, N, N): entry (i, j) is the distance between the states of word i if only word i is masked, and if the
    words i and j are masked. The diagonal is 0.
    """

    name = "impact"
    rows_are = "a list of lists of numbers"
    entries = "rows of impacts"
    values: Tensor
    lengths: Tensor

    def rows(self) -> list[np.ndarray]:
        """Square matrices (N, N), one per sentence."""
        return _cut_tables(self.values, self.lengths)

    @classmethod
    def trivial(cls, length: int) -> list[list[float]]:
        """Equal impacts of all words."""
        return [[0.0] * length] * length

    @classmethod
    def from_json(cls, value: Any) -> list[list[float]]:
        """Convert N lists of N numbers. Raises ValueError for another value."""
        rows = checked_list(value, cls)
        return [checked_floats(row, cls, length=len(rows)) for row in rows]


@dataclass(frozen=True)
class Ranked(Structure):
    """The most probable trees that the model itself decoded, best first.

    ``trees``: for each sentence, pairs of a score, such as the log probability in nats, and a row of ``tree``, the
    structure of one tree. ``Query.trees`` is the number of trees.
    """

    tree: ClassVar[type[Brackets | Heads]]
    trees: Sequence[Sequence[tuple[float, Sequence[Any]]]]
    lengths: Tensor

    def rows(self) -> list[list[tuple[float, list[Any]]]]:
        """The trees of each sentence."""
        return [[(score, list(row)) for score, row in trees] for trees in self.trees]

    @classmethod
    def trivial(cls, length: int) -> list[tuple[float, list[Any]]]:
        """The trivial tree alone, with a score of 0."""
        return [(0.0, cls.tree.trivial(length))]

    @classmethod
    def from_json(cls, value: Any) -> list[tuple[float, list[Any]]]:
        """Pairs of a number and a row. Raises ValueError, with the expected form, for another value."""
        for pair in (pairs := checked_list(value, cls)):
            if not isinstance(pair, list) or [type(part) for part in pair] not in ([float, list], [int, list]):
                raise ValueError(expected_form(cls))
        return [(float(score), cls.tree.from_json(row)) for score, row in pairs]

    @classmethod
    def words_of(cls, row: Sequence[tuple[float, Sequence[Any]]]) -> int:
        """Number of words of a sentence."""
        return max((cls.tree.words_of(tree) for _, tree in row), default=0)


@dataclass(frozen=True)
class RankedTrees(Ranked):
    """The brackets of the most probable trees."""

    name = "ranked_trees"
    rows_are = "a list of [score, brackets]; give the words, too"
    entries = "words"
    tree = Brackets


@dataclass(frozen=True)
class RankedHeads(Ranked):
    """The heads of the most probable trees."""

    name = "ranked_heads"
    rows_are = "a list of [score, heads]"
    entries = "arcs"
    tree = Heads
