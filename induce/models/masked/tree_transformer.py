"""Tree Transformer: constituents from the links between neighboring words (Wang, Lee & Chen 2019), as in its program.

The order of this file: settings, one layer with constituent attention, masked language model.
``docs/reference/models/tree-transformer.md`` maps the equations of the paper to these functions and lists differences.

Shapes: B sentences, N symbols (the class symbol, then the words), E embedding, K attention heads, L layers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import MaskedBatch, SentenceBatch
from induce.layers.layer_norm import LayerNorm
from induce.layers.masks import real_words
from induce.models.base import Loss, Query
from induce.models.masked.masked_model import MaskedConfig, MaskedLanguageModel
from induce.setting import count, dropout_rate, limited, share, weight
from induce.structures import Brackets, Distances

CLASS = 0  # index of the class symbol before each sentence: the boundary token, which also pads
LINK_SCALE = 256.0  # divisor of the scores of links, whatever the size is
TINY = 1e-9  # added to products and square roots of probabilities
IMPOSSIBLE = 1e9  # minus this: score of a neighbor that does not exist
MASKED, REPLACED = 0.8, 0.1  # shares of the chosen words that are masked, and replaced by a random word


@dataclass(frozen=True, kw_only=True)
class TreeTransformerConfig(MaskedConfig):
    """Sizes and rates. The defaults are those of the released program."""

    mask_rate: float = weight(1 / 7, "share of the words that are predicted")
    heads: int = count(8, "attention heads")
    layers: int = limited(10, 1, 1000, "layers of the network")
    feedforward_size: int = count(2048, "units of the feed-forward layers")
    dropout: float = dropout_rate(0.1, "dropout inside the layers")
    threshold: float = share(0.8, "strongest link at which a span is split")
    part_threshold: float = share(0.7, "link above which a part of a span is treated one layer lower")
    lowest_layer: int = count(3, "lowest layer, from 1, that splits spans")

    has_positions = False  # sinusoids instead of an embedding

    def check(self) -> None:
        """Raises ValueError if the settings do not fit together."""
        super().check()
        if self.embedding_size % self.heads:
            raise ValueError(f"embedding_size = {self.embedding_size} is not a multiple of heads = {self.heads}")
        if self.embedding_size == 1:
            raise ValueError("embedding_size = 1 must be at least 2, because states are normalized")


class TreeLayer(nn.Module):
    """One layer: links between neighbors, self-attention within constituents, and a feed-forward network."""

    def __init__(self, config: TreeTransformerConfig) -> None:
        super().__init__()
        size, self.heads = config.embedding_size, config.heads
        self.link_norm = LayerNorm(size)
        self.link = nn.Linear(size, 2 * size)  # queries, keys of the constituent attention
        self.norm = LayerNorm(size)
        self.project = nn.Linear(size, 3 * size)  # queries, keys, values
        self.output = nn.Linear(size, size)
        self.feedforward_norm = LayerNorm(size)
        self.widen = nn.Linear(size, config.feedforward_size)
        self.narrow = nn.Linear(config.feedforward_size, size)
        self.dropout = nn.Dropout(config.dropout)

    def links(self, x: Tensor, real: Tensor, prior: Tensor) -> Tensor:
        """Probability (B, N - 1) that symbols i and i + 1 are in one constituent (sections 4.1 and 4.2).

        ``prior`` (B, N - 1) is that of the layer below, 0 in the first layer. A symbol links to its left or right
        neighbor, and two symbols are linked if both choose each other.
        """
        query, key = self.link(self.link_norm(x)).chunk(2, -1)
        right = (query[:, :-1] * key[:, 1:]).sum(-1) / LINK_SCALE
        left = (query[:, 1:] * key[:, :-1]).sum(-1) / LINK_SCALE
        right = functional.pad(right.masked_fill(~real[:, 1:], -IMPOSSIBLE), (0, 1), value=-IMPOSSIBLE)
        left = functional.pad(left, (1, 0), value=-IMPOSSIBLE)
        preference = right - left
        both = preference[:, :-1].sigmoid() * (-preference[:, 1:]).sigmoid()
        return prior + (1 - prior) * (both + TINY).sqrt()

    def attention(self, x: Tensor, real: Tensor, prior: Tensor) -> tuple[Tensor, Tensor]:
        """Weights (B, K, N, N) of symbol i on symbol j, times the constituent prior (B, N, N), and values.

        The weights are not normalized again.
        """
        query, key, value = self.project(self.norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        return scores.masked_fill(~real[:, None, None], -math.inf).softmax(-1) * prior[:, None], value

    def forward(self, x: Tensor, real: Tensor, prior: Tensor) -> Tensor:
        """New states (B, N, E) under the constituent ``prior`` (B, N, N). ``real`` (B, N) is false at padding."""
        weights, value = self.attention(x, real, prior)
        gathered = (self.dropout(weights) @ value).transpose(1, 2).flatten(2)
        x = x + self.dropout(self.output(gathered))
        hidden = self.dropout(functional.gelu(self.widen(self.feedforward_norm(x))))
        return x + self.dropout(self.narrow(hidden))


def constituent_prior(links: Tensor, itself: float) -> Tensor:
    """Probability (B, N, N) that two symbols are in one constituent: the product of the links between them.

    ``itself`` is the value on the diagonal.
    """
    before = functional.pad((links + TINY).log(), (1, 0)).cumsum(1)
    upper = torch.ones(before.shape[1], before.shape[1], dtype=torch.bool, device=links.device).triu(1)
    product = (before[:, None] - before[..., None]).masked_fill(~upper, -math.inf).exp()
    prior = product + product.transpose(1, 2) + TINY
    return prior.masked_fill(torch.eye(before.shape[1], dtype=torch.bool, device=links.device), itself)


def positions(length: int, size: int, like: Tensor) -> Tensor:
    """Sinusoids (N, E) of the positions, with sines in even and cosines in odd dimensions (Vaswani et al. 2017)."""
    dimension = torch.arange(size, dtype=like.dtype, device=like.device)
    rate = 10_000 ** (-2 * (dimension / 2).floor() / size)
    angle = torch.arange(length, dtype=like.dtype, device=like.device)[:, None] * rate
    return torch.where(dimension % 2 == 0, angle.sin(), angle.cos())


class TreeOutput(NamedTuple):
    """Output of the network, with one entry for each layer."""

    hidden: Tensor  # (B, N, E), normalized
    states: list[Tensor]  # (B, N, E) that enter each layer, and those that leave the last
    links: list[Tensor]  # (B, N - 1)
    priors: list[Tensor]  # (B, N, N): constituent priors


class TreeTransformer(MaskedLanguageModel):
    """Tree Transformer masked language model."""

    Config = TreeTransformerConfig
    gives = (Brackets, Distances)
    max_length: ClassVar[int | None] = 5_000  # whose priors fit into a few gigabytes

    def __init__(self, config: TreeTransformerConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        self.norm = LayerNorm(config.embedding_size)
        self.dropout = nn.Identity()  # the program has no dropout before the output layer
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def build(self, symbols: int) -> None:
        """Create the layers and the output embeddings."""
        self.layers = nn.ModuleList(TreeLayer(self.config) for _ in range(self.config.layers))
        self.decoder = nn.Embedding(symbols, self.config.embedding_size)
        self.input_dropout = nn.Dropout(self.config.dropout)

    @property
    def decoder_weight(self) -> Tensor:
        """Output embeddings (V, E), which are not those of the input."""
        return self.decoder.weight

    def embedded(self, tokens: Tensor) -> Tensor:
        """Embeddings (B, N, E) of symbols, plus sinusoids of their positions."""
        x = self.embedding(tokens) * math.sqrt(self.config.embedding_size)
        return x + positions(x.shape[1], x.shape[2], x)

    def forward(self, tokens: Tensor, lengths: Tensor) -> TreeOutput:
        """Run over ``tokens`` (B, N), the class symbol included. ``lengths`` (B,) are numbers of symbols."""
        real = real_words(tokens, lengths)
        states, links, priors = [self.input_dropout(self.embedded(tokens))], [], []
        prior, itself = states[0].new_zeros(()), 0.0
        for layer in cast("list[TreeLayer]", list(self.layers)):
            links.append(layer.links(states[-1], real, prior))
            itself += (1 - itself) * math.sqrt(TINY)  # no symbol is its own neighbor
            priors.append(constituent_prior(links[-1], itself))
            states.append(layer(states[-1], real, priors[-1]))
            prior = links[-1] + 2 * TINY  # the constituent prior of neighbors
        return TreeOutput(self.norm(states[-1]), states, links, priors)

    def with_class(self, tokens: Tensor, lengths: Tensor) -> TreeOutput:
        """Output for ``tokens`` (B, N) without the class symbol, which is put before each sentence."""
        return self(functional.pad(tokens, (1, 0), value=CLASS), lengths + 1)

    def final_states(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Normalized final states (B, N, E) of ``tokens`` (B, N), of which ``lengths`` (B,) are words."""
        return self.with_class(tokens, lengths).hidden[:, 1:]

    def loss(self, batch: MaskedBatch, state: None = None) -> Loss:
        """Mean negative log-likelihood of the words whose random number is less than the mask rate.

        Of these, 80 % are masked, 10 % replaced by another word, and 10 % left as they are.
        """
        tokens, rank = batch.tokens, batch.uniforms / self.config.mask_rate
        chosen = (rank < 1) & (tokens > 1)  # neither padding nor unknown words
        words = self.mask_symbol - 2
        drawn = 2 + ((rank - MASKED) / REPLACED * words).long().clamp(0, max(0, words - 1))
        inputs = torch.where(chosen & (rank < MASKED + REPLACED), drawn, tokens)
        inputs = inputs.masked_fill(chosen & (rank < MASKED), self.mask_symbol)
        return self.masked_loss(inputs, batch.lengths, tokens, chosen)

    def structure(self, batch: SentenceBatch, query: Query) -> Brackets | Distances:
        """Trees of any arity, decoded from layer ``query.layer`` (from 1) downward, or the distances of that layer.

        A distance is the probability that the gap is not a link; it is 1 before the first word.
        """
        links = torch.stack(self.with_class(batch.tokens, batch.lengths).links[: query.layer], 1)[..., 1:]
        if query.structure is Distances:
            return Distances(functional.pad(1 - links[:, -1], (1, 0), value=1.0), batch.lengths)
        config, trees = self.config, []
        for rows, length in zip(links.tolist(), batch.lengths.tolist(), strict=True):
            cut = [row[: length - 1] for row in rows] if length > 1 else [[]]
            lowest, limits = config.lowest_layer - 1, (config.threshold, config.part_threshold)
            trees.append(link_brackets(cut, threshold=limits[0], part_threshold=limits[1], lowest=lowest))
        return Brackets(trees, batch.lengths)

    def parsing_cost(self, length: int) -> float:
        """Quadratic in the length, because of the constituent priors."""
        return length + 2.0 + length**2 / 64


