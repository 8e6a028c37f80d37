"""S-DIORA (Drozdov et al. 2020): DIORA with the K best trees of each span instead of a mean over all trees.

Each span has up to K *entries*: the vector and the score of one tree over its words, best first. An entry of the
outside chart is one tree over the words around the span. The context of a word in the best tree must identify the word,
and the best tree of the sentence must have a higher score than the second one. The order in this file: settings,
charts, loss, trees. See docs/reference/models/diora.md.

Shapes: B sentences of one length, N words, V vocabulary, H units, K entries.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from induce.data.batches import Batch, FragmentBatch, SentenceBatch
from induce.data.corpus import EncodedCorpus
from induce.layers.masks import pieces
from induce.models.autoencoders.autoencoder import (
    AutoencoderConfig,
    ChartAutoencoder,
    Composition,
    Elements,
    SpanVectors,
    penalties_of,
)
from induce.models.base import Context, Loss, Query
from induce.setting import count, setting
from induce.structures import Brackets, SpanScores, Structure

MARGIN = 1.0  # between the scores of the best and of the second tree
MISSING = -1e8  # score of an entry if the span has fewer trees
NOT_PREDICTED = -1  # target of a word that is not among the predicted words


@dataclass(frozen=True, kw_only=True)
class SDioraConfig(AutoencoderConfig):
    """Sizes. The defaults are those of the small preset."""

    beam: int = setting(2, at_least=2, at_most=100, help="trees of each span that are kept")
    predicted_words: int = count(2_000, "most frequent words, which contexts must identify")


class SDiora(ChartAutoencoder):
    """A chart autoencoder that keeps the best trees of each span."""

    Config = SDioraConfig
    whole_batch = (Batch,)  # the loss is a sum of means over words and over sentences
    parent_first = True
    is_predicted: Tensor  # (V,) bool

    def __init__(self, config: SDioraConfig, vocabulary_size: int) -> None:
        super().__init__(config, vocabulary_size)
        self.config = config
        self.register_buffer("is_predicted", torch.ones(vocabulary_size, dtype=torch.bool))

    def prepare(self, corpus: EncodedCorpus, context: Context) -> None:
        """Find the most frequent words of the corpus. The boundary token is none of them."""
        ids = torch.from_numpy(corpus.ids[corpus.ids != 0]).long()
        counts = ids.bincount(minlength=len(self.is_predicted))
        frequent = counts.argsort(descending=True, stable=True)[: self.config.predicted_words]
        self.is_predicted.zero_()
        self.is_predicted[frequent[counts[frequent] > 0]] = True

    def merge(
        self, function: Composition, firsts: Elements, seconds: Elements, count: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The best entries of each span, and the numbers (L B, K) of their pairs (`Composition.best`)."""
        return function.best(firsts, seconds, count)

    def single(self, cells: Tensor) -> tuple[Tensor, Tensor]:
        """Entries (M, K, H) of spans with a single tree, whose score is 0."""
        scores = cells.new_full((len(cells), self.config.beam), MISSING)
        scores[:, 0] = 0.0
        return cells[:, None].expand(-1, self.config.beam, -1), scores

    # loss

    def loss(self, batch: FragmentBatch, state: None = None) -> Loss:
        """Mean loss of the predicted words given their contexts, and mean loss of the trees of all sentences.

        A batch with weights of spans adds their logarithms to the scores.
        """
        words, margins, predicted = [], [], 0
        for rows, tokens in batch.by_length():
            penalties = penalties_of(batch, rows, tokens.shape[1])
            inside = self.inside_chart(tokens, penalties)
            contexts = self.outside_chart(inside, len(rows), penalties).cells[1][:, 0]
            words.append(self.word_losses(contexts, tokens).sum())
            margins.append(tree_losses(inside.scores[tokens.shape[1]]).sum())
            predicted += int(self.is_predicted[tokens].sum())
        mean = torch.stack(words).sum() / max(1, predicted)
        objective = mean + torch.stack(margins).sum() / len(batch.lengths)
        return Loss(objective, mean, predicted, rows=max(1, predicted))

    def word_losses(self, contexts: Tensor, tokens: Tensor) -> Tensor:
        """Negative log probabilities (N B,) of the words ``tokens`` (B, N) in ``contexts`` (N B, H).

        0 for a word that is not among the predicted words.
        """
        numbers = (self.is_predicted.cumsum(0) - 1).masked_fill(~self.is_predicted, NOT_PREDICTED)
        scores = self.word_scores(contexts, self.is_predicted.nonzero()[:, 0])
        targets = numbers[tokens.t().flatten()]
        return functional.cross_entropy(scores, targets, ignore_index=NOT_PREDICTED, reduction="none")

    # trees

    def structure(self, batch: SentenceBatch, query: Query) -> Structure:
        """The best trees, or the share of the K best trees with each span, weighted by the softmax of their scores."""
        shares = self.leaf.weight.new_zeros(len(batch.lengths), batch.tokens.shape[1], batch.tokens.shape[1] + 1)
        best: list[list[tuple[int, int]]] = [[] for _ in batch.lengths]
        for rows, tokens in batch.by_length():
            size = tokens.shape[1]
            for start, end in pieces(size):  # joined from the right
                chart = self.inside_chart(tokens[:, start:end])
                for row, trees in zip(rows.tolist(), best_trees(chart, len(rows)), strict=True):
                    weights = torch.tensor([score for score, _ in trees]).softmax(0).tolist()
                    rest = [(start, size)] * (end < size)
                    for weight, (_, tree) in zip(weights, trees, strict=True):
                        for i, j in {*((start + i, start + j) for i, j in tree), *rest}:
                            shares[row, i, j] += weight
                    best[row] += [*((start + i, start + j) for i, j in trees[0][1]), *rest]
        if query.structure is Brackets:
            return Brackets(best, batch.lengths)
        return SpanScores(shares.clamp_(0.0, 1.0), batch.lengths)

    def parsing_cost(self, length: int) -> float:
        """Cubic in the length, and growing with the width of the layers and with the number of entries."""
        return length + 2.0 + length**3 * self.size * self.config.beam / 20_000


def tree_losses(scores: Tensor) -> Tensor:
    """Losses (B,) of trees that are less than `MARGIN` better than the second ones, given ``scores`` (B, K)."""
    return (MARGIN + scores[:, 1] - scores[:, 0]).clamp(min=0)


def best_trees(chart: SpanVectors, batch: int) -> list[list[tuple[float, list[tuple[int, int]]]]]:
    """Scores and brackets of the trees of ``batch`` sentences in an inside chart, best first."""
    size = len(chart.cells)
    scores = chart.scores[size].tolist()
    pairs = {width: table.tolist() for width, table in chart.pairs.items()}
    beam = len(scores[0])

    def brackets(sentence: int, entry: int) -> list[tuple[int, int]]:
        spans, waiting = [], [(0, size, entry)]
        while waiting:
            start, end, entry = waiting.pop()
            if end - start > 1:
                pair, entries = divmod(pairs[end - start][start * batch + sentence][entry], beam**2)
                middle = start + 1 + pair
                spans.append((start, end))
                waiting += [(start, middle, entries // beam), (middle, end, entries % beam)]
        return spans

    return [
        [(score, brackets(row, entry)) for entry, score in enumerate(scores[row]) if score > MISSING / 2]
        for row in range(batch)
    ]
