"""BiLSTM encoder over embeddings of words and their endings, shared by the distilled parsers.

Shapes: B sentences, N words, E units of an embedding, H of one direction of the LSTM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from induce.layers.endings import BUCKETS, ENDINGS, buckets
from induce.layers.padding import lstm_states

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus

UNKNOWN = 1  # index of words that are not in the vocabulary


class SentenceReader(nn.Module):
    """States (B, N, 2 H) of the words of sentences, with dropout before and after the LSTM."""

    def __init__(
        self, vocabulary_size: int, size: int, hidden: int, *, layers: int, endings: bool, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, size)
        self.endings = nn.ModuleList(nn.Embedding(BUCKETS, size) for _ in ENDINGS if endings)
        self.register_buffer("ending", torch.zeros(vocabulary_size, len(ENDINGS), dtype=torch.int64))
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(size, hidden, layers, batch_first=True, bidirectional=True, dropout=between)
        self.dropout = nn.Dropout(dropout)
        for table in (self.embedding, *self.endings):
            nn.init.normal_(table.weight, std=0.3)

    ending: Tensor  # (V, 3): the buckets of each word's endings

    def learn_endings(self, corpus: EncodedCorpus) -> None:
        """Store the endings of the words of the vocabulary."""
        self.ending.copy_(torch.tensor([buckets(word) for word in corpus.vocabulary.words]))

    def forward(self, tokens: Tensor, lengths: Tensor, known: Tensor) -> Tensor:
        """States of ``tokens`` (B, N). In ``known``, some are `UNKNOWN`, but not their endings."""
        x = self.embedding(known)
        for index, table in enumerate(self.endings):
            x = x + table(self.ending[tokens, index])
        return self.dropout(lstm_states(self.lstm, self.dropout(x), lengths))


def some_unknown(tokens: Tensor, uniforms: Tensor, rate: float) -> Tensor:
    """The ``tokens`` (B, N), unknown where ``uniforms`` (B, N) are less than ``rate``."""
    return tokens.masked_fill((uniforms < rate) & (tokens > 0), UNKNOWN)