def link_brackets(
    links: Sequence[Sequence[float]], *, threshold: float = 0.8, part_threshold: float = 0.7, lowest: int = 2
) -> list[tuple[int, int]]:
    """Brackets of a tree of any arity by the rule of Tree Transformer (Wang et al. 2019).

    ``links`` has one row for each layer, lowest first; entry k is the probability that words k and k + 1 are in one
    constituent. The sentence is split at the top layer. A span is split at its weakest link, the first one on ties, if
    that link is at most ``threshold``. Otherwise, the layer below decides, and a span that layer ``lowest`` (from 0)
    does not split is flat. A part is treated at the same layer, or at the layer below if all its links are above
    ``part_threshold``. The result contains the full-sentence span.

    >>> sorted(link_brackets([[0.9, 0.4, 0.9], [0.9, 0.5, 0.9]], lowest=0))
    [(0, 2), (0, 4), (2, 4)]
    """
    top, count = len(links) - 1, len(links[-1]) + 1
    lowest = min(lowest, top)
    spans = []
    pending = [(0, count, top)] if count > 1 else []
    for start, end, first in pending:  # the loop appends to this list
        spans.append((start, end))
        layer = first
        while layer > lowest and min(links[layer][start : end - 1]) > threshold:
            layer -= 1
        gaps = links[layer][start : end - 1]
        if end - start == 2 or min(gaps) > threshold:
            continue
        middle = start + gaps.index(min(gaps)) + 1
        for left, right in ((start, middle), (middle, end)):
            if right - left > 1:
                is_joined = min(links[layer][left : right - 1]) > part_threshold
                pending.append((left, right, max(lowest, layer - 1) if is_joined else layer))
    return spans
