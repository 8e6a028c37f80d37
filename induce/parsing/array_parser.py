"""Parser of a model that computes with NumPy, without torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from induce import registry
from induce.data.batches import FragmentBatch, SentenceBatch
from induce.data.loaders import pad_arrays
from induce.parsing.model_parser import ModelParser
from induce.settings.run import entry_of
from induce.storage.checkpoint import build_array_model
from induce.structures import Structure


class ArrayParser(ModelParser):
    """A trained model that has a version in NumPy (``ModelEntry.arrays``), with a decoder. It computes on the CPU."""

    def _built_model(self) -> Any:
        return build_array_model(self.checkpoint, self._kind())

    def _kind(self) -> Any:
        return registry.load(entry_of(self.checkpoint.config).arrays)

    def _multiplying(self, words: int) -> AbstractContextManager[None]:
        """Context without effect, because NumPy has only one library for matrix products."""
        return nullcontext()

    def _at_once(self, batches: Sequence[Any]) -> Iterator[list[Any]]:
        return map(self._rows, batches)

    def _scores(self, batch: Sequence[tuple[list[int], Sequence[int]]]) -> list[Any]:
        return list(self.priors.apply(self.ask(self.batch(batch)), batch))

    def batch(self, encoded: Sequence[tuple[list[int], Sequence[int]]]) -> SentenceBatch:
        """Batch of sentences as arrays."""
        tokens, lengths = pad_arrays([ids for ids, _ in encoded])
        gaps, _ = pad_arrays([marks for _, marks in encoded])
        arrays: dict[str, Any] = {"tokens": tokens, "lengths": lengths, "gaps": gaps}
        return FragmentBatch(**arrays)

    def ask(self, batch: SentenceBatch) -> Structure:
        """The structure that the decoder reads."""
        structure: Structure = self.model.structure(batch)
        return structure
