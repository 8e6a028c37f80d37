"""Hidden states and attention of the words of sentences from a trained model, to be written to a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch

from induce.data.batches import SentenceBatch, map_by_length, pad
from induce.data.vocabulary import Normalized
from induce.likelihood.language_model import TextModel
from induce.models.capabilities import LayeredStates
from induce.states.state_parser import sentence_states
from induce.states.state_trees import MAX_STATE_WORDS
from induce.states.states_file import SentenceStates
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

BLOCK_SENTENCES = 128  # sentences whose states are in memory at a time


class StateReader(TextModel):
    """A trained model that gives the hidden states and the attention of sentences."""

    def __init__(self, run: str, *, device: str = "auto") -> None:
        """Raises SynparseError if the model has no attention, or reads characters."""
        super().__init__(run, device=device)
        if not issubclass(self.model_type, LayeredStates):
            raise SynparseError(f"{run}: this {self.name!r} has no attention, so there are no states to write")
        if self.token == "character":
            raise SynparseError(f"{run}: this model reads characters; states are written for models of words")
        self.model: Any = self.build()

    @property
    def max_length(self) -> int | None:
        """Words of the longest sentence whose states it gives."""
        return MAX_STATE_WORDS

    def read(self, sentences: Iterable[Sentence]) -> Iterator[SentenceStates]:
        """The states of the words of each sentence that the model reads, in order. The text is streamed."""
        source = map(self._normalized, sentences)
        while block := list(islice(source, BLOCK_SENTENCES)):
            yield from map_by_length(
                self._states,
                block,
                length=lambda item: len(item[1].forms),
                min_length=1,
                short=lambda item: SentenceStates(item[0], ()),
                cost=self.model.parsing_cost,
            )

    def _normalized(self, sentence: Sentence) -> tuple[Sequence[str], Normalized]:
        read = self.recipe(sentence.words, sentence.tags)
        self.read_units(sentence, read.forms)
        return sentence.words, read

    @torch.inference_mode()
    def _states(self, sentences: Sequence[tuple[Sequence[str], Normalized]]) -> list[SentenceStates]:
        batch = SentenceBatch(*pad([self.vocabulary.encode(read.forms) for _, read in sentences])).to(self.device)
        words, indices = ([words for words, _ in sentences], [read.indices for _, read in sentences])
        return list(sentence_states(self.model, batch, words, indices))
