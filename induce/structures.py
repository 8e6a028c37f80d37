"""What models say of sentences: the meeting point of models and decoders.

A structure is that of a batch of sentences, boundary marks already cut off; ``lengths`` (B,) counts the words of each
sentence, and entries from there on are padding. ``rows`` cuts it into what a decoder takes, one row a sentence, and
``to_json`` and ``from_json`` say how such a row stands in a line of `synparse extract` and `synparse decode`, under the
key ``name``. A new kind is a class here and a decoder that reads it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

from induce.decoding.confidence import Span, margins
from induce.decoding.sharpness import distance_sharpness, head_sharpness, span_sharpness
from treebank.core.sentence import ROOT

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


class Structure:
    """What every structure offers."""

    name: ClassVar[str]  # the key of a row in JSON lines
    probabilities: bool = False  # whether the numbers are probabilities
    rows_are: ClassVar[str]  # a row in words, for error messages
    entries: ClassVar[str]  # what there is one of for each word, in the plural

    def rows(self) -> list[Any]:
        """A row for each sentence, on the CPU, as a decoder takes it."""
        raise TypeError(f"{type(self).__name__} does not say what its rows are")

    @classmethod
    def trivial(cls, length: int) -> Any:
        """The row of a sentence that is too short for the model: every decoder finds the one tree that there is."""
        raise TypeError(f"{cls.__name__} has no row for {length} words")

    @classmethod
    def to_json(cls, row: Any) -> Any:
        """``row`` in plain lists and numbers."""
        return row

    @classmethod
    def from_json(cls, value: Any) -> Any:
        """The row that ``to_json`` wrote. Raises ValueError that says what was expected."""
        return value

    @classmethod
    def words_of(cls, row: Any) -> int:
        """How many words a row is of."""
        return len(row)

    @classmethod
    def sharpness(cls, row: Any) -> dict[str, float]:
        """Measures of how clearly ``row`` (three or more words) prefers one tree, by name; empty without any."""
        return {}

    @classmethod
    def support(cls, row: Any, phrases: Sequence[Span]) -> list[float]:
        """Support of ``row`` for each of ``phrases``, in any order; empty if the structure does not say."""
        return []

    @classmethod
    def confidence(cls, row: Any, spans: Sequence[Sequence[Any]]) -> float | None:
        """Mean support for the phrases of a tree, the full sentence excluded; None if there is none.

        ``spans`` are the brackets that a decoder made of ``row``. The support is the margin of distances, in the
        model's unit, or the probability or share of votes of a span.
        """
        phrases = [(start, end) for start, end, *_ in spans if 1 < end - start < cls.words_of(row)]
        values = cls.support(row, phrases) if phrases else []
        mean = fmean(values) if values else math.nan
        return mean if math.isfinite(mean) else None

    @classmethod
    def drawn_numbers(cls, row: Any) -> dict[str, Any]:
        """Numbers beside a picture of the tree: ``distances`` (N,) or ``probabilities`` (N, N) of heads; or empty."""
        return {}

    #: what rows of this structure vote for in an ensemble that sums probabilities: trees, heads, or nothing
    votes_for: ClassVar[str] = ""

    @classmethod
    def votes(cls, row: Any) -> np.ndarray:
        """Votes for spans (N, N + 1) or for heads (N, N), the root on the diagonal; see ``votes_for``."""
        import numpy as np

        return np.asarray(row, dtype=float)


def _cut(values: Tensor, lengths: Tensor) -> list[Any]:
    """The first ``lengths`` entries of each row, as lists."""
    return [row[:length] for row, length in zip(values.tolist(), lengths.tolist(), strict=True)]


@dataclass(frozen=True)
class Distances(Structure):
    """Syntactic distances.

    ``values`` (B, N): entry i is the gap *before* word i, larger splits earlier. Entry 0 lies before the sentence:
    the decoder `unbiased` ignores it, `biased` reads it.
    """

    name = "distances"
    rows_are = "a list of numbers"
    entries = "distances"
    values: Tensor
    lengths: Tensor

    def rows(self) -> list[list[float]]:
        """The gap before each word."""
        return _cut(self.values, self.lengths)

    @classmethod
    def trivial(cls, length: int) -> list[float]:
        """No gap is wider than another."""
        return [0.0] * length

    @classmethod
    def sharpness(cls, row: Sequence[float]) -> dict[str, float]:
        """Margin and entropy of the splits."""
        return distance_sharpness(row)

    @classmethod
    def support(cls, row: Sequence[float], phrases: Sequence[Span]) -> list[float]:
        """Margins of the phrases."""
        return margins(row, phrases)

    @classmethod
    def drawn_numbers(cls, row: Sequence[float]) -> dict[str, Any]:
        """The distances."""
        return {"distances": row}

    @classmethod
    def to_json(cls, row: Sequence[float]) -> list[float]:
        """A number for each word."""
        return list(row)

    @classmethod
    def from_json(cls, value: Any) -> list[float]:
        """Numbers, infinities among them."""
        return _floats(value, cls)


@dataclass(frozen=True)
class Heights(Structure):
    """Distances and heights.

    ``values`` (B, N, 2): of word i the gap before it, as in `Distances`, and its height: the higher of two words is the
    likelier head.
    """

    name = "heights"
    rows_are = "a list of pairs of numbers: gap before the word, height"
    entries = "heights"
    values: Tensor
    lengths: Tensor

    def rows(self) -> list[list[list[float]]]:
        """The gap before each word, and its height."""
        return _cut(self.values, self.lengths)

    @classmethod
    def trivial(cls, length: int) -> list[list[float]]:
        """All words are of one height."""
        return [[0.0, 0.0]] * length

    @classmethod
    def sharpness(cls, row: Sequence[Sequence[float]]) -> dict[str, float]:
        """Margin and entropy of the splits by the distances."""
        return distance_sharpness([gap for gap, _ in row])

    @classmethod
    def support(cls, row: Sequence[Sequence[float]], phrases: Sequence[Span]) -> list[float]:
        """Margins of the phrases by the distances."""
        return margins([gap for gap, _ in row], phrases)

    @classmethod
    def drawn_numbers(cls, row: Sequence[Sequence[float]]) -> dict[str, Any]:
        """The distances."""
        return {"distances": [gap for gap, _ in row]}

    @classmethod
    def to_json(cls, row: Sequence[Sequence[float]]) -> list[list[float]]:
        """A pair for each word."""
        return [list(pair) for pair in row]

    @classmethod
    def from_json(cls, value: Any) -> list[list[float]]:
        """Pairs of numbers."""
        return [_floats(pair, cls, length=2) for pair in _list(value, cls)]


@dataclass(frozen=True)
class HeadDistribution(Structure):
    """Distributions over the head of each word.

    ``probability`` (B, N, N): entry (i, j) is P(word j heads word i); the diagonal is P(word i is the root), or 0 if a
    model does not estimate it. If they are no ``probabilities``, the entries are scores of at least 0 whose rows need
    not sum to 1.
    """

    name = "heads"
    rows_are = "a list of lists of numbers"
    entries = "rows of heads"
    probability: Tensor
    lengths: Tensor
    probabilities: bool = True

    def rows(self) -> list[np.ndarray]:
        """Square matrix (N, N) of each sentence."""
        squares = self.probability.cpu().numpy()
        return [square[:n, :n].copy() for square, n in zip(squares, self.lengths.tolist(), strict=True)]

    @classmethod
    def trivial(cls, length: int) -> list[list[float]]:
        """All heads are equally probable."""
        return [[1.0] * length] * length

    @classmethod
    def sharpness(cls, row: Any) -> dict[str, float]:
        """Entropy and largest probability of the heads."""
        return head_sharpness(row)

    votes_for = "heads"

    @classmethod
    def drawn_numbers(cls, row: Any) -> dict[str, Any]:
        """The probabilities."""
        return {"probabilities": row}

    @classmethod
    def to_json(cls, row: Any) -> list[list[float]]:
        """A list for each word."""
        return [list(map(float, heads)) for heads in row]

    @classmethod
    def from_json(cls, value: Any) -> list[list[float]]:
        """Lists of numbers."""
        return [_floats(row, cls) for row in _list(value, cls)]


@dataclass(frozen=True)
class StackDecisions(Structure):
    """Where the head of a stack is after the reductions before each word.

    ``slots`` (B, N): the number of a slot of the stack, 0 the newest. A word that chooses a slot above the one where
    the word before it was put joins what lies between.
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
        """Every word stays where the one before it is."""
        return [0] * length

    @classmethod
    def to_json(cls, row: Sequence[int]) -> list[int]:
        """A number for each word."""
        return list(row)

    @classmethod
    def from_json(cls, value: Any) -> list[int]:
        """Whole numbers."""
        if not isinstance(value, list) or any(type(slot) is not int for slot in value):
            raise ValueError(_expected(cls))
        return value


