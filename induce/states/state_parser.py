"""Distances from the hidden states, the attention and the masked words of a trained model, and their parser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import torch

from induce.data.batches import SentenceBatch
from induce.decoding.hidden_states import MEASURES
from induce.models.base import Model
from induce.models.capabilities import LayeredStates, MaskingImpact
from induce.parsing.model_parser import ModelParser
from induce.settings.run import kind_of
from induce.states.state_trees import IMPACT, StateSource, numbers, parse_source
from induce.states.states_file import SentenceStates
from induce.structures import Distances, Impact, Structure
from treebank.base.errors import SynparseError


class StateParser(ModelParser):
    """Parser that applies a decoder to the distances of a `StateSource`."""

    source: StateSource
    default_decoder = ""  # that of the settings reads another structure

    def choose_layer(self, layer: int | None) -> None:
        """Set the source of the distances. Raises SynparseError if the model does not have it."""
        config = self.checkpoint.config
        if self.distances == "syd":
            problem = f"model {self.name!r} has no distances {self.distances!r}: it does not learn from trees"
            raise SynparseError(problem)
        if config.purpose_name:
            raise SynparseError(f"model {self.name!r} has no distances {self.distances!r}: it has learned a task")
        self.source = source_of_model(self.name, kind_of(config), config.model, self.distances, layer)
        self.layer = self.source.layer
        self.gives = (Impact,) if self.source.measure == IMPACT else (Distances,)

    @property
    def source_parts(self) -> list[str]:
        return [*([f"layer:{self.layer}"] if self.layer else []), f"distances:{self.distances}"]

    @property
    def max_length(self) -> int:
        return self.source.max_length

    def structure_of(self, batch: SentenceBatch, trees: int = 1) -> Structure:
        """The distances, or the impact, of a batch of sentences."""
        if self.source.measure == IMPACT:
            return Impact(cast(MaskingImpact, self.model).impact(batch), batch.lengths)
        rows = torch.zeros(batch.tokens.shape, dtype=torch.float64)
        lengths = batch.lengths.tolist()
        states = sentence_states(self.model, batch, [[""] * length for length in lengths], list(map(range, lengths)))
        for row, sentence in zip(rows, states, strict=True):
            distances = self.source.row(sentence)
            row[: len(distances)] = torch.tensor(distances, dtype=torch.float64)
        return Distances(rows, batch.lengths)


def sources_of(kind: type[Model]) -> list[str]:
    """Names of the distances that can be read from models of this class besides their own structures."""
    measures = list(MEASURES) if issubclass(kind, LayeredStates) else []
    return [*measures, *([IMPACT] if issubclass(kind, MaskingImpact) else [])]


def source_of_model(name: str, kind: type[Model], settings: Any, distances: str, layer: int | None) -> StateSource:
    """The source called ``distances`` of the model ``name`` with ``settings``. The default layer is the middle one.

    Raises SynparseError if the model has no such source, layer or head, or if a head is missing.
    """
    source = parse_source(distances, layer or 0)
    if source.measure not in (known := sources_of(kind)):
        hint = f"it has {', '.join(known)}" if known else "it has no attention and predicts no masked words"
        raise SynparseError(f"model {name!r} has no distances {distances!r}; {hint}")
    if source.measure == IMPACT:
        return source
    numbers(source.layer, settings["layers"], "layer")
    numbers(source.head, settings.get("heads", settings.get("channels")), "head")
    if source.has_heads and not source.head:
        average = f"avg-{source.measure}"
        raise SynparseError(
            f"distances {distances!r}: name a head, as in {distances}:1, or use {average} for all heads"
        )
    return StateSource(source.measure, source.layer or (settings["layers"] + 1) // 2, source.head)


def sentence_states(
    model: Model, batch: SentenceBatch, words: Iterable[Sequence[str]], indices: Iterable[Sequence[int]]
) -> Iterator[SentenceStates]:
    """States of each sentence of a batch, without padding, with its words and the indices of those in the batch."""
    hidden, attention = (values.cpu().numpy() for values in cast(LayeredStates, model).layer_states(batch))
    for row, (length, names, read) in enumerate(zip(batch.lengths.tolist(), words, indices, strict=True)):
        yield SentenceStates(names, read, hidden[row, :, :length], attention[row, :, :, :length, :length])
