"""What a model learns from at each step: one type for each kind of input; the type says what there is.

T steps, B sentences or columns of a stream, N words of the longest sentence. Token 0 is the boundary mark, and padding.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

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