@dataclass(frozen=True)
class SpanScores(Structure):
    """Probability of each span of words to be a constituent, or another score of it.

    ``score`` (B, N, N + 1): entry (i, j) is the score of the words i to j - 1; entries with j <= i have no meaning. The
    marginals of a grammar are ``probabilities``; scores of other models can be any finite numbers. ``symbols``
    (B, N, N + 1, S), if the query asked for them: the probability of each nonterminal over each span.
    """

    name = "span_scores"
    rows_are = "a row for each word i, with the score of the span from i up to each j = 0 … N"
    entries = "rows of scores"
    score: Tensor
    lengths: Tensor
    probabilities: bool = True
    symbols: Tensor | None = None

    def rows(self) -> list[np.ndarray]:
        """Scores (N, N + 1) of each sentence."""
        return self._cut(self.score)

    def symbol_rows(self) -> list[np.ndarray] | None:
        """Probabilities (N, N + 1, S) of each sentence, or None."""
        return None if self.symbols is None else self._cut(self.symbols)

    def _cut(self, values: Tensor) -> list[np.ndarray]:
        sentences = values.cpu().numpy()
        return [table[:n, : n + 1].copy() for table, n in zip(sentences, self.lengths.tolist(), strict=True)]

    @classmethod
    def trivial(cls, length: int) -> list[list[float]]:
        """All spans are equally probable."""
        return [[0.0] * (length + 1)] * length

    @classmethod
    def sharpness(cls, row: Any) -> dict[str, float]:
        """Entropy and largest probabilities of the spans; empty if the scores are not probabilities."""
        return span_sharpness(row)

    votes_for = "trees"

    @classmethod
    def support(cls, row: Any, phrases: Sequence[Span]) -> list[float]:
        """Scores of the phrases."""
        return [float(row[start][end]) for start, end in phrases]

    @classmethod
    def to_json(cls, row: Any) -> list[list[float]]:
        """A list of N + 1 numbers for each word."""
        return [list(map(float, scores)) for scores in row]

    @classmethod
    def from_json(cls, value: Any) -> list[list[float]]:
        """Lists of numbers, each one longer than there are lists."""
        rows = _list(value, cls)
        return [_floats(row, cls, length=len(rows) + 1) for row in rows]


