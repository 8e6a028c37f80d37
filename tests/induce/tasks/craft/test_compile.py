"""CompILE: segments from given ends, prior, gradients, and padding."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from induce.models.base import Query
from induce.structures import Distances
from induce.tasks.craft.compile import NEVER, Compile, CompileConfig, poisson, shares
from induce.tasks.craft.ocn import FIRST
from tests.support.demonstrations import ACTIONS, CONFIG, assert_gradients_equal_finite_differences, batch


def made(segments: int = 3) -> Compile:
    torch.manual_seed(5)
    config = CompileConfig(features=CONFIG.features, hidden_size=4, options=3, segments=segments, tasks=2)
    model = Compile(config, FIRST + ACTIONS).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.5 * torch.randn_like(parameter)
    return model


def test_shares_follow_from_the_ends_of_segments() -> None:
    """Segments that end before steps 2 and 4 of 6, and two ends that are uniform over positions."""
    ends = [functional.one_hot(torch.tensor([step]), 7).double() for step in (2, 4, 6)]
    assert shares(ends)[:, 0, :-1].tolist() == [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]]
    soft = torch.tensor([[0, 0.5, 0.5, 0]]).double()
    inside = shares([soft, functional.one_hot(torch.tensor([3]), 4).double()])
    assert inside[:, 0].tolist() == [[1, 0.5, 0, 0], [0, 0.5, 1, 0]]


def test_prior_of_ends_is_poisson() -> None:
    table = poisson(5, 3.0)
    assert not table.tril().any()
    assert table[1, 3] == pytest.approx(math.exp(-3) * 3**2 / 2)


def test_evaluation_does_not_depend_on_padding() -> None:
    model, demonstrations = made(), batch((9, 7, 5))
    segments = model.read(demonstrations)
    for scores, drawn in zip(segments.ends, segments.drawn_ends, strict=False):
        assert (drawn.sum(1) == 1).all()
        assert (scores[2, 6:] == NEVER).all()
        assert (scores[:, 0] == NEVER).all()
    trace = model.trace(demonstrations)
    torch.testing.assert_close(trace.actions.sum(-1)[0], torch.ones(9).double())
    torch.testing.assert_close(trace.choice.sum(-1)[0], torch.ones(9).double())
    assert set(trace.end.flatten().tolist()) <= {0.0, 1.0}
    assert 1 <= trace.end[0, 1:].sum() <= 2
    rows = model.structure(demonstrations, Query(Distances)).rows()
    alone = [model.loss(part) for part in demonstrations.parts(3)]
    loss = model.loss(demonstrations)
    for key in ("nll", "objective"):
        expected = sum(getattr(part, key) * part.count for part in alone) / 21
        torch.testing.assert_close(getattr(loss, key), expected)
    assert rows == [model.structure(part, Query(Distances)).rows()[0] for part in demonstrations.parts(3)]


def test_gradients_equal_finite_differences() -> None:
    model = made().train()
    assert_gradients_equal_finite_differences(model)
    model.loss(batch()).objective.backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in model.parameters())
