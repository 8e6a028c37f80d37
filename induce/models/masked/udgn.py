"""UDGN: unsupervised dependency graph network (Shen 2022, thesis, chapter 4), as in the released program.

The order of this file: the settings, the parser, the undirected mask, one layer of the dependency graph network, the
masked language model. ``docs/reference/models/udgn.md`` maps the thesis's equations to these functions and lists all
differences between the released program, which is followed here, and the thesis.

Shapes: B sentences, N words, E embedding, K channels, D units of a channel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import HeadSupervisedBatch, MaskedBatch, SentenceBatch
from induce.layers.masks import lstm_states, real_words
from induce.models.base import Loss, NotTrained, Query
from induce.models.capabilities import ChannelWeights, GateReading, LayeredStates, LayerStates
from induce.models.distilled.student import head_loss, some_unknown
from induce.models.masked.masked_model import MaskedConfig, MaskedLanguageModel, distributions, without_self
from induce.setting import choice, count, dropout_rate, limited, setting, weight
from induce.structures import HeadDistribution

EDGE = 1e-6  # added to the mask, so that each pair of words stays connected
UNKNOWN_RATE = 0.15  # share of the words that are replaced while heads of teachers are learned

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "elu": functional.elu,
    "identity": lambda x: x,
}
COMPETITIONS: dict[str, Callable[[Tensor], Tensor]] = {  # over the channels, axis 1
    "softmax": lambda scores: scores.softmax(1),
    "sigmoid": torch.sigmoid,
}


@dataclass(frozen=True, kw_only=True)
class UdgnConfig(MaskedConfig):
    """Sizes and rates of a UDGN. The defaults are those of the released program.

    The ablations of table 9 are ``activation="identity"``, ``gates=False``, ``competition="sigmoid"``, one channel with
    the size of all (``channels=1, channel_size=1024``), and ``positions="embedding"``.
    """

    channels: int = count(8, "types of arcs along which messages are sent")
    channel_size: int = count(128, "units of a channel")
    layers: int = limited(8, 1, 1000, "layers of the network")
    parser_layers: int = limited(3, 1, 1000, "layers of the parser")
    locality: float = weight(0.0, "preference for near words as heads; 0 as published")
    tags: int = limited(0, 0, 1e9, "embeddings shared among words (eq. 4.2.1); 5 before the release")
    dropout: float = dropout_rate(0.2, "dropout inside the layers")
    parser_dropout: float = dropout_rate(0.2, "dropout in the parser")
    channel_dropout: float = dropout_rate(0.1, "dropout of the weight of a channel for a pair of words")
    activation: str = choice(
        "tanh", ACTIVATIONS, "activation of the messages of a channel: tanh, identity, relu or elu"
    )
    gates: bool = setting(True, help="whether channels have gates")
    competition: str = choice("softmax", COMPETITIONS, "how channels share an arc: softmax or sigmoid")
    positions: str = setting(
        "bias",  # of the direction, for each channel (section 4.2.4); the released program with an embedding: both
        choices=("bias", "embedding", "both"),
        help="how positions enter: bias (of attention scores), or an embedding",
    )
    scaled_bias: bool = setting(
        True, help="whether the position bias is divided by the root of the channel size; false: as in eq. 4.2.16"
    )
    focus_weight: float = weight(1.0, "weight of the loss of the heads of teachers (--teacher; not in the thesis)")

    @property
    def has_positions(self) -> bool:
        """Whether positions have embeddings."""
        return self.positions != "bias"


class HeadParser(nn.Module):
    """The parser (section 4.2.1): a bidirectional LSTM over the words, then every word chooses its head."""

    def __init__(self, config: UdgnConfig, symbols: int) -> None:
        super().__init__()
        size = config.embedding_size
        self.embedding = nn.Embedding(symbols, size)
        self.tags = nn.Embedding(symbols, config.tags + 1) if config.tags else None
        self.tag_embedding = nn.Linear(config.tags, size, bias=False) if config.tags else None
        between = config.parser_dropout if config.parser_layers > 1 else 0.0
        self.locality = config.locality
        self.lstm = nn.LSTM(size, size, config.parser_layers, batch_first=True, bidirectional=True, dropout=between)
        self.arcs = nn.Linear(2 * size, 2 * size)  # parent, then child (eq. 4.2.4, 4.2.5)
        self.dropout = nn.Dropout(config.parser_dropout)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        if self.tags is not None and self.tag_embedding is not None:
            nn.init.zeros_(self.tags.weight)
            nn.init.uniform_(self.tag_embedding.weight, -0.1, 0.1)
        nn.init.xavier_uniform_(self.arcs.weight)
        nn.init.zeros_(self.arcs.bias)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Scores (B, N, N) of word j as head of word i, i = j included. -inf where j is padding."""
        x = self.embedding(tokens)
        if self.tags is not None and self.tag_embedding is not None:
            # the first class, "no tag", is not in eq. 4.2.2: with it, a word can keep its own embedding alone
            x = x + self.tag_embedding(self.tags(tokens).softmax(-1)[..., 1:])
        hidden = lstm_states(self.lstm, self.dropout(x), lengths)
        parent, child = self.arcs(self.dropout(hidden)).chunk(2, -1)
        scores = child @ parent.transpose(1, 2) / math.sqrt(parent.shape[-1])  # eq. 4.2.6
        if self.locality:
            index = torch.arange(tokens.shape[1], dtype=scores.dtype, device=scores.device)
            scores = scores - self.locality * (index - index[:, None]).abs().clamp(min=1).log()
        return scores.masked_fill(~real_words(tokens, lengths)[:, None], -math.inf)


