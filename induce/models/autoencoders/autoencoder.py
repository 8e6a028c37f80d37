"""Charts of DIORA and S-DIORA: cells and scores of all spans (inside) and of their contexts (outside).

Shapes: B sentences of one length, N words, V vocabulary, E word vectors, H units. The *cell* of a span is its vector,
or its output and its memory in a tree LSTM: C = H or 2 H numbers. The L spans of one width are a matrix (L B, ...),
ordered by start and then by sentence, and the K ways to make a cell from two others come first: (K, L B, ...).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from induce.data.batches import FragmentBatch, SpanSupervisedBatch
from induce.models.autoencoders.composition import Composition, Elements
from induce.models.base import Model
from induce.setting import choice, count
from induce.structures import Brackets, SpanScores, Structure

MIN_WEIGHT = 1e-30  # of a span; its logarithm must be finite
VECTOR_DEVIATION = 0.1  # standard deviation of the first word vectors

Penalties = dict[int, Tensor]  # (L B,): added to the scores of spans, by the number of words of the span


@dataclass(frozen=True, kw_only=True)
class AutoencoderConfig:
    """Sizes, and the distribution of the first weights."""

    embedding_size: int = count(100, "units of a word vector")
    hidden_size: int = count(64, "units of the vector of a span")
    initialization: str = choice(
        "fan-in",
        ("fan-in", "normal"),
        "fan-in: variance 1 / inputs; normal: variance 1, as published for pretrained word vectors",
    )


class SpanVectors(NamedTuple):
    """Cells and scores of all spans, by the number of words of the span, and what `merge` says about their pairs."""

    cells: dict[int, Tensor]  # (L B, C), or (L B, entries, C)
    scores: dict[int, Tensor]  # (L B,), or (L B, entries)
    pairs: dict[int, Tensor]  # of spans of at least two words


class ChartAutoencoder(Model):
    """A model that computes vectors of all spans and of their contexts, which must identify the words.

    A subclass defines `merge`, which makes the cells of spans from pairs of smaller ones, and `single`.
    """

    reads = (FragmentBatch, SpanSupervisedBatch)
    gives: ClassVar[tuple[type[Structure], ...]] = (SpanScores, Brackets)
    shortest = 2
    max_length: ClassVar[int | None] = 2_000  # whose chart fits into a few gigabytes
    measure = "reconstruction loss"
    parent_first: ClassVar[bool] = False  # in a pair of a sibling and the context of the parent

    def __init__(
        self,
        config: AutoencoderConfig,
        vocabulary_size: int,
        composition: str = "mlp",
        *,
        unit_length: bool = True,
        learned_root: bool = True,
    ) -> None:
        super().__init__()
        size, self.lstm = config.hidden_size, composition == "tree-lstm"
        self.size = size
        self.embedding = nn.Embedding(vocabulary_size, config.embedding_size)
        self.projection = nn.Linear(config.embedding_size, size, bias=False)
        self.candidates = nn.Linear(config.embedding_size, size, bias=False)
        self.leaf = nn.Linear(size, 3 * size if self.lstm else size, bias=False)
        self.inside = Composition(size, lstm=self.lstm, unit_length=unit_length, forget_offset=1.0)
        is_shared = composition == "mlp-shared"
        self.outside = None if is_shared else Composition(size, lstm=self.lstm, unit_length=unit_length)
        self.root_projection = None if learned_root else nn.Linear(size, size, bias=False)
        root_size = size * (self.lstm + learned_root)
        self.root = nn.Parameter(torch.empty(root_size)) if root_size else None
        self._initialize(config.initialization)

    def _initialize(self, initialization: str) -> None:
        for parameter in self.parameters():
            nn.init.normal_(parameter)
        if initialization == "normal":
            return
        nn.init.normal_(self.embedding.weight, std=VECTOR_DEVIATION)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=module.in_features**-0.5)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def merge(
        self, function: Composition, firsts: Elements, seconds: Elements, count: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Cells and scores of spans that ``function`` composes of ``count`` pairs each, and numbers about the pairs."""
        raise NotImplementedError

    def single(self, cells: Tensor) -> tuple[Tensor, Tensor]:
        """Cells and scores of words or roots with the given ``cells`` (M, C), which are not composed of pairs."""
        raise NotImplementedError

    def leaves(self, tokens: Tensor) -> Tensor:
        """Cells (N B, C) of the words ``tokens`` (B, N)."""
        hidden = self.leaf(self.projection(self.embedding(tokens.t().flatten())))
        hidden = hidden + self.inside.second.bias[: hidden.shape[1]]
        if not self.lstm:
            return self.inside.scaled(hidden.tanh())
        candidate, update, output = hidden.chunk(3, -1)
        memory = update.sigmoid() * candidate.tanh()
        return self.inside.scaled(torch.cat([output.sigmoid() * memory.tanh(), memory], -1))

    def root_cells(self, cells: Tensor) -> Tensor:
        """Cells (B, C) of the context of full sentences, given their inside ``cells`` (B, C) or (B, entries, C)."""
        parts = [] if self.root is None else [self.root.expand(len(cells), -1)]
        if self.root_projection is not None:
            parts.insert(0, self.root_projection(cells[:, : self.size]))
        return self.inside.scaled(torch.cat(parts, -1))

    def inside_chart(self, tokens: Tensor, penalties: Penalties | None = None) -> SpanVectors:
        """Cells of the words of all spans, for sentences ``tokens`` (B, N).

        Pair k consists of the first k + 1 words of the span and the others. ``penalties`` are added to the scores.
        """
        batch, size = tokens.shape
        chart = SpanVectors({}, {}, {})
        lefts: dict[int, Tensor] = {}
        rights: dict[int, Tensor] = {}
        for width in range(1, size + 1):
            if width == 1:
                cells, scores = self.single(self.leaves(tokens))
            else:
                rows = (size - width + 1) * batch
                splits = [(k, width - k, slice(k * batch, k * batch + rows)) for k in range(1, width)]
                cells, scores, chart.pairs[width] = self.merge(
                    self.inside,
                    [(lefts[left][:rows], chart.scores[left][:rows]) for left, _, _ in splits],
                    [(rights[right][after], chart.scores[right][after]) for _, right, after in splits],
                    width - 1,
                )
            lefts[width], rights[width] = self.inside.first_operand(cells), self.inside.second_operand(cells)
            chart.cells[width], chart.scores[width] = cells, penalized(scores, penalties, width)
        return chart

    def outside_chart(self, inside: SpanVectors, batch: int, penalties: Penalties | None = None) -> SpanVectors:
        """Cells of the contexts of all spans of ``batch`` sentences, given their `inside_chart`.

        A context is composed of a sibling and the context of the parent, in the same order on both sides.
        """
        size = len(inside.cells)
        chart = SpanVectors({}, {}, {})
        function = self.outside or self.inside
        operands = (function.second_operand, function.first_operand)
        of_sibling, of_parent = operands if self.parent_first else reversed(operands)
        siblings = {width: of_sibling(inside.cells[width]) for width in range(1, size)}
        parents: dict[int, Tensor] = {}
        for width in range(size, 0, -1):
            if width == size:
                cells, scores = self.single(self.root_cells(inside.cells[size]))
            else:
                pairs = sibling_pairs(size, width, batch)
                of_pairs = (
                    [(siblings[sibling][rows], inside.scores[sibling][rows]) for sibling, rows, _ in pairs],
                    [(parents[parent], chart.scores[parent]) for _, _, parent in pairs],
                )
                firsts, seconds = reversed(of_pairs) if self.parent_first else of_pairs
                cells, scores, chart.pairs[width] = self.merge(function, firsts, seconds, size - width)
            parents[width] = of_parent(cells)
            chart.cells[width], chart.scores[width] = cells, penalized(scores, penalties, width)
        return chart

    def word_scores(self, contexts: Tensor, words: Tensor) -> Tensor:
        """Scores (M, K) of the ``words`` (K,) in M ``contexts`` (M, C)."""
        return contexts[:, : self.size] @ self.candidates(self.embedding(words)).t()


