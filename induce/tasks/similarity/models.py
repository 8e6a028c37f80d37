"""Models of sentence similarity on top of masked language models (Shen 2022, thesis, section 4.3.5).

The vector of a sentence is the mean of the final states of its words. The similarity of two sentences is the cosine of
their vectors, trained by squared error against human ratings. ``frozen = "parser"`` does not train the parser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.models.base import Loss, Model, Query
from induce.models.masked.structformer import StructFormer, StructFormerConfig
from induce.models.masked.transformer import Transformer, TransformerConfig
from induce.models.masked.udgn import Udgn, UdgnConfig
from induce.setting import setting
from induce.structures import Structure
from induce.tasks.batches import RatedBatch


@dataclass(frozen=True, kw_only=True)
class PairsConfig:
    """Setting of fine-tuning."""

    frozen: str = setting("none", choices=("none", "parser"), help="part that fine-tuning does not change")


class SentencePairs(Model):
    """A masked language model whose sentence vectors are trained, without its output layer of words."""

    kind: ClassVar[type[Model]]
    parser_parts: ClassVar[tuple[str, ...]] = ()  # prefixes of the names of its parser parameters
    reads = (RatedBatch,)
    measure = "squared error"

    def __init__(self, config: Any, vocabulary_size: int) -> None:
        super().__init__()
        self.encoder = self.kind(config, vocabulary_size)
        for name, parameter in self.encoder.named_parameters():
            if config.frozen == "parser" and name.startswith(self.parser_parts):
                parameter.requires_grad_(False)

    def prepare(self, corpus: Any) -> None:
        """Load the weights of the pretrained model, if there is one."""
        if weights := corpus.pretrained_weights():
            self.encoder.load_state_dict(weights, strict=True)

    def similarity(self, batch: RatedBatch) -> Tensor:
        """Cosine (B,) of the sentence vectors of each pair."""
        first, second = self.sentence_vectors(batch).chunk(2)
        return functional.cosine_similarity(first, second)

    def loss(self, batch: RatedBatch, state: None = None) -> Loss:
        """Mean squared error of the cosines."""
        error = functional.mse_loss(self.similarity(batch), batch.ratings)
        return Loss(error, error, len(batch.ratings))

    def word_vectors(self, batch: SentenceBatch) -> Tensor:
        """Word vectors (B, N, E) of the masked language model."""
        return self.encoder.word_vectors(batch)

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """The structure that the masked language model predicts."""
        return self.encoder.structure(batch, query)


@dataclass(frozen=True, kw_only=True)
class UdgnPairsConfig(UdgnConfig, PairsConfig):
    """Settings of a UDGN, and its frozen part."""


class UdgnPairs(SentencePairs):
    """UDGN. Its parser has its own embeddings, so that the trees of a frozen parser do not change."""

    Config = UdgnPairsConfig
    kind = Udgn
    gives = Udgn.gives
    parser_parts = ("parser.",)


@dataclass(frozen=True, kw_only=True)
class StructFormerPairsConfig(StructFormerConfig, PairsConfig):
    """Settings of a StructFormer, and its frozen part."""


class StructFormerPairs(SentencePairs):
    """StructFormer. Its parser uses the embeddings of the encoder, which are therefore frozen with it."""

    Config = StructFormerPairsConfig
    kind = StructFormer
    gives = StructFormer.gives
    parser_parts = ("parser.", "embedding.", "scales")


@dataclass(frozen=True, kw_only=True)
class TransformerPairsConfig(TransformerConfig, PairsConfig):
    """Settings of a Transformer, which has no parser to freeze."""

    def check(self) -> None:
        """Raises ValueError if the settings do not fit together."""
        super().check()
        if self.frozen == "parser":
            raise ValueError("frozen = 'parser': this model has no parser")


class TransformerPairs(SentencePairs):
    """Transformer, which has no parser."""

    Config = TransformerPairsConfig
    kind = Transformer
