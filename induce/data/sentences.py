"""Batches of sentences that a model reads independently."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from induce.data.batches import Batch, HeadSupervisedBatch, MaskedBatch, SentenceBatch, SupervisedBatch
from induce.data.by_length import batches_by_size, batches_by_words
from induce.data.loaders import BatchSettings, Step, WordBatchSettings, shuffled
from induce.setting import BY_GRADIENTS, setting

if TYPE_CHECKING:
    from torch import Tensor

    from induce.data.corpus import EncodedCorpus

MASKINGS = 5  # maskings of the development set per check (as in the released program of UDGN)


@dataclass(frozen=True, kw_only=True)
class SentenceSettings(BatchSettings):
    """Settings of batches of sentences."""

    bucketed: bool = setting(
        False, when=BY_GRADIENTS, help="whether a batch holds sentences of similar length, or consecutive sentences"
    )


class SentenceLoader:
    """Batches of padded sentences (PRPN section 6.3).

    A batch holds consecutive sentences, or with ``config.bucketed`` sentences of similar length, which needs little
    padding. Batches of similar length are shuffled once; their order is the same in every pass.
    """

    makes: ClassVar[tuple[type[Batch], ...]] = (SentenceBatch, SupervisedBatch)
    Config = SentenceSettings

    def __init__(
        self, corpus: EncodedCorpus, config: SentenceSettings, *, device: str, epochs: int = 1, held_out: bool = False
    ) -> None:
        self.corpus, self.device = corpus, device
        size = max(1, min(config.size(held_out=held_out), len(corpus)))
        self.batches = np.split(np.arange(len(corpus)), range(size, len(corpus), size))
        if config.bucketed:
            batches = batches_by_size(corpus.lengths, size)
            self.batches = [np.array(batches[k]) for k in np.random.RandomState(0).permutation(len(batches))]
        # An incomplete last batch of consecutive sentences is left out in training, as in the released program.
        self.whole = self.batches if config.bucketed or len(self.batches[-1]) == size else self.batches[:-1]

    def steps(self, rng: Any, start: int, number: int = 1) -> Iterator[Step]:
        """Batches of one pass after batch ``start``."""
        for after, chosen in enumerate(self.whole[start:], start + 1):
            yield Step(self._batch(chosen), after)

    def check(self) -> Iterator[SentenceBatch]:
        """All sentences."""
        return map(self._batch, self.batches)

    def share(self, start: int) -> float:
        """Share of the batches before ``start``."""
        return start / max(1, len(self.whole))

    def _batch(self, chosen: np.ndarray) -> SentenceBatch:
        batch = self.corpus.sentences(chosen)
        if len(self.corpus.distances):
            import torch

            values, _ = self.corpus.rows_of(self.corpus.distances, chosen, np.nan)
            batch = SupervisedBatch(batch.tokens, batch.lengths, torch.from_numpy(values))
        return batch.to(self.device)


class MaskedLoader:
    """Batches of sentences of similar length for masked language models, in a new order in each pass.

    The batches are those of the released program of UDGN.
    """

    makes: ClassVar[tuple[type[Batch], ...]] = (MaskedBatch, HeadSupervisedBatch)
    Config = WordBatchSettings

    def __init__(
        self, corpus: EncodedCorpus, config: WordBatchSettings, *, device: str, epochs: int = 1, held_out: bool = False
    ) -> None:
        self.corpus, self.device = corpus, device
        self.batches = batches_by_words(corpus.lengths, config.batch_words)

    def steps(self, rng: Any, start: int, number: int = 1) -> Iterator[Step]:
        """Batches of one pass after batch ``start``."""
        import torch

        for after, index in enumerate(shuffled(rng, len(self.batches)).tolist()[start:], start + 1):
            chosen = self.batches[index]
            batch = self.corpus.sentences(chosen).to(self.device)
            yield Step(self._masked(batch, chosen, torch.rand(batch.tokens.shape, device=self.device)), after)
        rng.permutation(len(self.batches))

    def check(self) -> Iterator[MaskedBatch]:
        """Every batch with `MASKINGS` maskings, the same at each call."""
        import torch

        generator = torch.Generator().manual_seed(0)
        for chosen in chain.from_iterable([self.batches] * MASKINGS):
            batch = self.corpus.sentences(chosen).to(self.device)
            uniforms = torch.rand(batch.tokens.shape, generator=generator)
            yield self._masked(batch, chosen, uniforms.to(self.device))

    def share(self, start: int) -> float:
        """Share of the batches before ``start``."""
        return start / len(self.batches)

    def _masked(self, batch: SentenceBatch, chosen: np.ndarray, uniforms: Tensor) -> MaskedBatch:
        """The ``chosen`` sentences with random numbers, and with the heads of other parsers if there are any."""
        references = self.corpus.head_references
        if references is None:
            return MaskedBatch(batch.tokens, batch.lengths, uniforms)
        import torch

        heads = references.heads(chosen, self.corpus.lengths[chosen], batch.tokens.shape[1])
        return HeadSupervisedBatch(batch.tokens, batch.lengths, uniforms, torch.from_numpy(heads).to(self.device))