def undirected(head: Tensor) -> Tensor:
    """Probability (B, N, N) that one of two words heads the other, if each chooses independently (eq. 4.2.8)."""
    back = head.transpose(1, 2)
    return head + back - head * back


class GraphLayer(nn.Module):
    """One layer of the dependency graph network (section 4.2.3): competing, gated channels between all words."""

    def __init__(self, config: UdgnConfig) -> None:
        super().__init__()
        self.config = config
        width = config.channels * config.channel_size
        parts = 4 if config.gates else 3
        self.project = nn.Linear(config.embedding_size, parts * width)  # queries, keys, values, gates (eq. 4.2.9)
        self.output = nn.Linear(width, config.embedding_size)
        self.direction = None
        if config.positions != "embedding":
            self.direction = nn.Parameter(torch.empty(2, config.channels))  # from the left, from the right
            nn.init.uniform_(self.direction, -0.1, 0.1)
        self.dropout = nn.Dropout(config.dropout)
        self.channel_dropout = nn.Dropout(config.channel_dropout)
        for linear in (self.project, self.output):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, mask: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """New states (B, N, E), and the weights (B, K, N, N) with which channels bring word j to word i."""
        query, key, value, *gate = self._projected(x)
        weights = self._competition(query, key) * ((mask + EDGE) * real[:, None])[:, None]  # eq. 4.2.12
        gathered = self.channel_dropout(weights) @ ACTIVATIONS[self.config.activation](value)  # eq. 4.2.13, 4.2.14
        if gate:
            gathered = gathered * gate[0].sigmoid()
        gathered = self.output(self.dropout(gathered.transpose(1, 2).flatten(2)))
        return x + self.dropout(gathered), weights  # eq. 4.2.15

    def chosen(self, x: Tensor) -> Tensor:
        """P(channel k brings word j to word i) (B, K, N, N), before the mask, for states (B, N, E) that enter."""
        query, key, *_ = self._projected(x)
        return self._competition(query, key)

    def _projected(self, x: Tensor) -> Tensor:
        """Queries, keys, values and, if there are any, gates (4 or 3, B, K, N, D) (eq. 4.2.9)."""
        batch, count, _ = x.shape
        parts = self.project(x).view(batch, count, -1, self.config.channels, self.config.channel_size)
        return parts.permute(2, 0, 3, 1, 4)

    def _competition(self, query: Tensor, key: Tensor) -> Tensor:
        """P(channel k brings word j to word i) (B, K, N, N), from queries and keys."""
        scale = math.sqrt(self.config.channel_size)
        scores = query @ key.transpose(2, 3)  # eq. 4.2.10
        if self.direction is None:
            scores = scores / scale
        else:
            square = scores.new_ones(scores.shape[-2:])
            before, after = self.direction[..., None, None]
            bias = before * square.tril(-1) + after * square.triu(1)
            scores = (scores + bias) / scale if self.config.scaled_bias else scores / scale + bias  # eq. 4.2.16
        return COMPETITIONS[self.config.competition](scores)  # eq. 4.2.11


