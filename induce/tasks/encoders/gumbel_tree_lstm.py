"""Gumbel Tree-LSTM (Choi, Yoo and Lee 2018): a TreeLSTM that joins the neighbors which a learned query scores highest.

Read from the top: the settings, the choice of a pair, the encoder with its recurrence, the classifier of
the released program. ``docs/reference/models/gumbel-tree-lstm.md`` maps the paper to these functions.

Shapes: R expressions, N words of the longest one, M nodes that are left, D units. A state is [h; c], 2 D units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.layers.masks import real_words
from induce.setting import choice, count, equal, limited, setting, unequal
from induce.structures import Brackets
from induce.tasks.encoders.base import Encoder
from induce.tasks.encoders.trees import LeafConfig, Leaves, join_states
from induce.tasks.examples import ExampleBatch, Side
from treebank.core.tree import Span, pre_order

EPSILON = 1e-20  # as in the released program: inside both logarithms, and added to each probability
FORGET = 1.0  # added to both forget gates of the composition


CLASSIFIES = unequal("task.name", "similarity")
RELEASED = CLASSIFIES & equal("model.head", "released")


@dataclass(frozen=True, kw_only=True)
class GumbelTreeLstmConfig(LeafConfig):
    """Sizes and rates. The defaults are those of ListOps in Nangia and Bowman (2018)."""

    temperature: float = limited(1.0, 0.01, 100.0, "temperature of the choice in training")
    scaled: bool = setting(True, help="divide scores of pairs by the root of hidden_size (released) or not (paper)")
    head: str = choice(
        "task",
        ("task", "released"),
        "classifier: that of all models of the task, or that of the released program",
        when=CLASSIFIES,
    )
    head_size: int = count(
        1024,
        "units of each hidden layer of the released classifier",
        when=RELEASED,
    )
    head_layers: int = limited(1, 0, 100, "hidden layers of the released classifier", when=RELEASED)
    head_norm: bool = setting(
        True,
        help="batch normalization in the released classifier",
        when=RELEASED,
    )


def choose(logits: Tensor, valid: Tensor, noise: Tensor | None, temperature: float) -> Tensor:
    """One-hot choice (R, M) among ``valid`` candidates, the first one with the highest probability.

    With ``noise``, uniform random numbers (R, M), it is a sample with the gradient of the softmax: the straight-through
    Gumbel softmax.
    """
    if noise is not None:
        logits = (logits - (-(noise + EPSILON).log() + EPSILON).log()) / temperature
    soft = logits.softmax(-1) * valid + EPSILON
    soft = soft / soft.sum(-1, keepdim=True)
    hard = functional.one_hot(soft.argmax(-1), soft.shape[-1]).to(soft)
    return hard if noise is None else hard - soft.detach() + soft


class Merges(NamedTuple):
    """The steps of a bottom-up parse."""

    root: Tensor  # (R, 2 D): state of the last node
    logits: list[Tensor]  # of each step with a choice, (R, M - 1)
    choices: list[Tensor]  # one-hot choices of these steps, (R, M - 1)


class GumbelTreeLstm(Encoder):
    """Gumbel Tree-LSTM. The vector is the hidden state of the root."""

    Config = GumbelTreeLstmConfig
    gives = (Brackets,)
    length_groups = 8

    def __init__(self, config: GumbelTreeLstmConfig, symbols: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(symbols, config.words)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.leaves = Leaves(config)
        self.size = size = self.leaves.size
        self.gates = nn.Linear(2 * size, 5 * size)
        nn.init.orthogonal_(self.gates.weight)
        nn.init.zeros_(self.gates.bias)
        self.query = nn.Parameter(torch.randn(size) * 0.01)
        self.uniform: Callable[[Tensor], Tensor] = torch.rand_like  # random numbers of the shape of its argument
        self.head: ReleasedHead | None = None

    def set_sides(self, sides: int) -> None:
        """Add the released classifier, if it is requested, for examples of ``sides`` expressions."""
        super().set_sides(sides)
        if self.config.head == "released":
            self.joins_sides, self.whole_batch = True, (ExampleBatch,) if self.config.head_norm else ()
            self.head = ReleasedHead(self.size, sides, self.config)
            self.size = self.head.size

    def forward(self, tokens: Tensor, lengths: Tensor, trees: Sequence[Side]) -> Tensor:
        """Vectors (R, D) of expressions, or those of examples for the released classifier."""
        vectors = self.parse(self.embedding(tokens), lengths).root.chunk(2, -1)[0]
        return vectors if self.head is None else self.head(vectors)

    def parse(self, x: Tensor, lengths: Tensor) -> Merges:
        """Join neighbors of the embedded words ``x`` (R, N, E) until one node is left."""
        lengths = lengths.to(x.device)
        state = self.leaves(self.dropout(x), lengths)
        scale = self.config.hidden_size**-0.5 if self.config.scaled else 1.0
        logits, choices = [], []
        for step in range(1, x.shape[1]):
            left, right = state[:, :-1], state[:, 1:]
            new = join_states(self.gates, left, right, forget=FORGET)
            if step < x.shape[1] - 1:
                logits.append(new.chunk(2, -1)[0] @ self.query * scale)
                valid = real_words(logits[-1], lengths - step)
                noise = self.uniform(logits[-1]) if self.training else None
                choices.append(choose(logits[-1], valid, noise, self.config.temperature))
                chosen = choices[-1][..., None]
                until = chosen.cumsum(1)
                new = chosen * new + (1 - until) * left + (until - chosen) * right
            state = torch.where((step < lengths)[:, None, None], new, left)
        return Merges(state[:, 0], logits, choices)

    def structure(self, tokens: Tensor, lengths: Tensor) -> Brackets:
        """The trees of ``tokens`` (R, N)."""
        choices = self.parse(self.embedding(tokens), lengths).choices
        steps = torch.stack([choice.argmax(-1) for choice in choices], 1).tolist() if choices else [[]] * len(tokens)
        rows = zip(steps, lengths.tolist(), strict=True)
        return Brackets([merged_spans([*row[: length - 2], 0], length) for row, length in rows], lengths)


def merged_spans(steps: Sequence[int], length: int) -> list[Span]:
    """Spans in pre-order of a tree whose ``steps`` each join two nodes: the one at this position, and the next."""
    nodes = [(word, word + 1) for word in range(length)]
    spans = []
    for position in steps[: length - 1]:
        nodes[position : position + 2] = [(nodes[position][0], nodes[position + 1][1])]
        spans.append(nodes[position])
    return sorted(spans, key=pre_order)


class BatchNorm(nn.BatchNorm1d):
    """Batch normalization that applies the running statistics to a batch of one row."""

    def forward(self, input: Tensor) -> Tensor:
        """``input`` (B, D), normalized."""
        if len(input) > 1 or not self.training:
            return super().forward(input)
        return functional.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)


class ReleasedHead(nn.Module):
    """The classifier of the released program, without its output layer.

    It normalizes the vector of a sentence, or [u; v; |u - v|; u v] of a pair, over the batch, and applies hidden
    layers with ReLUs and another normalization.
    """

    def __init__(self, size: int, sides: int, config: GumbelTreeLstmConfig) -> None:
        super().__init__()
        self.sides = sides
        sizes = [size if sides == 1 else 4 * size, *[config.head_size] * config.head_layers]
        self.size = sizes[-1]
        self.input_norm, self.output_norm = (
            BatchNorm(width) if config.head_norm else nn.Identity() for width in (sizes[0], sizes[-1])
        )
        self.dropout = nn.Dropout(config.classifier_dropout)
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(sizes))

    def forward(self, vectors: Tensor) -> Tensor:
        """Vectors (B, H) of examples.

        ``vectors`` (R, D) are those of all first sides, then of all second ones.
        """
        if self.sides == 2:
            u, v = vectors.chunk(2)
            vectors = torch.cat((u, v, (u - v).abs(), u * v), -1)
        x = self.dropout(self.input_norm(vectors))
        for layer in self.layers:
            x = layer(x).relu()
        return cast(Tensor, self.output_norm(x))