@dataclass(frozen=True)
class Brackets(Structure):
    """Trees that a model has decoded itself.

    ``spans``: for each sentence its spans ``(start, end)``, or ``(start, end, label)`` where the model names them.
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
        """Only the whole."""
        return [(0, length)] if length > 1 else []

    @classmethod
    def to_json(cls, row: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
        """A list of two or three for each span."""
        return [list(span) for span in row]

    @classmethod
    def from_json(cls, value: Any) -> list[tuple[Any, ...]]:
        """Pairs of whole numbers, with a label or without."""
        for span in (spans := _list(value, cls)):
            kinds = [type(part) for part in span] if isinstance(span, list) else []
            if kinds not in ([int, int], [int, int, str]) or not 0 <= span[0] < span[1]:
                raise ValueError(_expected(cls))
        return [tuple(span) for span in spans]

    @classmethod
    def words_of(cls, row: Sequence[tuple[Any, ...]]) -> int:
        """The farthest end: spans do not say how many words there are."""
        return max((span[1] for span in row), default=0)


@dataclass(frozen=True)
class Heads(Structure):
    """Heads that a model has decoded itself: ``heads`` has for each sentence the head of each word, ``ROOT = -1``."""

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
        """Each word heads the next one."""
        return list(range(-1, length - 1))

    @classmethod
    def to_json(cls, row: Sequence[int]) -> list[int]:
        """A number for each word."""
        return list(row)

    @classmethod
    def from_json(cls, value: Any) -> list[int]:
        """Indices of words, or -1."""
        heads = _list(value, cls)
        if any(type(head) is not int or not ROOT <= head < len(heads) or head == i for i, head in enumerate(heads)):
            raise ValueError(_expected(cls))
        return heads


def _expected(kind: type[Structure]) -> str:
    return f'expected an object with "{kind.name}", {kind.rows_are}'


def _list(value: Any, kind: type[Structure]) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(_expected(kind))
    return value


def _floats(value: Any, kind: type[Structure], *, length: int | None = None) -> list[float]:
    """A list of numbers, ``length`` of them if that is given, as floats."""
    if not isinstance(value, list) or any(type(number) not in (int, float) for number in value):
        raise ValueError(_expected(kind))
    if length is not None and len(value) != length:
        raise ValueError(_expected(kind))
    try:
        return list(map(float, value))
    except OverflowError:
        raise ValueError(f'"{kind.name}" holds a whole number that is too large') from None
