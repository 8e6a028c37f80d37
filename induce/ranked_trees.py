"""The structure of models that find several trees of a sentence themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from induce.structures import Brackets, Structure, checked_list, expected_form

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
        for pair in (pairs := checked_list(value, cls)):
            if not isinstance(pair, list) or [type(part) for part in pair] not in ([float, list], [int, list]):
                raise ValueError(expected_form(cls))
        return [(float(score), Brackets.from_json(spans)) for score, spans in pairs]

    @classmethod
    def words_of(cls, row: Sequence[tuple[float, Sequence[tuple[Any, ...]]]]) -> int:
        """Largest end of a span, because the spans do not state the number of words."""
        return max((Brackets.words_of(spans) for _, spans in row), default=0)
