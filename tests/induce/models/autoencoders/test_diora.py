"""DIORA: charts and gradients from plain loops over spans, probabilities from all trees, penalties, sampled words."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from induce.data.batches import SpanSupervisedBatch
from induce.models.autoencoders.autoencoder import span_probabilities
from induce.models.autoencoders.diora import Diora, DioraConfig
from induce.models.base import Context
from tests.support.tiny import encoded_ids, random_batch

WORDS, SIZE = 9, 5
OPTIONS = [
    {"composition": "mlp", "objective": "softmax"},
    {"composition": "mlp-shared", "objective": "margin", "root": "inside"},
    {"composition": "tree-lstm", "objective": "margin", "normalization": "none"},
    {"composition": "tree-lstm", "objective": "softmax", "root": "inside"},
]
Cell = tuple[Tensor, Tensor, Tensor]  # vector (H,), memory (H,) and score ()


def make_model(**options: Any) -> Diora:
    torch.manual_seed(3)
    return Diora(DioraConfig(embedding_size=4, hidden_size=SIZE, negatives=3, **options), WORDS)


class LoopDiora:
    """The charts of one sentence, span by span, from the formulas of the paper and of the released program."""

    def __init__(self, model: Diora, tokens: Tensor, weights: Tensor) -> None:
        self.model, self.tokens, self.logs = model, tokens, weights.log()
        self.lstm, self.count = model.config.composition == "tree-lstm", len(tokens)
        self.inside: dict[tuple[int, int], Cell] = {}
        self.outside: dict[tuple[int, int], Cell] = {}
        for width in range(1, self.count + 1):
            for start in range(self.count - width + 1):
                self.inside[start, start + width] = self.inside_cell(start, start + width)
        for width in range(self.count, 0, -1):
            for start in range(self.count - width + 1):
                self.outside[start, start + width] = self.outside_cell(start, start + width)

    def scaled(self, vector: Tensor) -> Tensor:
        return vector if self.model.config.normalization == "none" else vector / vector.norm().clamp(min=1e-8)

    def inside_cell(self, start: int, end: int) -> Cell:
        model, log = self.model, self.logs[start, end]
        if end - start > 1:
            pairs = [(self.inside[start, k], self.inside[k, end]) for k in range(start + 1, end)]
            vector, memory, score = self.mean(model.inside, pairs, 1.0)
            return vector, memory, score + log
        x = model.leaf.weight @ (model.projection.weight @ model.embedding.weight[self.tokens[start]])
        x = x + model.inside.second.bias[: len(x)]
        if not self.lstm:
            return self.scaled(x.tanh()), x.new_zeros(SIZE), log
        memory = x[SIZE : 2 * SIZE].sigmoid() * x[:SIZE].tanh()
        return self.scaled(x[2 * SIZE :].sigmoid() * memory.tanh()), self.scaled(memory), log

    def outside_cell(self, start: int, end: int) -> Cell:
        model, log = self.model, self.logs[start, end]
        if end - start < self.count:
            pairs = [(self.inside[end, k], self.outside[start, k]) for k in range(end + 1, self.count + 1)]
            pairs += [(self.inside[k, start], self.outside[k, end]) for k in range(start)]
            vector, memory, score = self.mean(model.outside or model.inside, pairs, 0.0)
            return vector, memory, score + log
        root = [] if model.root is None else list(model.root.split(SIZE))
        if model.root_projection is not None:
            root.insert(0, model.root_projection.weight @ self.inside[start, end][0])
        vector, memory = (*root, torch.zeros(SIZE))[:2]
        return self.scaled(vector), self.scaled(memory), log

    def mean(self, function: Any, pairs: list[tuple[Cell, Cell]], offset: float) -> Cell:
        scores = torch.stack([a[0] @ function.score.weight.t() @ b[0] + a[2] + b[2] for a, b in pairs])
        cells = [self.composed(function, a, b, offset) for a, b in pairs]
        shares = scores.exp() / scores.exp().sum()
        vector, memory = (sum(share * cell[k] for share, cell in zip(shares, cells, strict=True)) for k in (0, 1))
        return self.scaled(vector), self.scaled(memory), (shares * scores).sum()

    def composed(self, function: Any, a: Cell, b: Cell, offset: float) -> tuple[Tensor, Tensor]:
        matrix = torch.cat([function.first.weight, function.second.weight], 1)
        hidden = matrix @ torch.cat([a[0], b[0]]) + function.second.bias
        if not self.lstm:
            vector = (function.output.weight @ hidden.relu() + function.output.bias).relu()
            return vector, torch.zeros(SIZE)
        candidate, update, output, first, second = hidden.split(SIZE)
        memory = (first + offset).sigmoid() * a[1] + (second + offset).sigmoid() * b[1]
        memory = memory + update.sigmoid() * candidate.tanh()
        return output.sigmoid() * memory.tanh(), memory

    def word_losses(self, negatives: Tensor) -> Tensor:
        losses = []
        for index, word in enumerate(self.tokens):
            ids = torch.cat([word[None], negatives])
            scores = (
                self.model.embedding.weight[ids] @ self.model.candidates.weight.t() @ self.outside[index, index + 1][0]
            )
            if self.model.config.objective == "margin":
                losses.append((1 - scores[0] + scores[1:]).clamp(min=0).sum() / len(ids))
            else:
                losses.append(scores.exp().sum().log() - scores[0])
        return torch.stack(losses).sum()


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options.values()))
@pytest.mark.parametrize("weighted", [False, True])
def test_charts_loss_and_gradients_equal_plain_loops(options: dict[str, str], weighted: bool) -> None:
    model, batch = make_model(**options).eval(), random_batch(WORDS, 5, 1, 2, 5)
    weights = torch.ones(4, 5, 6)
    if weighted:
        weights = weights - 0.9 * torch.rand(4, 5, 6)
        batch = SpanSupervisedBatch(batch.tokens, batch.lengths, batch.gaps, weights)
    negatives = model.sampled_words()
    charts = [
        LoopDiora(model, tokens[:count], table)
        for tokens, count, table in zip(batch.tokens, batch.lengths, weights, strict=True)
    ]
    expected = sum(chart.word_losses(negatives) for chart in charts) / batch.token_count
    gradients = torch.autograd.grad(expected, list(model.parameters()))
    loss = model.loss(batch)
    torch.testing.assert_close(loss.objective, expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(torch.autograd.grad(loss.objective, list(model.parameters())), gradients)
    if not weighted:
        inside = model.inside_chart(batch.tokens[:1])
        outside = model.outside_chart(inside, 1)
        for (start, end), cell in charts[0].inside.items():
            for chart, expected_cell in ((inside, cell), (outside, charts[0].outside[start, end])):
                torch.testing.assert_close(chart.cells[end - start][start][:SIZE], expected_cell[0])
                torch.testing.assert_close(chart.scores[end - start][start], expected_cell[2])


def all_trees(start: int, end: int) -> list[list[tuple[int, int, int]]]:
    """Every binary tree over a span, as its splits: start, first word of the right part, end."""
    if end - start < 2:
        return [[]]
    return [
        [(start, middle, end), *left, *right]
        for middle in range(start + 1, end)
        for left, right in product(all_trees(start, middle), all_trees(middle, end))
    ]


def test_span_probabilities_are_sums_over_all_trees() -> None:
    generator = torch.Generator().manual_seed(1)
    for count in (2, 3, 6):
        splits = [torch.randn(width - 1, count - width + 1, 2, generator=generator) for width in range(2, count + 1)]
        expected = np.zeros((2, count, count + 1))
        for row, tree in product(range(2), all_trees(0, count)):
            shares = [splits[j - i - 2].softmax(0)[k - i - 1, i, row].item() for i, k, j in tree]
            for i, _, j in tree:
                expected[row, i, j] += math.prod(shares)
        np.testing.assert_allclose(span_probabilities(splits, count, 2), expected, atol=1e-6)


def test_weight_of_zero_gives_finite_gradients() -> None:
    model, batch = make_model(), random_batch(WORDS, 3, 3)
    weights = torch.ones(2, 3, 4)
    weights[:, 0, 2] = 0
    model.loss(SpanSupervisedBatch(batch.tokens, batch.lengths, batch.gaps, weights)).objective.backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())


def test_words_are_sampled_by_frequency_and_fixed_in_evaluation() -> None:
    """The sample has the words of the corpus, not the boundary token, which is not counted as a word."""
    model = make_model()
    model.prepare(encoded_ids([2, 3, 2, 0, 3, 4, 0]), Context())
    drawn = [tuple(sorted(model.sampled_words().tolist())) for _ in range(200)]
    assert drawn.count((2, 3, 4)) > 180
    model.eval()
    assert model.sampled_words().tolist() == model.sampled_words().tolist()


def test_initial_loss_is_that_of_chance_except_with_published_initialization() -> None:
    batch = random_batch(WORDS, 9, 9, 9)
    chance = math.log(1 + 3)
    losses = {name: make_model(initialization=name).loss(batch).nll.item() for name in ("fan-in", "normal")}
    assert abs(losses["fan-in"] - chance) < 0.25
    assert losses["normal"] > chance + 0.5
