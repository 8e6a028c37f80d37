"""Base of the distilled parsers: a bidirectional LSTM over embeddings of words and their endings.

Shapes: B sentences, N words, E units of an embedding, H of one direction of the LSTM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from induce.layers.endings import BUCKETS, ENDINGS, buckets
from induce.layers.padding import lstm_states
from induce.models.base import Model
from induce.models.distilled.settings import StudentConfig

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus

UNKNOWN = 1  # index of words that are not in the vocabulary


class SentenceReader(nn.Module):
    """States (B, N, 2 H) of the words of sentences, with dropout before and after the LSTM."""

    ending: Tensor  # (V, 3): the buckets of each word's endings

    def __init__(self, config: StudentConfig, vocabulary_size: int) -> None:
        super().__init__()
        size, hidden, layers = config.embedding_size, config.hidden_size, config.layers
        self.embedding = nn.Embedding(vocabulary_size, size)
        self.endings = nn.ModuleList(nn.Embedding(BUCKETS, size) for _ in ENDINGS if config.endings)
        self.register_buffer("ending", torch.zeros(vocabulary_size, len(ENDINGS), dtype=torch.int64))
        between = config.dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(size, hidden, layers, batch_first=True, bidirectional=True, dropout=between)
        self.dropout = nn.Dropout(config.dropout)
        for table in (self.embedding, *self.endings):
            nn.init.normal_(table.weight, std=0.3)

    def forward(self, tokens: Tensor, lengths: Tensor, known: Tensor) -> Tensor:
        """States of ``tokens`` (B, N). In ``known``, some are `UNKNOWN`, but not their endings."""
        x = self.embedding(known)
        for index, table in enumerate(self.endings):
            x = x + table(self.ending[tokens, index])
        return self.dropout(lstm_states(self.lstm, self.dropout(x), lengths))


class Student(Model):
    """A parser that learns from the predictions of other parsers alone."""

    rounds = True
    measure = "cross-entropy"
    config: Any

    def __init__(self, config: StudentConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        self.reader = SentenceReader(config, vocabulary_size)

    def prepare(self, corpus: EncodedCorpus) -> None:
        """Store the endings of the words of the vocabulary."""
        self.reader.ending.copy_(torch.tensor([buckets(word) for word in corpus.vocabulary.words]))

    def input_tokens(self, tokens: Tensor, uniforms: Tensor) -> Tensor:
        """The word indices (B, N) that the model reads.

        In training, a word is replaced by the unknown word if its number in ``uniforms`` (B, N) is less than
        ``unknown_rate``.
        """
        return some_unknown(tokens, uniforms, self.config.unknown_rate) if self.training else tokens


def some_unknown(tokens: Tensor, uniforms: Tensor, rate: float) -> Tensor:
    """The ``tokens`` (B, N), unknown where ``uniforms`` (B, N) are less than ``rate``."""
    return tokens.masked_fill((uniforms < rate) & (tokens > 0), UNKNOWN)
