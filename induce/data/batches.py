"""What a model learns from at each step: one type for each kind of input; the type says what there is.

T steps, B sentences or columns of a stream, N words of the longest sentence. Token 0 is the boundary mark, and padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """What all batches have: tensors that lie side by side."""

    tokens: Tensor

    @property
    def token_count(self) -> int:
        """Tokens that are learned from, padding not counted."""
        return self.tokens.numel()

    @property
    def carries_state(self) -> bool:
        """Whether the next batch goes on where this one ends."""
        return False

    def to(self, device: str) -> Self:
        """The same on ``device``."""
        moved: dict[str, Any] = {one.name: _moved(getattr(self, one.name), device) for one in fields(self)}
        return replace(self, **moved)

    def parts(self, count: int, *, cut: bool = True) -> list[Self]:
        """The batch in ``count`` parts, or as many as it has rows; to save memory, or for several processes.

        With ``cut`` a part has no columns that only others need.
        """
        raise TypeError(f"a {type(self).__name__} cannot be cut")


def _moved(value: object, device: str) -> object:
    move = getattr(value, "to", None)
    return value if move is None else move(device)


@dataclass(frozen=True)
class StreamBatch(Batch):
    """A segment of a text in parallel columns: ``tokens`` (T, B) and ``targets`` (T, B), the tokens that follow."""

    targets: Tensor

    @property
    def carries_state(self) -> bool:
        """A segment goes on where the one before it ended."""
        return True

    def parts(self, count: int, *, cut: bool = True) -> list[Self]:
        """Some of the columns each."""
        split = {one.name: getattr(self, one.name).tensor_split(count, 1) for one in fields(self)}
        width = min(count, self.tokens.shape[1])
        return [replace(self, **{name: part[k] for name, part in split.items()}) for k in range(width)]


@dataclass(frozen=True)
class SupervisedStreamBatch(StreamBatch):
    """A segment with the ``distances`` (T, B) of gold trees, the gap before each word; NaN where there is none."""

    distances: Tensor


@dataclass(frozen=True)
class SentenceBatch(Batch):
    """Whole sentences, ``tokens`` (B, N) without boundary marks, padded with 0 behind their ``lengths`` (B,) words."""

    lengths: Tensor

    @property
    def token_count(self) -> int:
        """Words."""
        return int(self.lengths.sum())

    def parts(self, count: int, *, cut: bool = True) -> list[Self]:
        """Some of the sentences each."""
        import torch

        rows = torch.arange(len(self.lengths)).tensor_split(min(count, len(self.lengths)))
        return [self.select(chosen, cut=cut) for chosen in rows]

    def select(self, chosen: Tensor, *, cut: bool = True) -> Self:
        """The sentences whose indices are ``chosen`` (on the CPU), by ``cut`` without columns that only others need."""
        lengths = self.lengths[chosen.to(self.lengths.device)]
        longest = max(1, int(lengths.max())) if cut else self.tokens.shape[1]
        return replace(self, lengths=lengths, **self._selected(chosen.to(self.tokens.device), longest))

    def _selected(self, chosen: Tensor, longest: int) -> dict[str, Any]:
        """All fields but ``lengths``, cut to the ``chosen`` rows and to ``longest`` words."""
        names = [one.name for one in fields(self) if one.name != "lengths"]
        return {name: getattr(self, name)[chosen, :longest] for name in names}


@dataclass(frozen=True)
class MaskedBatch(SentenceBatch):
    """Sentences with the random numbers ``uniforms`` (B, N) in [0, 1) that decide which words are masked."""

    uniforms: Tensor


@dataclass(frozen=True)
class HeadSupervisedBatch(MaskedBatch):
    """Sentences with the ``heads`` (B, N, N) that another parser gives: row i says how probable each word is as head of
    word i, the diagonal that it is the root. A row of zeros says nothing."""

    heads: Tensor

    def _selected(self, chosen: Tensor, longest: int) -> dict[str, Any]:
        cut = super()._selected(chosen, longest)
        return {**cut, "heads": self.heads[chosen, :longest, :longest]}


@dataclass(frozen=True)
class FragmentBatch(SentenceBatch):
    """Sentences with ``gaps`` (B, N), uint8: what marks stood before each word (`induce.data.punctuation`)."""

    gaps: Tensor

    @property
    def fragments(self) -> Tensor:
        """The number (B, N), from 0, of the stretch between punctuation that a word is in."""
        from induce.data.punctuation import JOINED, NOTHING

        separated = (self.gaps != NOTHING) & (self.gaps != JOINED)
        separated[:, 0] = False
        return separated.cumsum(1)


@dataclass(frozen=True)
class SupervisedBatch(SentenceBatch):
    """Sentences with the ``distances`` (B, N) of gold trees, the gap before each word; NaN where there is none."""

    distances: Tensor


@dataclass(frozen=True)
class SpanSupervisedBatch(FragmentBatch):
    """Sentences with a factor ``weights`` (B, N, N + 1) for each span: 1 where it is welcome, less where it is not."""

    weights: Tensor

    def _selected(self, chosen: Tensor, longest: int) -> dict[str, Any]:
        cut = super()._selected(chosen, longest)
        return {**cut, "weights": self.weights[chosen, :longest, : longest + 1]}


@dataclass(frozen=True)
class SpanTargetBatch(FragmentBatch):
    """Sentences with the share ``spans`` (B, N, N + 1) of the trees of other parsers that have each span."""

    spans: Tensor

    def _selected(self, chosen: Tensor, longest: int) -> dict[str, Any]:
        cut = super()._selected(chosen, longest)
        return {**cut, "spans": self.spans[chosen, :longest, : longest + 1]}


class Side(NamedTuple):
    """An expression in numbers, and its tree."""

    ids: Sequence[int]  # of all tokens
    leaves: Sequence[int]  # which tokens are words of the tree, and not brackets
    joins: Sequence[tuple[int, int]]  # the two nodes that each node joins: words first, then joins in this order


@dataclass(frozen=True)
class LabelledBatch(SentenceBatch):
    """Expressions with their ``labels`` (B,) and ``trees``; of pairs all first ones stand before all second ones."""

    labels: Tensor
    trees: Sequence[Side]

    def select(self, chosen: Tensor, *, cut: bool = True) -> Self:
        """The expressions, or pairs of them, whose indices among the labels are ``chosen`` (on the CPU)."""
        import torch

        sides, count = len(self.lengths) // len(self.labels), len(self.labels)
        rows = torch.cat([chosen + k * count for k in range(sides)])
        lengths = self.lengths[rows.to(self.lengths.device)]
        return replace(
            self,
            tokens=self.tokens[rows.to(self.tokens.device), : int(lengths.max()) if cut else None],
            lengths=lengths,
            labels=self.labels[chosen.to(self.labels.device)],
            trees=[self.trees[row] for row in rows.tolist()],
        )

    def parts(self, count: int, *, cut: bool = True) -> list[Self]:
        """Some of the labels each."""
        import torch

        rows = torch.arange(len(self.labels)).tensor_split(min(count, len(self.labels)))
        return [self.select(chosen, cut=cut) for chosen in rows]


@dataclass(frozen=True)
class RatedBatch(SentenceBatch):
    """Pairs of sentences with ``ratings`` (B,) in [0, 1]: ``tokens`` (2 B, N), all first ones before all others."""

    ratings: Tensor

    def select(self, chosen: Tensor, *, cut: bool = True) -> Self:
        """The pairs whose indices among the ratings are ``chosen`` (on the CPU)."""
        import torch

        rows = torch.cat([chosen, chosen + len(self.ratings)])
        lengths = self.lengths[rows.to(self.lengths.device)]
        tokens = self.tokens[rows.to(self.tokens.device), : max(1, int(lengths.max())) if cut else None]
        return replace(self, tokens=tokens, lengths=lengths, ratings=self.ratings[chosen.to(self.ratings.device)])

    def parts(self, count: int, *, cut: bool = True) -> list[Self]:
        """Some of the pairs each."""
        import torch

        rows = torch.arange(len(self.ratings)).tensor_split(min(count, len(self.ratings)))
        return [self.select(chosen, cut=cut) for chosen in rows]


@dataclass(frozen=True)
class DemonstrationBatch(SentenceBatch):
    """Trajectories: ``tokens`` (B, N) are actions, ``observations`` (B, N, F) what was seen before each of them.

    ``sketches`` (B,) are the numbers of the tasks that they show.
    """

    observations: Tensor
    sketches: Tensor

    def _selected(self, chosen: Tensor, longest: int) -> dict[str, Any]:
        cut = {name: getattr(self, name)[chosen, :longest] for name in ("tokens", "observations")}
        return {**cut, "sketches": self.sketches[chosen.to(self.sketches.device)]}
