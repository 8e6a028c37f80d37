"""Models of sentence similarity: the cosine of two vectors, trained by squared error against human ratings.

On top of a masked language model (Shen 2022, thesis, section 4.3.5), the vector of a sentence is the mean of the final
states of its words, and ``frozen = "parser"`` does not train the parser. `EncoderPairs` has the vector of an encoder of
expressions instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import SentenceBatch
from induce.models.base import Context, Loss, Model, Query
from induce.models.capabilities import SentenceVectors, WordVectors
from induce.models.masked.masked_model import MaskedLanguageModel, Transformer, TransformerConfig
from induce.models.masked.structformer import StructFormer, StructFormerConfig
from induce.models.masked.udgn import Udgn, UdgnConfig
from induce.setting import choice
from induce.settings.run import RunConfig
from induce.structures import Structure
from induce.tasks.encoders.base import Encoder
from induce.tasks.examples import RatedBatch


@dataclass(frozen=True, kw_only=True)
class PairsConfig:
    """Setting of fine-tuning."""

    frozen: str = choice("none", ("none", "parser"), "part that fine-tuning does not change")


class PairModel(Model):
    """A model that learns the similarity of two sentences: the cosine of their vectors."""

    reads = (RatedBatch,)
    measure = "squared error"


def cosines(vectors: Tensor) -> Tensor:
    """Cosine (B,) of the ``vectors`` (2 B, E) of each pair, all first sentences before all second ones."""
    first, second = vectors.chunk(2)
    return functional.cosine_similarity(first, second)


class EncoderPairs(SentenceVectors, PairModel):
    """Model of sentence pairs with an encoder of ListOps or logic, whose vectors represent the sentences."""

    def __init__(self, encoder: Encoder, dropout: float) -> None:
        super().__init__()
        self.encoder, self.dropout = encoder, nn.Dropout(dropout)

    @classmethod
    def of_run(cls, config: RunConfig, encoder: Encoder) -> Self:
        """The model of a run on rated pairs."""
        return cls(encoder, float(config.model["classifier_dropout"]))

    def sentence_vectors(self, batch: SentenceBatch) -> Tensor:
        """Vectors (B, E) of the encoder."""
        return self.encoder(batch.tokens, batch.lengths, ())

    def loss(self, batch: RatedBatch, state: None = None) -> Loss:
        """Mean squared error of the cosines, and what the encoder adds to the loss."""
        encoding = self.encoder.encode(batch.tokens, batch.lengths, ())
        errors = (cosines(self.dropout(encoding.vectors)) - batch.targets) ** 2
        added = self.encoder.added_loss(encoding, 1 - errors.detach())
        mean = errors.mean()
        return Loss(mean if added is None else mean + added, mean, len(errors))

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """The structure that the encoder predicts."""
        return self.encoder.structure(batch.tokens, batch.lengths)


class SentencePairs(WordVectors, PairModel):
    """A masked language model whose sentence vectors are trained, without its output layer of words."""

    kind: ClassVar[type[MaskedLanguageModel]]
    parser_parts: ClassVar[tuple[str, ...]] = ()  # prefixes of the names of its parser parameters

    def __init__(self, config: Any, vocabulary_size: int) -> None:
        super().__init__()
        self.encoder = self.kind(config, vocabulary_size)
        for name, parameter in self.encoder.named_parameters():
            if config.frozen == "parser" and name.startswith(self.parser_parts):
                parameter.requires_grad_(False)

    def prepare(self, corpus: Any, context: Context) -> None:
        """Load the weights of the pretrained model, if there is one."""
        if weights := corpus.pretrained_weights():
            self.encoder.load_state_dict(weights, strict=True)

    def loss(self, batch: RatedBatch, state: None = None) -> Loss:
        """Mean squared error of the cosines."""
        error = functional.mse_loss(cosines(self.sentence_vectors(batch)), batch.targets)
        return Loss(error, error, len(batch.targets))

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
    """Settings of sentence similarity with a Transformer. It has no parser, so ``frozen`` cannot name one."""

    def check(self) -> None:
        """Raises ValueError if the settings do not fit together."""
        super().check()
        if self.frozen == "parser":
            raise ValueError("frozen = 'parser': this model has no parser")


class TransformerPairs(SentencePairs):
    """Transformer, which has no parser."""

    Config = TransformerPairsConfig
    kind = Transformer
