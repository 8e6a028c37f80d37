"""Base of the distilled parsers: a bidirectional LSTM over full sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

from induce.layers.bilstm_encoder import SentenceReader, some_unknown
from induce.models.base import Model
from induce.setting import count, dropout_rate, setting

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus


@dataclass(frozen=True, kw_only=True)
class StudentConfig:
    """Sizes and rates of the reader, with defaults for training on a CPU."""

    embedding_size: int = count(64, "units of a word embedding")
    hidden_size: int = setting(128, at_least=1, at_most=1e6, help="units of one direction of the LSTM")
    layers: int = count(1, "layers of the network")
    endings: bool = setting(True, help="whether words are also known by their last letters")
    dropout: float = dropout_rate(0.3, "dropout inside the layers")
    unknown_rate: float = setting(0.2, at_least=0, at_most=0.99, help="share of the words that are unknown in training")


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
        """The ``tokens`` (B, N), in training some of them unknown, by random numbers from 0 to 1."""
        return some_unknown(tokens, uniforms, self.config.unknown_rate) if self.training else tokens
