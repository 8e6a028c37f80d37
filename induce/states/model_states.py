"""Distances from the hidden states, the attention and the masked words of a trained model of this program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import torch

from induce.data.batches import SentenceBatch
from induce.decoding.hidden_states import MEASURES
from induce.models.base import Model
from induce.models.capabilities import LayeredStates, MaskingImpact
from induce.states.state_trees import IMPACT, StateSource, numbers, parse_source
from induce.states.states_file import SentenceStates
from induce.structures import Distances, Impact, Structure
from treebank.base.errors import SynparseError


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


def structure_of_states(model: Model, batch: SentenceBatch, source: StateSource) -> Structure:
    """The distances, or the impact, of a batch of sentences."""
    if source.measure == IMPACT:
        return Impact(cast(MaskingImpact, model).impact(batch), batch.lengths)
    rows = torch.zeros(batch.tokens.shape, dtype=torch.float64)
    lengths = batch.lengths.tolist()
    states = sentence_states(model, batch, [[""] * length for length in lengths], list(map(range, lengths)))
    for row, sentence in zip(rows, states, strict=True):
        distances = source.row(sentence)
        row[: len(distances)] = torch.tensor(distances, dtype=torch.float64)
    return Distances(rows, batch.lengths)


def sentence_states(
    model: Model, batch: SentenceBatch, words: Iterable[Sequence[str]], indices: Iterable[Sequence[int]]
) -> Iterator[SentenceStates]:
    """States of each sentence of a batch, without padding, with its words and the indices of those in the batch."""
    hidden, attention = (values.cpu().numpy() for values in cast(LayeredStates, model).layer_states(batch))
    for row, (length, names, read) in enumerate(zip(batch.lengths.tolist(), words, indices, strict=True)):
        yield SentenceStates(names, read, hidden[row, :, :length], attention[row, :, :, :length, :length])
