"""Is the difference between the perplexities of two models on one text more than chance?

A text is cut into units, sentences or segments of consecutive tokens, and the units of both models are resampled, or
exchanged, together. Neighbouring sentences of a stream are not independent; segments are more nearly so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from induce.data.batches import MaskedBatch, SentenceBatch
from induce.data.by_length import batches_by_cost
from induce.data.loaders import pad
from induce.data.sentences import MASKINGS
from induce.models.em.word_probabilities import target_log_probabilities
from induce.storage.checkpoint import Checkpoint, build_model
from treebank.base.errors import SynparseError
from treebank.evaluate.statistics import paired_bootstrap, paired_permutation

SEGMENT = 512  # tokens of a stream, and words of a group of sentences
UNITS = ("sentences", "segments")


class GivenText(Protocol):
    """A model and the text that it was given; `perplexity.TextScorer` is one."""

    checkpoint: Checkpoint
    device: str
    reading: str

    def pieces(self, steps: int) -> Iterator[tuple[Tensor, Tensor]]:
        """The text as one stream: tokens and those that follow (T, 1), ``steps`` at a time."""
        ...

    def encoded(self) -> Iterator[list[int]]:
        """Its sentences in numbers."""
        ...


@dataclass(frozen=True)
class TextComparison:
    """How much higher the perplexity of ``second`` is than that of ``first``, and how easily chance does the same."""

    first: str
    second: str
    units: str  # sentences or segments
    count: int  # of them
    difference: float
    interval: tuple[float, float]  # of the difference, 95 % of the resamples
    bootstrap: float  # p-values
    permutation: float

    def to_json(self) -> dict[str, Any]:
        """The entry of this comparison in the output of ``synparse eval --text FILE --compare --json``."""
        return {
            "systems": [self.first, self.second],
            "units": self.units,
            "count": self.count,
            "difference": self.difference,
            "interval": list(self.interval),
            "p_bootstrap": self.bootstrap,
            "p_permutation": self.permutation,
        }


def compare_texts(scorers: Sequence[GivenText], names: Sequence[str]) -> list[TextComparison]:
    """Every model with the first one, by sentences and by segments; masked models by segments alone.

    Raises SynparseError for one model, and for models whose perplexities do not compare.
    """
    if len(scorers) < 2:
        raise SynparseError("nothing to compare: name a second model with -m")
    sums = [dict(unit_sums(scorer)) for scorer in scorers]
    found = []
    for name, ours in zip(names[1:], sums[1:], strict=True):
        for units in UNITS:
            if units in ours and units in sums[0]:
                found.append(compare_units(names[0], name, units, sums[0][units], ours[units]))
    return found


def compare_units(first: str, second: str, units: str, before: np.ndarray, after: np.ndarray) -> TextComparison:
    """Two models by the sums (units, 2) of nats and tokens of each unit."""
    if not np.array_equal(before[:, 1], after[:, 1]):
        raise SynparseError(f"{first} and {second} do not read the same tokens; their perplexities do not compare")
    rows = before.tolist(), after.tolist()
    low, high, bootstrap = paired_bootstrap(*rows, perplexity_of)
    values = [float(perplexity_of(part.sum(0)[None])[0]) for part in (before, after)]
    permutation = paired_permutation(*rows, perplexity_of)
    return TextComparison(first, second, units, len(before), values[1] - values[0], (low, high), bootstrap, permutation)


def perplexity_of(sums: np.ndarray) -> np.ndarray:
    """Perplexities of sums (…, 2) of nats and tokens."""
    found: np.ndarray = np.exp(sums[:, 0] / sums[:, 1])
    return found


@torch.inference_mode()
def unit_sums(scorer: GivenText) -> Iterator[tuple[str, np.ndarray]]:
    """The sums (units, 2) of nats and tokens of what was added to ``scorer``, for each kind of unit that it has."""
    model = build_model(scorer.checkpoint).to(scorer.device)
    if scorer.reading == "stream":
        nats, ends = stream_nats(model, scorer)
        yield "sentences", _summed(nats, np.flatnonzero(ends)[:-1] + 1)
        yield "segments", _summed(nats, np.arange(SEGMENT, len(nats), SEGMENT))
    elif scorer.reading == "masked":
        yield "segments", masked_sums(model, scorer)
    else:
        rows = sentence_sums(model, scorer)
        yield "sentences", rows
        starts = np.flatnonzero(np.diff(rows[:, 1].cumsum() // SEGMENT)) + 1
        yield "segments", np.add.reduceat(rows, [0, *starts], axis=0)


def stream_nats(model: Any, scorer: GivenText) -> tuple[np.ndarray, np.ndarray]:
    """Nats of each token of a stream in one piece, and whether it is the end of a sentence."""
    state, found, ends = None, [], []
    for tokens, targets in scorer.pieces(SEGMENT):
        output, state = model.predictions(tokens, state)
        wanted = targets.flatten()
        values = target_log_probabilities(output.flatten(0, 1), model.decoder_weight, model.decoder_bias, wanted)
        found.append(-values.double().cpu().numpy())
        ends.append((wanted == 0).cpu().numpy())
    return np.concatenate(found), np.concatenate(ends)


def sentence_sums(model: Any, scorer: GivenText) -> np.ndarray:
    """Nats and tokens, the end included, of each sentence (sentences, 2) by itself."""
    sentences = list(scorer.encoded())
    rows = np.array([[0.0, len(ids) + 1.0] for ids in sentences])
    for chosen in batches_by_cost(list(map(len, sentences)), cost=model.parsing_cost):
        batch = SentenceBatch(*pad([sentences[index] for index in chosen])).to(scorer.device)
        rows[chosen, 0] = -model.log_probability(batch).double().cpu().numpy()
    return rows


def masked_sums(model: Any, scorer: GivenText) -> np.ndarray:
    """Nats and masked words of each group of sentences of like length (groups, 2), in all maskings."""
    sentences = list(scorer.encoded())
    generators = [torch.Generator().manual_seed(number) for number in range(MASKINGS)]
    maskings = [[torch.rand(len(ids), generator=one) for ids in sentences] for one in generators]
    rows = []
    for chosen in batches_by_cost(list(map(len, sentences)), budget=SEGMENT):
        tokens, lengths = pad([sentences[index] for index in chosen])
        total, count = 0.0, 0
        for masking in maskings:
            uniforms = pad_sequence([masking[index] for index in chosen], batch_first=True, padding_value=1.0)
            loss = model.loss(MaskedBatch(tokens, lengths, uniforms).to(scorer.device))
            total += float(loss.nll) * loss.count
            count += loss.count
        if count:
            rows.append([total, float(count)])
    return np.array(rows)


def _summed(nats: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums (units, 2) of nats and tokens between 0, ``starts`` and the end."""
    columns = np.stack([nats, np.ones(len(nats))], 1)
    summed: np.ndarray = np.add.reduceat(columns, [0, *starts.tolist()], axis=0)
    return summed
