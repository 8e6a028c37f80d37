"""CompILE, a baseline: segments from given ends, prior, gradients, and padding."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from induce.models.base import Query
from induce.structures import Distances
from induce.tasks.craft.baselines import NEVER, Compile, CompileConfig, nll_of_ends, poisson, shares
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


def test_gradients_equal_finite_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """The likelihood of ends, whose gradient is cut, is left out of the objective. It reaches only the layer `done`."""
    model, name = made().train(), "induce.tasks.craft.baselines.nll_of_ends"
    model.loss(batch()).objective.backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in model.parameters())
    torch.manual_seed(8)
    model.zero_grad()
    model.loss(batch()).objective.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    monkeypatch.setattr(name, lambda inside, scores, real: 0 * scores.sum())
    torch.manual_seed(8)
    model.zero_grad()
    model.loss(batch()).objective.backward()
    for key, parameter in model.named_parameters():
        assert key.startswith("done.") or torch.equal(parameter.grad, gradients[key])
    assert_gradients_equal_finite_differences(model)


def test_likelihood_of_ends() -> None:
    """Two segments of five steps: the first ends before step 2. The second demonstration has three steps."""
    inside = torch.tensor([[[1, 1, 0, 0, 0], [1, 1, 1, 0, 0]], [[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]]]).double()
    real = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
    scores = torch.randn(2, 2, 5, dtype=torch.float64)
    e = scores.sigmoid()
    first = (1 - e[0, 0, 1]) * e[0, 0, 2] * (1 - e[1, 0, 3]) * (1 - e[1, 0, 4])
    second = (1 - e[0, 1, 1]) * (1 - e[0, 1, 2])
    torch.testing.assert_close(nll_of_ends(inside, scores, real), -(first * second).log())


def test_types_are_options() -> None:
    """An option has the actions of its type, and ends as the layer `done` says."""
    torch.manual_seed(6)
    model, observations = made(), torch.randn(7, CONFIG.features, dtype=torch.float64)
    options: Any = model.options_of_types()
    output = options.options(options.options.look(observations), options.first_option_state.expand(-1, 7, -1))
    for kind in range(3):
        inner: Tensor = model.observed_policy(observations) + model.segment_policy.weight[:, kind]
        inner = model.policy[:-1](inner)
        torch.testing.assert_close(output.scores[kind], model.policy[-1](inner))
        torch.testing.assert_close(output.end[kind], model.done(inner)[:, 0].sigmoid())
    assert not output.hidden.any()