class UdgnOutput(NamedTuple):
    """Output of the network."""

    hidden: Tensor  # (B, N, E), normalized
    mask: Tensor  # (B, N, N): the undirected mask
    weights: list[Tensor]  # of the channels (B, K, N, N), for each layer
    states: list[Tensor]  # (B, N, E) that enter each layer, and those that leave the last


class Udgn(ChannelWeights, GateReading, LayeredStates, MaskedLanguageModel):
    """UDGN masked language model."""

    Config = UdgnConfig
    reads = (MaskedBatch, HeadSupervisedBatch)
    gives = (HeadDistribution,)
    max_positions = 512

    def build(self, symbols: int) -> None:
        """Create the parser and the layers."""
        self.parser = HeadParser(self.config, symbols)
        self.layers = nn.ModuleList(GraphLayer(self.config) for _ in range(self.config.layers))

    def head_distribution(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """P(word j heads word i) (B, N, N), the diagonal set to 0 (eq. 4.2.7). Only the parser runs."""
        return without_self(self.parser(tokens, lengths).softmax(-1))

    def forward(self, tokens: Tensor, lengths: Tensor, *, head: Tensor | None = None) -> UdgnOutput:
        """Run over ``tokens`` (B, N), of which ``lengths`` (B,) are words. ``head`` replaces the parser's."""
        mask = undirected(self.head_distribution(tokens, lengths) if head is None else head)
        real = real_words(tokens, lengths)
        states, weights = [self.dropout(self.embedded(tokens))], []
        for layer in self.layers:
            x, weight = layer(states[-1], mask, real)
            states.append(x)
            weights.append(weight)
        return UdgnOutput(self.norm(states[-1]), mask, weights, states)

    def final_states(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Normalized final states (B, N, E)."""
        output: UdgnOutput = self(tokens, lengths)
        return output.hidden

    def channels(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """P(channel k of a layer brings word j to word i) (B, layers, K, N, N) of unmasked words (eq. 4.2.11).

        The competition of the channels, before the mask. Call it in evaluation mode.
        """
        states = self(tokens, lengths).states[:-1]
        layers = cast("list[GraphLayer]", list(self.layers))
        return torch.stack([layer.chosen(state) for layer, state in zip(layers, states, strict=True)], 1)

    def gates(self, batch: SentenceBatch) -> dict[str, Tensor]:
        """Probabilities (B, N, T + 1) of the T induced tags of each word, after that of no tag (eq. 4.2.2).

        Raises NotTrained if the model has no tags.
        """
        if self.parser.tags is None:
            raise NotTrained("this UDGN has no tags; train one with --set model.tags=5")
        return {"tags": self.parser.tags(batch.tokens).softmax(-1)}

    def layer_states(self, batch: SentenceBatch) -> LayerStates:
        """Hidden states (B, L, N, E) and channel weights (B, L, K, N, N) of each layer, for unmasked words."""
        output: UdgnOutput = self(batch.tokens, batch.lengths)
        return LayerStates(torch.stack(output.states[1:], 1), distributions(torch.stack(output.weights, 1)))

    def loss(self, batch: MaskedBatch, state: None = None) -> Loss:
        """Mean negative log-likelihood of masked words, and with teachers the loss of the heads (ours).

        The parser learns the heads from unmasked words, some of which are replaced by the unknown word.
        """
        loss = super().loss(batch)
        if not isinstance(batch, HeadSupervisedBatch):
            return loss
        tokens = some_unknown(batch.tokens, batch.uniforms, UNKNOWN_RATE) if self.training else batch.tokens
        scores = self.parser(tokens, batch.lengths)
        return replace(loss, objective=loss.objective + self.config.focus_weight * head_loss(scores, batch.heads)[0])

    def structure(self, batch: SentenceBatch, query: Query) -> HeadDistribution:
        """The heads of the parser. The graph network is not run."""
        return HeadDistribution(self.head_distribution(batch.tokens, batch.lengths), batch.lengths)
