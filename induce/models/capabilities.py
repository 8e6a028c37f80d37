"""Abilities of some models besides learning and parsing. Each class is one ability, which a model inherits.

Commands ask ``issubclass(kind, WordScoring)`` before any text is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

    from induce.data.batches import SentenceBatch
    from induce.decoding.priors import EdgeStatistics


class LayerStates(NamedTuple):
    """Hidden states after each layer (B, L, N, E), and its attention (B, L, K, N, N), whose rows sum to 1.

    A row of attention in which no word is attended is 0.
    """

    hidden: Tensor
    attention: Tensor


class MemoryWeights(NamedTuple):
    """Gates and attention over the S last states at each word, from 0 to 1. The newest state comes first.

    Those of the reading network are for the new state of the word, those of the prediction for the word after it. Only
    the attention of the reading network differs by layer.
    """

    read_gates: Tensor  # (B, N, S)
    predict_gates: Tensor  # (B, N, S)
    read_attention: Tensor  # (B, L, N, S)
    predict_attention: Tensor  # (B, N, S), or (B, N, 0) for a model without it


class SentenceScoring:
    """Log-probabilities of sentences."""

    def log_probability(self, batch: SentenceBatch) -> Tensor:
        """Log-probability of each sentence (B,) in nats, in evaluation mode."""
        raise NotImplementedError


class WordScoring(SentenceScoring):
    """Log-probabilities of words."""

    def word_log_probabilities(self, batch: SentenceBatch) -> Tensor:
        """Log-probability of each word of full sentences, in nats, in evaluation mode.

        (B, N + 1) for a next-word model, which includes the end-of-sentence token; (B, N) for a masked language model,
        where each word is masked alone. 0 at padding.
        """
        raise NotImplementedError

    def log_probability(self, batch: SentenceBatch) -> Tensor:
        """Log-probability of each sentence (B,) in nats.

        The pseudo-log-probability for a masked language model: the sum over its masked words.
        """
        return self.word_log_probabilities(batch).sum(1)


class SentenceVectors:
    """Vectors of sentences."""

    def sentence_vectors(self, batch: SentenceBatch) -> Tensor:
        """One vector for each sentence (B, E)."""
        raise NotImplementedError


class WordVectors(SentenceVectors):
    """Vectors of words."""

    def word_vectors(self, batch: SentenceBatch) -> Tensor:
        """Vectors of the words of full sentences (B, N, E).

        These are the final states; for a next-word model, the states after each word, which the output layer reads.
        """
        raise NotImplementedError

    def sentence_vectors(self, batch: SentenceBatch) -> Tensor:
        """Mean of the word vectors of each sentence (B, E), or zeros if it has no words."""
        import torch  # here, because parsers without torch also ask for capabilities

        vectors = self.word_vectors(batch)
        count = batch.lengths.to(vectors.device)[:, None]
        real = torch.arange(vectors.shape[1], device=vectors.device) < count
        return (vectors * real[..., None]).sum(1) / count.clamp(min=1)


class LayeredStates:
    """Hidden states and attention of each layer."""

    def layer_states(self, batch: SentenceBatch) -> LayerStates:
        """Hidden states and attention of each layer for full sentences, in evaluation mode.

        Those of a sentence do not depend on the others of the batch.
        """
        raise NotImplementedError


class ChannelWeights:
    """Weights of channels or attention heads."""

    def channels(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Weights (B, layers, K, N, N) of channel or attention head k from word i to word j of ``tokens`` (B, N).

        Those of a sentence do not depend on the others of the batch.
        """
        raise NotImplementedError


class GatedMemory:
    """Gates and attention over earlier states."""

    def memory_weights(self, batch: SentenceBatch) -> MemoryWeights:
        """Gates and attention over earlier states for full sentences, in evaluation mode."""
        raise NotImplementedError


class GateReading:
    """Values at each word by which a model decides on structure, such as its master gates or its choice of a slot."""

    def gates(self, batch: SentenceBatch) -> dict[str, Tensor]:
        """Values (B, N, …) at each word of full sentences, by name, in evaluation mode."""
        raise NotImplementedError


class MaskingImpact:
    """Impact of masked words on the other words."""

    def impact(self, batch: SentenceBatch) -> Tensor:
        """Impact (B, N, N) of masking word j on word i of full sentences, in evaluation mode (`induce.structures`)."""
        raise NotImplementedError


class EdgeCounting:
    """Counts of the training corpus for the priors that need them."""

    def edge_statistics(self) -> EdgeStatistics | None:
        """The counts, or None if there are none yet."""
        raise NotImplementedError
