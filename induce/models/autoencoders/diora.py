"""DIORA: deep inside-outside recursive autoencoder (Drozdov et al. 2019), with the options of its released program.

The inside pass computes a vector and a score of every span from those of its parts, averaged over the splits. The
outside pass computes a vector of the context of every span. The context vector of a word must identify the word among
sampled ones. The splits with the best scores form the tree. The order in this file: settings, charts, loss, trees. See
docs/reference/models/diora.md.

Shapes: B sentences of one length, N words, V vocabulary, E word vectors, H units. The *cell* of a span is its vector,
or its output and its memory in a tree LSTM: C = H or 2 H numbers. The L spans of one width are a matrix (L B, ...),
ordered by start and then by sentence, and the K ways to make a cell from two others come first: (K, L B, ...).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from induce.data.batches import FragmentBatch, SentenceBatch, SpanSupervisedBatch
from induce.models.autoencoders.composition import Composition
from induce.models.autoencoders.split_scores import best_trees, span_probabilities
from induce.models.base import Loss, Model, Query
from induce.models.grammars.grammar import pieces, same_length
from induce.setting import choice, count
from induce.structures import Brackets, SpanScores, Structure

if TYPE_CHECKING:
    from induce.data.corpus import EncodedCorpus

MARGIN = 1.0  # between the score of the word and that of a sampled word
FREQUENCY_POWER, UNIFORM_SHARE = 0.75, 0.01  # of the distribution of sampled words
MIN_WEIGHT = 1e-30  # of a span; its logarithm must be finite
VECTOR_DEVIATION = 0.1  # standard deviation of the first word vectors


@dataclass(frozen=True, kw_only=True)
class DioraConfig:
    """Sizes and options. The defaults are those of the small preset."""

    embedding_size: int = count(100, "units of a word vector")
    hidden_size: int = count(64, "units of the vector of a span")
    composition: str = choice(
        "mlp",
        ("mlp", "mlp-shared", "tree-lstm"),
        "function from two vectors to one; mlp-shared: the same one inside and outside",
    )
    objective: str = choice("softmax", ("softmax", "margin"), "loss that separates each word from sampled words")
    negatives: int = count(50, "sampled words per batch")
    initialization: str = choice(
        "fan-in",
        ("fan-in", "normal"),
        "fan-in: variance 1 / inputs; normal: variance 1, as published for pretrained word vectors",
    )
    normalization: str = choice("unit", ("unit", "none"), "length of the vectors of spans")
    root: str = choice(
        "learned",
        ("learned", "inside"),
        "outside vector of the full sentence: learned, or a product of its inside vector",
    )


Penalties = dict[int, Tensor]  # (L B,): added to the scores of spans, by the number of words of the span


class Chart(NamedTuple):
    """Cells and scores of all spans, by the number of words of the span."""

    cells: dict[int, Tensor]  # (L B, C)
    scores: dict[int, Tensor]  # (L B,)
    pair_scores: dict[int, Tensor]  # (K, L B): of the ways to make each cell from two others


class Diora(Model):
    """A chart autoencoder whose split scores are trees."""

    Config = DioraConfig
    reads = (FragmentBatch, SpanSupervisedBatch)
    gives = (SpanScores, Brackets)
    shortest = 2
    max_length: ClassVar[int | None] = 2_000  # whose chart fits into a few gigabytes
    measure = "reconstruction loss"
    word_distribution: Tensor  # (V,): of sampled words

    def __init__(self, config: DioraConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.config = config
        size, lstm = config.hidden_size, config.composition == "tree-lstm"
        self.embedding = nn.Embedding(vocabulary_size, config.embedding_size)
        self.projection = nn.Linear(config.embedding_size, size, bias=False)
        self.candidates = nn.Linear(config.embedding_size, size, bias=False)
        self.leaf = nn.Linear(size, 3 * size if lstm else size, bias=False)
        unit = config.normalization == "unit"
        self.inside = Composition(size, lstm=lstm, unit_length=unit, forget_offset=1.0)
        is_shared = config.composition == "mlp-shared"
        self.outside = None if is_shared else Composition(size, lstm=lstm, unit_length=unit)  # None: that of inside
        self.root_projection = nn.Linear(size, size, bias=False) if config.root == "inside" else None
        root_size = size * (lstm + (config.root == "learned"))
        self.root = nn.Parameter(torch.empty(root_size)) if root_size else None
        uniform = torch.full((vocabulary_size,), 1 / vocabulary_size, dtype=torch.float64)
        self.register_buffer("word_distribution", uniform)
        self._initialize()

    def _initialize(self) -> None:
        for parameter in self.parameters():
            nn.init.normal_(parameter)
        if self.config.initialization == "normal":
            return
        nn.init.normal_(self.embedding.weight, std=VECTOR_DEVIATION)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=module.in_features**-0.5)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def prepare(self, corpus: EncodedCorpus) -> None:
        """Compute the distribution of sampled words from the words of the corpus."""
        counts = np.bincount(corpus.ids[corpus.ids != 0], minlength=len(self.word_distribution))
        self.word_distribution.copy_(torch.from_numpy(sampling_distribution(counts)))

    # charts

    def leaves(self, tokens: Tensor) -> Tensor:
        """Cells (N B, C) of the words ``tokens`` (B, N)."""
        hidden = self.leaf(self.projection(self.embedding(tokens.t().flatten())))
        hidden = hidden + self.inside.second.bias[: hidden.shape[1]]
        if self.config.composition != "tree-lstm":
            return self.inside.scaled(hidden.tanh())
        candidate, update, output = hidden.chunk(3, -1)
        memory = update.sigmoid() * candidate.tanh()
        return self.inside.scaled(torch.cat([output.sigmoid() * memory.tanh(), memory], -1))

    def inside_chart(self, tokens: Tensor, penalties: Penalties | None = None) -> Chart:
        """Cells of the words of all spans, for sentences ``tokens`` (B, N).

        Pair k consists of the first k + 1 words of the span and the others. ``penalties`` are added to the scores.
        """
        batch, size = tokens.shape
        chart = Chart({}, {}, {})
        lefts: dict[int, Tensor] = {}
        rights: dict[int, Tensor] = {}
        for width in range(1, size + 1):
            if width == 1:
                cells = self.leaves(tokens)
                scores = cells.new_zeros(len(cells))
            else:
                rows = (size - width + 1) * batch
                splits = [(k, width - k, slice(k * batch, k * batch + rows)) for k in range(1, width)]
                cells, scores, chart.pair_scores[width] = self.inside.merge(
                    [lefts[left][:rows] for left, _, _ in splits],
                    [rights[right][after] for _, right, after in splits],
                    [chart.scores[left][:rows] + chart.scores[right][after] for left, right, after in splits],
                    width - 1,
                )
            lefts[width], rights[width] = self.inside.first_operand(cells), self.inside.second_operand(cells)
            chart.cells[width] = cells
            chart.scores[width] = scores if penalties is None else scores + penalties[width]
        return chart

    def outside_chart(self, inside: Chart, batch: int, penalties: Penalties | None = None) -> Chart:
        """Cells of the contexts of all spans of ``batch`` sentences, given their `inside_chart`.

        A context is composed of a sibling and the context of the parent, in this order on both sides. Pair k of the
        spans that begin at word i < K - k has the sibling of k + 1 words to the right; that of the other spans has
        K - k words and is to the left.
        """
        size = len(inside.cells)
        composition = self.outside or self.inside
        chart = Chart({}, {}, {})
        siblings = {width: composition.first_operand(inside.cells[width]) for width in range(1, size)}
        parents: dict[int, Tensor] = {}
        for width in range(size, 0, -1):
            if width == size:
                cells = self._root(inside.cells[size])
                scores = cells.new_zeros(batch)
            else:
                pairs: list[tuple[int, slice, int]] = []  # width and rows of the sibling, width of the parent
                for right in range(1, size - width + 1):
                    left = size - width + 1 - right
                    pairs.append((right, slice(width * batch, None), width + right))
                    pairs.append((left, slice(right * batch), width + left))
                cells, scores, chart.pair_scores[width] = composition.merge(
                    [siblings[sibling][rows] for sibling, rows, _ in pairs],
                    [parents[parent] for _, _, parent in pairs],
                    [inside.scores[sibling][rows] + chart.scores[parent] for sibling, rows, parent in pairs],
                    size - width,
                )
            parents[width] = composition.second_operand(cells)
            chart.cells[width] = cells
            chart.scores[width] = scores if penalties is None else scores + penalties[width]
        return chart

    def _root(self, cells: Tensor) -> Tensor:
        """Cells (B, C) of the context of full sentences, given their inside ``cells`` (B, C)."""
        parts = [] if self.root is None else [self.root.expand(len(cells), -1)]
        if self.root_projection is not None:
            parts.insert(0, self.root_projection(cells[:, : self.config.hidden_size]))
        return self.inside.scaled(torch.cat(parts, -1))

    # loss

    def loss(self, batch: FragmentBatch, state: None = None) -> Loss:
        """Loss of the words given their contexts, against words that are sampled once per batch.

        The words are fixed in evaluation mode. A batch with weights of spans adds their logarithms to the scores.
        """
        negatives = self.sampled_words()
        losses = []
        for rows, tokens in same_length(batch):
            penalties = None
            if isinstance(batch, SpanSupervisedBatch):
                penalties = _penalties(batch.weights[rows, : tokens.shape[1], : tokens.shape[1] + 1])
            inside = self.inside_chart(tokens, penalties)
            contexts = self.outside_chart(inside, len(rows), penalties).cells[1]
            losses.append(self.word_loss(contexts, tokens, negatives) * tokens.numel())
        mean = torch.stack(losses).sum() / max(1, batch.token_count)
        return Loss(mean, mean, batch.token_count)

    def word_loss(self, contexts: Tensor, tokens: Tensor, negatives: Tensor) -> Tensor:
        """Mean loss of the words ``tokens`` (B, N) against the words ``negatives`` (K,), given cells (N B, C)."""
        scores = self.candidate_scores(contexts, tokens, negatives)
        targets = torch.zeros(len(scores), dtype=torch.long, device=scores.device)
        if self.config.objective == "margin":
            return functional.multi_margin_loss(scores, targets, margin=MARGIN)
        return functional.cross_entropy(scores, targets)

    def candidate_scores(self, contexts: Tensor, tokens: Tensor, negatives: Tensor) -> Tensor:
        """Scores (N B, 1 + K) of the words ``tokens`` (B, N) and of the words ``negatives`` (K,)."""
        vectors = contexts[:, : self.config.hidden_size]
        words, others = (self.candidates(self.embedding(items)) for items in (tokens.t().flatten(), negatives))
        return torch.cat([(vectors * words).sum(-1, keepdim=True), vectors @ others.t()], -1)

    def sampled_words(self) -> Tensor:
        """Indices (K,) of distinct negative words, drawn from `word_distribution`.

        In evaluation mode, every call draws the same words.
        """
        number = min(self.config.negatives, len(self.word_distribution))
        if self.training:
            return torch.multinomial(self.word_distribution, number)
        generator = torch.Generator().manual_seed(0)
        drawn = torch.multinomial(self.word_distribution.cpu(), number, generator=generator)
        return drawn.to(self.word_distribution.device)

    # trees

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """Probabilities of spans if each split has the probability of its softmax, or the trees of the best splits."""
        scores = self.leaf.weight.new_zeros(len(batch.lengths), batch.tokens.shape[1], batch.tokens.shape[1] + 1)
        trees: list[list[tuple[int, int]]] = [[] for _ in batch.lengths]
        for rows, tokens in same_length(batch):
            size = tokens.shape[1]
            for start, end in pieces(size):  # joined from the right
                splits = self.split_scores(tokens[:, start:end])
                if query.structure is Brackets:
                    for row, tree in zip(rows.tolist(), best_trees(splits, len(rows)), strict=True):
                        trees[row] += [(start + i, start + j) for i, j in tree] + [(start, size)] * (end < size)
                    continue
                scores[rows, start:end, start : end + 1] = span_probabilities(splits, end - start, len(rows)).to(scores)
                if size > 1:
                    scores[rows, start, size] = 1.0
        return Brackets(trees, batch.lengths) if query.structure is Brackets else SpanScores(scores, batch.lengths)

    def split_scores(self, tokens: Tensor) -> list[Tensor]:
        """Scores (K, L, B) of the splits of the spans of 2, 3, … N words, for sentences ``tokens`` (B, N)."""
        scores = self.inside_chart(tokens).pair_scores
        return [scores[width].unflatten(-1, (-1, len(tokens))) for width in range(2, tokens.shape[1] + 1)]

    def parsing_cost(self, length: int) -> float:
        """Cubic in the length, and growing with the width of the layers."""
        return length + 2.0 + length**3 * self.inside.width / 20_000


def sampling_distribution(counts: np.ndarray) -> np.ndarray:
    """Probabilities (V,) of sampled words, given their ``counts`` (V,) in the training text.

    They are proportional to the count to the power of 0.75 plus 0.01 / V, as in the released program.
    """
    weights = counts**FREQUENCY_POWER + UNIFORM_SHARE / len(counts)
    return weights / weights.sum()


def _penalties(weights: Tensor) -> Penalties:
    """The logs of the weights of all spans, given ``weights`` (B, N, N + 1) by their first word and their end."""
    logs = weights.clamp(min=MIN_WEIGHT).log().permute(1, 2, 0)
    return {width: logs.diagonal(width).t().flatten() for width in range(1, logs.shape[1])}
