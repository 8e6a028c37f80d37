"""Charts of DIORA and S-DIORA: cells and scores of all spans (inside) and of their contexts (outside).

`Composition` makes one vector of those of two spans, by a perceptron or a tree LSTM, with scores that weight or rank
the pairs. `best_trees` finds the brackets with the best scores of splits.

Shapes: B sentences of one length, N words, V vocabulary, E word vectors, H units. The *cell* of a span is its vector,
or its output and its memory in a tree LSTM: C = H or 2 H numbers. The L spans of one width are a matrix (L B, ...),
ordered by start and then by sentence, and the K ways to make a cell from two others come first: (K, L B, ...).

In functions about splits, L spans of one width have K splits each, and ``splits`` lists the scores (K, L, B) of the
spans of 2, 3, … N words, from the shortest left part to the longest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import FragmentBatch, SpanSupervisedBatch
from induce.decoding.chart import split_tree
from induce.models.base import Model
from induce.setting import choice, count
from induce.structures import Brackets, SpanScores, Structure

Elements = list[tuple[Tensor, Tensor]]  # operands and scores of the elements of pairs: together K M rows


class Composition(nn.Module):
    """Cell and score of a span, given the cells and scores of the pairs that it can be made from.

    The products of matrices with each cell are computed once for all pairs that contain it: an *operand* holds these
    products of a cell as the first or as the second element of a pair. With ``unit_length``, all vectors and memories
    have length 1. ``forget_offset`` is added to the forget gates of a tree LSTM.
    """

    def __init__(self, size: int, *, lstm: bool, unit_length: bool = True, forget_offset: float = 0.0) -> None:
        super().__init__()
        self.size, self.unit_length, self.forget_offset = size, unit_length, forget_offset
        self.width = 5 * size if lstm else size  # of the first layer
        self.score = nn.Linear(size, size, bias=False)
        self.first = nn.Linear(size, self.width, bias=False)
        self.second = nn.Linear(size, self.width)
        self.output = None if lstm else nn.Linear(size, size)

    def first_operand(self, cells: Tensor) -> Tensor:
        """Products of ``cells`` (..., C) as first elements."""
        vectors, memory = cells[..., : self.size], cells[..., self.size :]
        return torch.cat([self.first(vectors), self.score(vectors), memory], -1)

    def second_operand(self, cells: Tensor) -> Tensor:
        """Products of ``cells`` (..., C) as second elements."""
        return torch.cat([self.second(cells[..., : self.size]), cells], -1)

    def score_vectors(self, operands: Tensor) -> Tensor:
        """Vectors (..., H) of operands, whose products are the compatibility of a first and a second operand."""
        return operands[..., self.width : self.width + self.size]

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Cells (..., C) of pairs of operands."""
        hidden = first[..., : self.width] + second[..., : self.width]
        if self.output is not None:
            return self.output(hidden.relu()).relu()
        memory = self.width + self.size  # offset
        candidate, update, output, *forget = hidden.chunk(5, -1)
        gates = [(gate + self.forget_offset).sigmoid() for gate in forget]
        memories = (
            gates[0] * first[..., memory:] + gates[1] * second[..., memory:] + update.sigmoid() * candidate.tanh()
        )
        return torch.cat([output.sigmoid() * memories.tanh(), memories], -1)

    def mean(self, firsts: Elements, seconds: Elements, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Cells (M, C) and scores (M,) of M spans, and scores (K, M) of the K = ``count`` pairs of each span.

        The score of a pair is the sum of the scores of its elements and of their compatibility. The cell and the score
        of a span are the means over its pairs, weighted by the softmax of the scores of the pairs.
        """
        (first, first_scores), (second, second_scores) = joined(firsts, count), joined(seconds, count)
        compatibility = (self.score_vectors(first) * self.score_vectors(second)).sum(-1)
        pair_scores = compatibility + (first_scores + second_scores)
        weights = pair_scores.softmax(0)
        cells = self.scaled((weights[..., None] * self(first, second)).sum(0))
        return cells, (weights * pair_scores).sum(0), pair_scores

    def best(self, firsts: Elements, seconds: Elements, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Vectors (M, E, H) and scores (M, E) of the E best entries of M spans, and the numbers (M, E) of their pairs.

        Each element has E entries. The score of an entry is the sum of the scores of its two elements and of their
        compatibility. Its pair has the number k E² + i E + j if it is made from entries i and j of pair k of ``count``.
        """
        (first, first_scores), (second, second_scores) = joined(firsts, count), joined(seconds, count)
        compatibility = self.score_vectors(first) @ self.score_vectors(second).transpose(-1, -2)  # (K, M, E, E)
        scores = compatibility + first_scores[..., :, None] + second_scores[..., None, :]
        entries = first.shape[2]
        best, number = scores.transpose(0, 1).flatten(1).topk(entries)
        pair, spans = number // entries**2, torch.arange(len(number), device=number.device)[:, None]
        vectors = self(first[pair, spans, number // entries % entries], second[pair, spans, number % entries])
        return self.scaled(vectors), best, number

    def scaled(self, cells: Tensor) -> Tensor:
        """``cells`` (..., C) whose vectors and memories are divided by their length, with ``unit_length``."""
        if not self.unit_length:
            return cells
        return functional.normalize(cells.unflatten(-1, (-1, self.size)), dim=-1, eps=1e-8).flatten(-2)


def joined(elements: Elements, count: int) -> tuple[Tensor, Tensor]:
    """Operands (K, M, ...) and scores (K, M, ...) of ``elements`` of K = ``count`` pairs of each span."""
    operands, scores = (torch.cat(parts).unflatten(0, (count, -1)) for parts in zip(*elements, strict=True))
    return operands, scores


def span_probabilities(splits: list[Tensor], size: int, batch: int) -> Tensor:
    """Probability (B, N, N + 1) of each span if each span is split at a point drawn from the softmax of its ``splits``.

    The first span is the sentence. ``batch`` is B and ``size`` is N.
    """
    starts = torch.arange(size)
    by_start = torch.zeros(size + 1, size + 1, batch)  # [start, width]
    by_end = torch.zeros(size + 1, size + 1, batch)  # [end, N - width]
    result = torch.zeros(batch, size, size + 1)
    by_start[0, size] = 1.0
    for width in range(size, 1, -1):
        spans = size - width + 1
        probability = by_start[:spans, width] + by_end[width:, size - width]
        result[:, starts[:spans], starts[:spans] + width] = probability.t()
        shares = probability[:, None] * splits[width - 2].softmax(0).transpose(0, 1).to(by_start)  # (L, K, B)
        by_start[:spans, 1:width] += shares
        by_end[width:, spans:size] += shares
    return result.clamp_(0.0, 1.0)


def best_trees(splits: list[Tensor], batch: int) -> list[list[tuple[int, int]]]:
    """Brackets of the trees of ``batch`` sentences with the largest sums of scores, found by the CKY algorithm.

    The score of a split counts relative to the best split of the same span, as in the released program. The best tree
    therefore has the best split of each of its spans.
    """
    shifted = [(scores - scores.amax(0)).permute(2, 1, 0).detach().cpu().numpy() for scores in splits]
    return [split_tree([scores[k] for scores in shifted]) for k in range(batch)]


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
        for parameter in self.parameters():
            nn.init.normal_(parameter)
        if config.initialization == "fan-in":
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