def penalized(scores: Tensor, penalties: Penalties | None, width: int) -> Tensor:
    """The ``scores`` (L B,) or (L B, entries) of spans of ``width`` words plus their penalties."""
    return scores if penalties is None else scores + penalties[width].view(-1, *[1] * (scores.dim() - 1))


def penalties_of(batch: FragmentBatch, rows: Tensor, size: int) -> Penalties | None:
    """Logarithms of the weights of all spans of the sentences ``rows`` of ``size`` words, if the batch has weights."""
    if not isinstance(batch, SpanSupervisedBatch):
        return None
    logs = batch.weights[rows, :size, : size + 1].clamp(min=MIN_WEIGHT).log().permute(1, 2, 0)
    return {width: logs.diagonal(width).t().flatten() for width in range(1, logs.shape[1])}


def sibling_pairs(words: int, width: int, batch: int) -> list[tuple[int, slice, int]]:
    """Width and rows of the siblings, and width of the parents, of all spans of ``width`` words.

    Each of the K = ``words`` - ``width`` pairs consists of two parts: pair k of the spans that begin at word i < K - k
    has the sibling of k + 1 words to the right; that of the other spans has K - k words and is to the left.
    """
    pairs = []
    for right in range(1, words - width + 1):
        left = words - width + 1 - right
        pairs.append((right, slice(width * batch, None), width + right))
        pairs.append((left, slice(right * batch), width + left))
    return pairs
