"""S-DIORA: entries equal to the enumeration of all trees, penalties, trees of every length, predicted words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from induce.data.batches import FragmentBatch, SpanSupervisedBatch
from induce.models.autoencoders.autoencoder import penalties_of
from induce.models.autoencoders.sdiora import SDiora, SDioraConfig, best_trees, tree_losses
from induce.models.base import Context
from tests.support.tiny import encoded_ids, random_batch

WORDS = 9
Tree = tuple[tuple[int, int], ...]


def make_model(beam: int = 2, **options: int) -> SDiora:
    torch.manual_seed(3)
    return SDiora(SDioraConfig(embedding_size=4, hidden_size=5, beam=beam, **options), WORDS)


def all_trees(
    model: SDiora, words: Tensor, logs: Tensor, start: int, end: int
) -> Iterator[tuple[Tree, Tensor, Tensor]]:
    """Brackets, vector and score of each binary tree over the words from ``start`` to ``end``."""
    if end - start == 1:
        vector = model.leaf.weight @ (model.projection.weight @ model.embedding.weight[words[start]])
        yield (), normalize((vector + model.inside.second.bias).tanh(), dim=-1), logs[start, end]
    for middle in range(start + 1, end):
        for left, a, score in all_trees(model, words, logs, start, middle):
            for right, b, other in all_trees(model, words, logs, middle, end):
                hidden = (model.inside.first.weight @ a + model.inside.second(b)).relu()
                vector = normalize(model.inside.output(hidden).relu(), dim=-1)
                total = score + other + (model.inside.score.weight @ a) @ b + logs[start, end]
                yield ((start, end), *left, *right), vector, total


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("weighted", [False, True])
def test_entries_are_the_best_of_all_trees(weighted: bool) -> None:
    """A beam of 14 holds all trees of five words."""
    model, batch = make_model(beam=14).eval(), random_batch(WORDS, 5, 5)
    weights = torch.ones(2, 5, 6)
    if weighted:
        weights = weights - 0.9 * torch.rand(2, 5, 6)
        batch = SpanSupervisedBatch(batch.tokens, batch.lengths, batch.gaps, weights)
    chart = model.inside_chart(batch.tokens, penalties_of(batch, torch.arange(2), 5))
    predicted = best_trees(chart, 2)
    for row in range(2):
        expected = sorted(all_trees(model, batch.tokens[row], weights[row].log(), 0, 5), key=lambda tree: -tree[2])
        assert [set(tree) for _, tree in predicted[row]] == [set(tree) for tree, _, _ in expected]
        torch.testing.assert_close(chart.cells[5][row], torch.stack([vector for _, vector, _ in expected]))
        torch.testing.assert_close(chart.scores[5][row], torch.stack([score for _, _, score in expected]))


def test_missing_entries_have_no_trees_and_no_loss() -> None:
    model, batch = make_model(beam=3), random_batch(WORDS, 2)
    chart = model.inside_chart(batch.tokens)
    assert [tree for _, tree in best_trees(chart, 1)[0]] == [[(0, 2)]]
    assert tree_losses(chart.scores[2]).item() == 0


def test_the_most_frequent_words_are_predicted() -> None:
    model = make_model(predicted_words=2)
    model.prepare(encoded_ids([2, 3, 2, 0, 3, 4, 0], "abcdefg"), Context())
    assert model.is_predicted.nonzero()[:, 0].tolist() == [2, 3]
    losses = model.word_losses(torch.randn(3, 5), torch.tensor([[2, 4, 3]]))
    assert (losses > 0).tolist() == [True, False, True]
    batch = FragmentBatch(torch.tensor([[4, 4, 4]]), torch.tensor([3]), torch.zeros(1, 3))
    loss = model.loss(batch)
    assert (loss.nll, loss.count) == (0, 0)  # without a predicted word, it is not part of a mean over words
