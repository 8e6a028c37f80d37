"""CRvNN: soft neighbors, degrees of merging, and the recursive network that it becomes if all degrees are 0 or 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from induce.decoding.distances import unbiased
from induce.tasks.encoders.crvnn import Crvnn, CrvnnConfig, merge_probability, neighbors

pytestmark = pytest.mark.usefixtures("double")

SURE = 60.0  # score whose probability is 1 up to 1e-26


def next_existing(existence: Sequence[float], start: int, step: int) -> list[float]:
    """Probabilities of the neighbors of one position, by walking away from it until they sum to 1."""
    probabilities, left = [0.0] * len(existence), 1.0
    position = start + step
    while 0 <= position < len(existence) and left > 0:
        probabilities[position] = min(existence[position], left)
        left -= probabilities[position]
        position += step
    return probabilities


def test_neighbors_are_those_found_by_walking() -> None:
    existence = torch.rand(3, 7)
    existence[0] = torch.tensor([1.0, 0, 1, 0, 0, 1, 1])
    left, right = neighbors(existence)
    for row, values in enumerate(existence.tolist()):
        for position in range(7):
            torch.testing.assert_close(right[row, position], torch.tensor(next_existing(values, position, 1)))
            torch.testing.assert_close(left[row, position], torch.tensor(next_existing(values, position, -1)))


def test_scores_compete_with_those_of_neighbors() -> None:
    scores, mergeable = torch.tensor([[9.0, 0.5, -1.0, 2.0, 7.0]]), torch.tensor([[False, True, True, True, False]])
    result = merge_probability(scores, neighbors(torch.ones(1, 5)), mergeable)
    terms = [0.0, math.exp(0.5), math.exp(-1), math.exp(2), 0.0]
    expected = [terms[i] / (1 + sum(terms[i - 1 : i + 2])) for i in range(1, 4)]
    torch.testing.assert_close(result, torch.tensor([[0.0, *expected, 0.0]]), rtol=1e-7, atol=0)
    assert merge_probability(scores + 2000, neighbors(torch.ones(1, 5)), mergeable).isfinite().all()


def test_sure_merges_compute_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Composition, trees and penalty of ((a b) (c (d e))), next to a shorter expression (a (b c))."""
    model = Crvnn(CrvnnConfig(hidden_size=6), 9).eval()
    merges = iter([{0: [0, 3], 1: [1]}, {0: [2], 1: [0]}, {0: [1]}])

    def scores(content: Tensor, *_: object) -> Tensor:
        result = torch.full(content.shape[:2], -SURE)
        for row, words in next(merges).items():
            result[row, [word + 1 for word in words]] = SURE
        return result

    monkeypatch.setattr(model, "scores", scores)
    tokens, lengths = torch.tensor([[2, 3, 4, 5, 6], [7, 8, 2, 0, 0]]), torch.tensor([5, 3])
    merged = model.merge(tokens, lengths)
    words = model.start(tokens, lengths)[0][:, 1:-1]

    def join(left: Tensor, right: Tensor) -> Tensor:
        return model.cell(right, left, model.cell_norm)

    a, b, c, d, e = words[0]
    torch.testing.assert_close(merged.vectors[0], join(join(a, b), join(c, join(d, e))))
    torch.testing.assert_close(merged.vectors[1], join(words[1, 0], join(words[1, 1], words[1, 2])))
    torch.testing.assert_close(merged.lifetimes[0, :4], torch.tensor([1.0, 3, 2, 1]))
    assert sorted(unbiased([4.0, *merged.lifetimes[0, :4].tolist()])) == [(0, 2), (0, 5), (2, 5), (3, 5)]
    assert not model.penalty(merged.existence, lengths).any()


def test_open_expressions_are_penalized() -> None:
    model = Crvnn(CrvnnConfig(hidden_size=6, halt_penalty=0.5), 9)
    existence = torch.tensor([[1, 0.5, 0.5, 1, 1], [1, 0.001, 1, 1, 0]])
    penalty = model.penalty(existence, torch.tensor([3, 2]))
    torch.testing.assert_close(penalty, torch.tensor([0.5 * math.log(2), 0.0]), rtol=1e-6, atol=1e-9)
