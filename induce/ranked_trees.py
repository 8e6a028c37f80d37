"""Structures of models that find several trees of a sentence themselves: brackets or heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from induce.structures import Brackets, Heads, Structure, checked_list, expected_form

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class RankedTrees(Structure):
    """The most probable trees that the model itself decoded, best first.

    ``trees``: for each sentence, pairs of a score, such as the log probability in nats, and the brackets of a tree as
    in `Brackets`. ``Query.trees`` is the number of trees.
    """

    name = "ranked_trees"
    rows_are = "a list of [score, brackets]; give the words, too"
    entries = "words"
    trees: Sequence[Sequence[tuple[float, Sequence[tuple[Any, ...]]]]]
    lengths: Tensor

    def rows(self) -> list[list[tuple[float, list[tuple[Any, ...]]]]]:
        """The trees of each sentence."""
        return [[(score, list(spans)) for score, spans in trees] for trees in self.trees]

    @classmethod
    def trivial(cls, length: int) -> list[tuple[float, list[tuple[Any, ...]]]]:
        """The full-sentence span alone, with a score of 0."""
        return [(0.0, Brackets.trivial(length))]

    @classmethod
    def from_json(cls, value: Any) -> list[tuple[float, list[tuple[Any, ...]]]]:
        """Pairs of a number and a list of brackets."""
        return [(score, Brackets.from_json(spans)) for score, spans in _pairs(value, cls)]

    @classmethod
    def words_of(cls, row: Sequence[tuple[float, Sequence[tuple[Any, ...]]]]) -> int:
        """Number of words of a sentence, taken from the largest end of its spans."""
        return max((Brackets.words_of(spans) for _, spans in row), default=0)


@dataclass(frozen=True)
class RankedHeads(Structure):
    """Heads of the most probable trees that the model itself decoded, best first.

    ``trees``: for each sentence, pairs of a score, such as the log probability in nats, and the heads of the words as
    in `Heads`. ``Query.trees`` is the number of trees.
    """

    name = "ranked_heads"
    rows_are = "a list of [score, heads]"
    entries = "arcs"
    trees: Sequence[Sequence[tuple[float, Sequence[int]]]]
    lengths: Tensor

    def rows(self) -> list[list[tuple[float, list[int]]]]:
        """The trees of each sentence."""
        return [[(score, list(heads)) for score, heads in trees] for trees in self.trees]

    @classmethod
    def trivial(cls, length: int) -> list[tuple[float, list[int]]]:
        """A chain in which each word is the head of the next word, with a score of 0."""
        return [(0.0, Heads.trivial(length))]

    @classmethod
    def from_json(cls, value: Any) -> list[tuple[float, list[int]]]:
        """Pairs of a number and a list of heads."""
        return [(score, Heads.from_json(heads)) for score, heads in _pairs(value, cls)]

    @classmethod
    def words_of(cls, row: Sequence[tuple[float, Sequence[int]]]) -> int:
        """Number of words."""
        return max((len(heads) for _, heads in row), default=0)


def _pairs(value: Any, kind: type[Structure]) -> list[tuple[float, list[Any]]]:
    """Pairs of a number and a list. Raises ValueError, naming what ``kind`` expects, for another value."""
    for pair in (pairs := checked_list(value, kind)):
        if not isinstance(pair, list) or [type(part) for part in pair] not in ([float, list], [int, list]):
            raise ValueError(expected_form(kind))
    return [(float(score), part) for score, part in pairs]
