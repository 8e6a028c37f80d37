"""Structures of models that find several trees of a sentence themselves: brackets or heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from induce.structures import Brackets, Heads, Structure, checked_list, expected_form

if TYPE_CHECKING:
    from torch import Tensor


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
