"""What a model's reading of a sentence is made of: the meeting point of models and decoders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Distances:
    """Syntactic distances of a batch of sentences, boundary marks already cut off.

    ``values`` (B, N): entry i is the gap *before* word i, larger splits earlier. Entry 0 lies before the sentence:
    the decoder `unbiased` ignores it, `biased` reads it. ``lengths`` (B,): the number of words of each sentence;
    entries from there on are padding.
    """

    values: Tensor
    lengths: Tensor


@dataclass(frozen=True)
class Heights:
    """Distances and heights of a batch of sentences, boundary marks already cut off.

    ``values`` (B, N, 2): of word i the gap before it, as in `Distances`, and its height: the higher of two words is the
    likelier head. ``lengths`` (B,): the number of words of each sentence; entries from there on are padding.
    """

    values: Tensor
    lengths: Tensor


@dataclass(frozen=True)
class HeadDistribution:
    """Heads of a batch of sentences, boundary marks already cut off.

    ``probability`` (B, N, N): entry (i, j) is P(word j heads word i); the diagonal is P(word i is the root) where a
    model has one, else 0. Rows need not sum to 1. ``lengths`` (B,): the number of words of each sentence; rows and
    columns from there on are padding.
    """

    probability: Tensor
    lengths: Tensor


@dataclass(frozen=True)
class StackDecisions:
    """Where the head of a stack is after the reductions before each word, for a batch of sentences.

    ``slots`` (B, N): the number of a slot of the stack, 0 the newest. A word that chooses a slot above the one where
    the word before it was put joins what lies between. ``lengths`` (B,): the number of words of each sentence; entries
    from there on are padding.
    """

    slots: Tensor
    lengths: Tensor
