"""Base of the distilled parsers: a bidirectional LSTM over full sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from induce.layers.bilstm_encoder import SentenceReader, some_unknown
from induce.models.base import Model
from induce.models.distilled.settings import StudentConfig

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus


class Student(Model):
    """A parser that learns from the predictions of other parsers alone."""

    rounds = True
    measure = "cross-entropy"
    config: Any

    def __init__(self, config: StudentConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        self.reader = SentenceReader(
            vocabulary_size,
            config.embedding_size,
            config.hidden_size,
            layers=config.layers,
            endings=config.endings,
            dropout=config.dropout,
        )

    def prepare(self, corpus: EncodedCorpus) -> None:
        """Store the endings of the words of the vocabulary."""
        self.reader.learn_endings(corpus)

    def input_tokens(self, tokens: Tensor, uniforms: Tensor) -> Tensor:
        """The word indices (B, N) that the model reads.

        In training, a word is replaced by the unknown word if its number in ``uniforms`` (B, N) is less than
        ``unknown_rate``.
        """
        return some_unknown(tokens, uniforms, self.config.unknown_rate) if self.training else tokens
