"""Likelihood of each unit of a text under a model, computed once.

Every score of a text is a sum over its units. A unit is the smallest part of a text for which a model has a likelihood
of its own: a token of a stream, a sentence, or a group of sentences whose masked words are predicted together. T steps,
B columns of a stream, U units.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from induce.data.batches import MaskedBatch, SentenceBatch, StreamBatch, batches_by_cost, map_by_length, pad
from induce.data.loaders import MASKINGS
from induce.layers.products import flushing_denormals
from induce.likelihood.language_model import LanguageModel
from induce.models.base import Loss
from induce.models.language.next_word_model import NextWordModel
from treebank.base.errors import NotANumberError

STREAM_TOKENS = 512  # tokens of a stream that are read at a time
BLOCK_SENTENCES = 512  # sentences that are read at a time
GROUP_WORDS = 512  # words, padding included, of a group of sentences with masked words
CACHE_SIMILARITIES = 2**24  # similarities of states that are held at a time, if the cache is large
SEGMENT_TOKENS = 512  # scored tokens of a segment


class Units(NamedTuple):
    """Consecutive units of a text."""

    nats: np.ndarray  # (U,) negative log-likelihood of each unit
    counts: np.ndarray  # (U,) scored tokens of each unit
    ends: np.ndarray  # (U,) whether the unit is the end of a sentence
    tokens_read: int  # tokens of the text that these units cover

    @property
    def sums(self) -> np.ndarray:
        """Nats and scored tokens of each unit (U, 2)."""
        return np.stack([self.nats, self.counts], 1)


class EncodedText:
    """The sentences of a text as word indices, four bytes per token: index 0 precedes and ends each sentence."""

    def __init__(self) -> None:
        self.ids = array("i", [0])

    def add(self, ids: Sequence[int]) -> None:
        """Append a sentence of one or more words."""
        self.ids.extend(ids)
        self.ids.append(0)

    @property
    def tokens(self) -> int:
        """Number of tokens: words and ends of sentences."""
        return len(self.ids) - 1

    def sentences(self) -> Iterator[list[int]]:
        """Word indices of each sentence."""
        start = 1
        while start < len(self.ids):
            end = self.ids.index(0, start)
            yield self.ids[start:end].tolist()
            start = end + 1

    def blocks(self) -> Iterator[list[list[int]]]:
        """The sentences in blocks of `BLOCK_SENTENCES`."""
        sentences = self.sentences()
        while block := list(islice(sentences, BLOCK_SENTENCES)):
            yield block

    def pieces(self, columns: int, steps: int) -> Iterator[StreamBatch]:
        """The text as a stream in parallel ``columns``, ``steps`` tokens of each at a time.

        Each column is a consecutive part of the text; tokens that do not fill all columns at the end are left out.
        """
        rows = self.tokens // columns
        flat = torch.frombuffer(self.ids, dtype=torch.int32)
        tokens, targets = (flat[first : first + rows * columns].view(columns, rows) for first in (0, 1))
        for start in range(0, rows, steps):
            part = slice(start, start + steps)
            yield StreamBatch(tokens[:, part].t().long().contiguous(), targets[:, part].t().long().contiguous())


def text_units(
    scorer: LanguageModel, text: EncodedText, *, columns: int = 1, cache: Cache | None = None
) -> Iterator[Units]:
    """The units of ``text`` in order, one block at a time.

    ``columns`` and ``cache`` are for models that read a stream; the ends of sentences are known for one column only.
    """
    model = scorer.build()
    if scorer.reads_stream:
        steps = max(1, STREAM_TOKENS // columns)
        if cache is not None:
            steps = max(1, min(steps, CACHE_SIMILARITIES // (columns * cache.size)))
        pieces = (piece.to(scorer.device) for piece in text.pieces(columns, steps))
        return stream_units(model, pieces, cache)
    units = masked_units if scorer.is_masked else sentence_units
    return units(model, text.blocks(), scorer.device)


@torch.inference_mode()
def stream_units(model: Any, pieces: Iterable[StreamBatch], cache: Cache | None = None) -> Iterator[Units]:
    """One unit per token of a stream, whose state is carried from piece to piece.

    A model that does not extend `NextWordModel` has one unit per piece, from its loss.
    """
    state, memory = None, CacheMemory(cache) if cache else None
    for piece in pieces:
        if not isinstance(model, NextWordModel):
            loss = model.loss(piece, state)
            state = loss.state
            yield group_units([loss], piece.token_count)
            continue
        hidden, state = model.predictions(piece.tokens, state)
        targets = piece.targets.flatten()
        log_probabilities = model.target_log_probabilities(hidden.flatten(0, 1), targets).double()
        if memory is not None:
            log_probabilities = memory.mix(hidden, piece.targets, log_probabilities.view(piece.targets.shape)).flatten()
        nats = -log_probabilities.cpu().numpy()
        yield Units(nats, np.ones(len(nats)), (targets == 0).cpu().numpy(), len(nats))


@torch.inference_mode()
def sentence_units(model: Any, blocks: Iterable[Sequence[Sequence[int]]], device: str) -> Iterator[Units]:
    """One unit per sentence, each read by itself.

    The end of a sentence is one of its scored tokens. It is the end-of-sentence token of a model of next words, and the
    last decision of a grammar.
    """

    @flushing_denormals()
    def score(sentences: Sequence[Sequence[int]]) -> list[float]:
        return (-model.log_probability(SentenceBatch(*pad(sentences)).to(device))).tolist()

    for block in blocks:
        nats = np.array(map_by_length(score, block, cost=model.parsing_cost))
        counts = np.array([len(ids) + 1.0 for ids in block])
        yield Units(nats, counts, np.ones(len(block), dtype=bool), int(counts.sum()))


@torch.inference_mode()
def masked_units(model: Any, blocks: Iterable[Sequence[Sequence[int]]], device: str) -> Iterator[Units]:
    """One unit per group of sentences of similar length: the masked words of `MASKINGS` maskings.

    The maskings depend on the text and on the mask rate of the model alone.
    """
    generators = [torch.Generator().manual_seed(seed) for seed in range(MASKINGS)]
    for block in blocks:
        maskings = [[torch.rand(len(ids), generator=generator) for ids in block] for generator in generators]
        for group in batches_by_cost(list(map(len, block)), budget=GROUP_WORDS):
            tokens, lengths = pad([block[index] for index in group])
            losses = []
            for masking in maskings:
                uniforms = pad_sequence([masking[index] for index in group], batch_first=True, padding_value=1.0)
                losses.append(model.loss(MaskedBatch(tokens, lengths, uniforms).to(device)))
            yield group_units(losses, int(lengths.sum()) + len(group))


def group_units(losses: Iterable[Loss], tokens_read: int) -> Units:
    """The one unit that ``losses`` belong to, or none if they scored no token."""
    nats = count = 0.0
    for loss in losses:
        nats += float(loss.nll) * loss.count
        count += loss.count
    units = int(count > 0)
    return Units(np.full(units, nats), np.full(units, count), np.zeros(units, dtype=bool), tokens_read)


def concatenate(units: Iterable[Units]) -> Units:
    """``units`` as one object, in order."""
    nats, counts, ends, read = zip(*units, strict=True)
    return Units(np.concatenate(nats), np.concatenate(counts), np.concatenate(ends), sum(read))


def mean_nats(units: Iterable[Units]) -> tuple[float, int]:
    """Mean nats of the scored tokens, 0 if there are none, and the number of these tokens.

    Raises NotANumberError if they are NaN.
    """
    nats, scored = 0.0, 0
    for part in units:
        nats += float(part.nats.sum())
        scored += int(part.counts.sum())
    if math.isnan(nats):
        raise NotANumberError
    return nats / max(1, scored), scored


def sentence_sums(units: Units) -> np.ndarray | None:
    """Nats and scored tokens of each sentence (S, 2), or None if the units are larger than sentences."""
    ends = np.flatnonzero(units.ends)
    return np.add.reduceat(units.sums, [0, *(ends[:-1] + 1)], axis=0) if len(ends) else None


def segment_sums(units: Units) -> np.ndarray:
    """Nats and scored tokens (S, 2) of segments of about `SEGMENT_TOKENS` tokens: whole units, at least one each."""
    before = units.counts.cumsum() - units.counts
    starts = np.flatnonzero(np.diff(before // SEGMENT_TOKENS)) + 1
    return np.add.reduceat(units.sums, [0, *starts], axis=0)


@dataclass(frozen=True, kw_only=True)
class Cache:
    """Settings of a continuous cache. The defaults are those of the AWD-LSTM program for the Penn Treebank.

    The paper of AWD-LSTM has a cache of 2,000 words.
    """

    size: int = 500  # words that the cache holds
    theta: float = 1.0  # weight of the similarity of states; 0 makes all words of the cache equally probable
    share: float = 0.1  # lambda, the share of the cache in the probability of a word

    def __str__(self) -> str:
        return f"{self.size},theta:{self.theta:g},lambda:{self.share:g}"


class CacheMemory:
    """The states and words that the cache of each column of a stream holds."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self._states: Tensor | None = None  # (S, B, E)
        self._followers: Tensor | None = None  # (S, B), the word after each state

    def mix(self, states: Tensor, targets: Tensor, log_probabilities: Tensor) -> Tensor:
        """log((1 - lambda) p_model + lambda p_cache) of ``targets`` (T, B), and add them to the cache.

        ``states`` (T, B, E) precede the targets; ``log_probabilities`` (T, B) are the model's. The first word of a
        column, when its cache is empty, has the probability that the model assigns.
        """
        size = self.cache.size
        self._states = states if self._states is None else torch.cat((self._states[-size:], states))
        self._followers = targets if self._followers is None else torch.cat((self._followers[-size:], targets))
        by_cache, filled = cache_probability(states, self._states, self._followers, targets, self.cache)
        mixed = torch.lerp(log_probabilities.exp(), by_cache.double(), self.cache.share)
        return torch.where(filled, mixed.log(), log_probabilities)


def cache_probability(
    states: Tensor, memory: Tensor, followers: Tensor, targets: Tensor, cache: Cache
) -> tuple[Tensor, Tensor]:
    """Probability (T, B) of the words ``targets`` (T, B) by the cache alone, and whether the cache is filled (T, 1).

    ``states`` (T, B, E) are the last T of ``memory`` (S + T, B, E); ``followers`` (S + T, B) are the words after the
    states in memory. A step reads the ``cache.size`` states before it: p(w) is proportional to the sum of
    exp(theta x · x_i) over the states that w followed (Grave et al. 2017, section 3).
    """
    position = torch.arange(len(memory), device=states.device)
    current = position[len(memory) - len(states) :, None]
    in_cache = (position < current) & (position >= current - cache.size)  # (T, S + T)
    scores = cache.theta * (states.transpose(0, 1) @ memory.permute(1, 2, 0))  # (B, T, S + T)
    weights = scores.masked_fill(~in_cache, -math.inf).softmax(-1)
    is_target = followers.t()[:, None] == targets.t()[..., None]
    return (weights * is_target).sum(-1).t(), in_cache.any(-1, keepdim=True)
