"""Which library multiplies: never one that rounds, and the faster one for a model of large products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from induce.layers import backend
from induce.layers.backend import MKL, ONEDNN, Backend, Sizes, backend_for, exact, multiplying

SWITCH = getattr(torch.backends.mkldnn, "matmul", None)


def switched() -> str:
    return str(getattr(SWITCH, "fp32_precision", "ieee"))


@pytest.fixture(autouse=True)
def given_back() -> Iterator[None]:
    before = switched()
    yield
    assert switched() == before


@pytest.mark.parametrize("name", [MKL, ONEDNN])
def test_products_of_both_are_those_of_float32(name: str) -> None:
    torch.manual_seed(0)
    one, other = torch.randn(128, 512), torch.randn(512, 512)
    with multiplying(name):
        error = (one @ other - (one.double() @ other.double())).abs().max()
    assert error < 2e-4  # rounded to eight bits it would be 0.3


def test_one_that_rounds_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "exact", lambda: False)
    before = switched()
    with multiplying(ONEDNN):
        assert switched() == before
    backend.faster.cache_clear()
    assert not backend.faster()
    backend.faster.cache_clear()


def test_exactness_is_found_by_numbers_that_eight_bits_would_round() -> None:
    """With factors that are rounded the test of `exact` fails, so that it tells one from the other."""
    one, factor = torch.full((4, 8), 1 + 2.0**-12), 1 + 2.0**-11
    rounded = one.bfloat16().float() @ (factor * torch.eye(8)).bfloat16().float()
    assert not bool((rounded == one * factor).any())
    assert isinstance(exact(), bool)


@pytest.mark.parametrize("inference", [False, True])
def test_products_are_counted(inference: bool) -> None:
    layer, x = nn.Linear(5, 7), torch.randn(3, 5, requires_grad=True)
    with torch.inference_mode() if inference else nullcontext(), Sizes() as sizes:
        y = layer(x)
        if not inference:
            y.sum().backward()
        torch.einsum("bij,bjk->bik", torch.randn(2, 3, 4), torch.randn(2, 4, 6))
    linear = 1 if inference else 3  # both factors have gradients
    assert (sizes.calls, sizes.multiplications) == (linear + 1, linear * 3 * 5 * 7 + 2 * 3 * 4 * 6)


@pytest.mark.parametrize(("faster", "least", "name"), [(True, 1, ONEDNN), (True, 10**9, MKL), (False, 1, MKL)])
def test_a_model_of_large_products_has_the_faster_one(
    monkeypatch: pytest.MonkeyPatch, faster: bool, least: int, name: str
) -> None:
    monkeypatch.setattr(backend, "faster", lambda: faster)
    assert backend_for(lambda: torch.ones(2, 3) @ torch.ones(3, 4), least) == (
        name,
        pytest.approx(torch.full((2, 4), 3)),
    )


def test_the_first_step_decides_and_the_others_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [ONEDNN, MKL]
    monkeypatch.setattr(backend, "backend_for", lambda work: (chosen.pop(0), work()))
    with Backend() as used:
        assert used.step(switched) == "ieee"
        assert (used.name, len(chosen)) == (ONEDNN, 1)
        assert used.step(switched) == ("bf16" if exact() else "ieee")
    with Backend(MKL) as used:
        assert used.step(switched) == "ieee"
    assert chosen == [MKL]  # not asked again
