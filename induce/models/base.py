"""What every model offers, whatever its paper: the protocol that training and parsing rely on."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

from torch import Tensor


class SegmentLoss(NamedTuple):
    """One training step on a segment of a stream."""

    objective: Tensor  # scalar: what is minimised, penalties included
    nll: Tensor  # scalar: mean negative log-likelihood in nats, to report
    state: Any  # to carry into the next segment (detach it first)
    targets: int | None = None  # words that the loss is the mean over, where only the model knows (masked words)
    correct: int | None = None  # of a task: how many labels were found


class StreamModel(Protocol):
    """A model trained on one long stream of words, cut into parallel columns and consecutive segments.

    One that also reads sentences takes ``counted`` (T, B) in `loss`, which says what is a target and what padding.
    """

    Config: ClassVar[type]
    reads: ClassVar[tuple[str, ...]]  # "stream", "sentences"
    gives: ClassVar[tuple[str, ...]]  # what `structure` can return, such as ("distances",); () where there is none

    def loss(self, tokens: Tensor, targets: Tensor, state: Any = None) -> SegmentLoss:
        """Loss on ``tokens`` (T, B) with next words ``targets`` (T, B), continuing from ``state``."""
        ...

    def structure(self, tokens: Tensor, lengths: Tensor, *, layer: int) -> Any:
        """Structure of whole sentences: ``tokens`` (B, N + 2) with a boundary mark on either side."""
        ...


class PredictiveModel(Protocol):
    """A stream model whose last step, softmax(decoder_weight x + decoder_bias), can be redone by others: the cache."""

    decoder_weight: Tensor  # (V, E)
    decoder_bias: Tensor  # (V,)

    def predictions(self, tokens: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """The vectors x (T, B, E) after each of ``tokens`` (T, B), without dropout, and the state to carry on."""
        ...


class MaskedModel(Protocol):
    """A model trained on whole sentences, in each of which it has to find the words that were masked."""

    Config: ClassVar[type]
    reads: ClassVar[tuple[str, ...]]  # ("masked",)
    gives: ClassVar[tuple[str, ...]]  # such as ("heads",)

    def loss(self, tokens: Tensor, lengths: Tensor, *, chance: Tensor | None = None) -> SegmentLoss:
        """Loss on ``tokens`` (B, N); words are masked where ``chance`` (B, N), by default drawn, is low enough."""
        ...

    def structure(self, tokens: Tensor, lengths: Tensor, *, layer: int) -> Any:
        """Structure of whole sentences: ``tokens`` (B, N + 2) with a boundary mark on either side."""
        ...


def detach(state: Any) -> Any:
    """``state`` (tensors in nested lists and tuples) cut off from the graph that computed it."""
    if isinstance(state, Tensor):
        return state.detach()
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return type(state)(*(detach(part) for part in state))
    if isinstance(state, (list, tuple)):
        return type(state)(detach(part) for part in state)
    return state
