"""PRPN-SYD: PRPN with a second set of distances that learns from trees (Du et al. 2020, section 6 and appendix A.4).

Only the parsing network differs from PRPN. No code was published, and the paper names no sizes; our choices are listed
in ``docs/reference/models/syd.md``.

Shapes: T steps, B sentences or streams, E embedding, H hidden units, P units of the parsing network, L words of
look-back, S slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import Batch, SentenceBatch, StreamBatch, SupervisedBatch, SupervisedStreamBatch
from induce.layers.masks import dropped, scaled_mask
from induce.models.base import Loss, Query, bounded, gold_distances, next_words
from induce.models.language.prpn import (
    Parsing,
    Prpn,
    PrpnConfig,
    PrpnMasks,
    gate_kind,
    parsing_from_distances,
    parsing_start,
)
from induce.models.language.ranking import SupervisionConfig
from induce.setting import count
from induce.structures import Distances


@dataclass(frozen=True, kw_only=True)
class PrpnSydConfig(SupervisionConfig, PrpnConfig):
    """Settings of PRPN, and of the supervision."""

    parsing_size: int = count(400, "units of the second LSTM and of both feed-forward networks")

    def check(self) -> None:
        """Raises ValueError if the values do not fit together."""
        super().check()
        if not self.parsing_network:
            raise ValueError("parsing_network = false leaves nothing that could learn from trees")
        if self.separate_guess:
            raise ValueError("separate_guess = true is for prpn; this parsing network is another one")


class SydParsingState(NamedTuple):
    """State from which the distances of the next segment follow."""

    window: Tensor  # (L, B, E): the last outputs of the first LSTM, zeros before the start
    distances: Tensor  # (B, S): the last ones, oldest first, +inf before the start
    word_h: Tensor  # (1, B, E)
    word_c: Tensor  # (1, B, E)
    gap_h: Tensor  # (1, B, P)
    gap_c: Tensor  # (1, B, P)


class SydParsingMasks(NamedTuple):
    """Dropout masks of the parsing network."""

    words: Tensor | None  # (T, B, E)
    hidden: Tensor | None  # (B, H, T)
    gaps: Tensor | None  # (T, B, P)


class SydParsingNetwork(nn.Module):
    """Two sets of distances: LSTM over words, convolution, LSTM over gaps, a feed-forward network for each set."""

    def __init__(self, config: PrpnSydConfig) -> None:
        super().__init__()
        self.config = config
        words, units, size = config.embedding_size, config.hidden_size, config.parsing_size
        self.words = nn.LSTM(words, words)
        self.convolution = nn.Conv1d(words, units, config.lookback + 1)
        self.normalization = nn.BatchNorm1d(units)
        self.gaps = nn.LSTM(units, size)
        self.to_distances = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 2))  # and guesses
        # without a bias, because only the order matters
        self.to_supervised = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, 1, bias=False))

    def initial_state(self, batch: int) -> SydParsingState:
        """Before any word: zeros, and distances that close every gate."""
        start = parsing_start(self.config, batch, self.convolution.weight)
        word, gap = (start.embeddings.new_zeros(1, batch, lstm.hidden_size) for lstm in (self.words, self.gaps))
        return SydParsingState(*start, word, word, gap, gap)

    def draw_masks(self, steps: int, batch: int) -> SydParsingMasks:
        """Fresh masks for one segment."""
        config, like, rate = self.config, self.convolution.weight, self.config.inner_dropout
        return SydParsingMasks(
            scaled_mask(like, rate, steps, batch, config.embedding_size),
            scaled_mask(like, rate, batch, config.hidden_size, steps),
            scaled_mask(like, rate, steps, batch, config.parsing_size),
        )

    def forward(self, words: Tensor, state: SydParsingState, masks: SydParsingMasks | None = None) -> Parsing:
        """Distances and gates of the embedded ``words`` (T, B, E)."""
        read, word_state = self.words(dropped(words, masks and masks.words), (state.word_h, state.word_c))
        window = torch.cat((state.window, read))  # (L + T, B, E)
        hidden = self.normalization(self.convolution(window.permute(1, 2, 0))).relu()
        hidden = dropped(hidden, masks and masks.hidden).permute(2, 0, 1)  # (T, B, H)
        gaps, gap_state = self.gaps(hidden, (state.gap_h, state.gap_c))
        gaps = dropped(gaps, masks and masks.gaps)
        both = self.to_distances(gaps)
        distance, guess = (both.sigmoid() if self.config.distance == "sigmoid" else both.relu()).unbind(-1)
        last = window[len(words) :]
        kind = gate_kind(self.config, training=self.training)
        parsing = parsing_from_distances(distance.t(), guess.t(), last, state, kind, self.config.resolution)
        supervised = self.to_supervised(gaps)[..., 0].t()
        carried = SydParsingState(last, parsing.state.distances, *word_state, *gap_state)
        return parsing._replace(state=carried, supervised=supervised)


class PrpnSyd(Prpn):
    """PRPN language model whose parsing network also learns the distances of given trees."""

    Config = PrpnSydConfig
    reads: ClassVar[tuple[type[Batch], ...]] = (SupervisedStreamBatch, SupervisedBatch)
    config: PrpnSydConfig
    parsing_network: ClassVar[Any] = SydParsingNetwork

    def loss(
        self, batch: StreamBatch | SentenceBatch, state: list[Any] | None = None, *, masks: PrpnMasks | None = None
    ) -> Loss:
        """Loss of the language model as `Prpn.loss` has it. Of a batch with gold distances, NaN without, eq. 19."""
        words, gold = next_words(batch), gold_distances(batch)
        result = self.run(words, state, masks)
        loss = self.language_loss(result, words)
        if gold is None:
            return loss
        assert result.parsing.supervised is not None
        return self.config.with_trees(loss, result.parsing.supervised.t(), gold, words.tokens)

    def structure(self, batch: SentenceBatch, query: Query) -> Distances:
        """The supervised distances (``syd``), or those of the language model (``lm``)."""
        words = functional.embedding(bounded(batch.tokens).t(), self.embedding.weight)
        parsing = cast(SydParsingNetwork, self.parsing)
        result = parsing(words, parsing.initial_state(len(batch.tokens)))
        values = result.supervised if query.distances == "syd" else result.distance
        return Distances(values[:, 1:-1], batch.lengths)
