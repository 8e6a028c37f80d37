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

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from induce.data.batches import FragmentBatch, SentenceBatch
from induce.data.corpus import EncodedCorpus
from induce.layers.masks import pieces
from induce.models.autoencoders.autoencoder import (
    AutoencoderConfig,
    ChartAutoencoder,
    Composition,
    Elements,
    best_trees,
    penalties_of,
    span_probabilities,
)
from induce.models.base import Context, Loss, Query
from induce.setting import choice, count
from induce.structures import Brackets, SpanScores, Structure

MARGIN = 1.0  # between the score of the word and that of a sampled word
FREQUENCY_POWER, UNIFORM_SHARE = 0.75, 0.01  # of the distribution of sampled words


@dataclass(frozen=True, kw_only=True)
class DioraConfig(AutoencoderConfig):
    """Sizes and options. The defaults are those of the small preset."""

    composition: str = choice(
        "mlp",
        ("mlp", "mlp-shared", "tree-lstm"),
        "function from two vectors to one; mlp-shared: the same one inside and outside",
    )
    objective: str = choice("softmax", ("softmax", "margin"), "loss that separates each word from sampled words")
    negatives: int = count(50, "sampled words per batch")
    normalization: str = choice("unit", ("unit", "none"), "length of the vectors of spans")
    root: str = choice(
        "learned",
        ("learned", "inside"),
        "outside vector of the full sentence: learned, or a product of its inside vector",
    )


class Diora(ChartAutoencoder):
    """A chart autoencoder whose split scores are trees."""

    Config = DioraConfig
    word_distribution: Tensor  # (V,): of sampled words

    def __init__(self, config: DioraConfig, vocabulary_size: int) -> None:
        super().__init__(
            config,
            vocabulary_size,
            config.composition,
            unit_length=config.normalization == "unit",
            learned_root=config.root == "learned",
        )
        self.config = config
        uniform = torch.full((vocabulary_size,), 1 / vocabulary_size, dtype=torch.float64)
        self.register_buffer("word_distribution", uniform)

    def prepare(self, corpus: EncodedCorpus, context: Context) -> None:
        """Compute the distribution of sampled words from the words of the corpus."""
        counts = np.bincount(corpus.ids[corpus.ids != 0], minlength=len(self.word_distribution))
        self.word_distribution.copy_(torch.from_numpy(sampling_distribution(counts)))

    def merge(
        self, function: Composition, firsts: Elements, seconds: Elements, count: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Means over the pairs of each span, and the scores (K, L B) of the pairs."""
        return function.mean(firsts, seconds, count)

    def single(self, cells: Tensor) -> tuple[Tensor, Tensor]:
        """The ``cells`` (M, C) themselves, with scores (M,) of 0."""
        return cells, cells.new_zeros(len(cells))

    # loss

    def loss(self, batch: FragmentBatch, state: None = None) -> Loss:
        """Loss of the words given their contexts, against words that are sampled once per batch.

        The words are fixed in evaluation mode. A batch with weights of spans adds their logarithms to the scores.
        """
        negatives = self.sampled_words()
        losses = []
        for rows, tokens in batch.by_length():
            penalties = penalties_of(batch, rows, tokens.shape[1])
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
        words = self.candidates(self.embedding(tokens.t().flatten()))
        true = (contexts[:, : self.size] * words).sum(-1, keepdim=True)
        return torch.cat([true, self.word_scores(contexts, negatives)], -1)

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
        for rows, tokens in batch.by_length():
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
        scores = self.inside_chart(tokens).pairs
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
