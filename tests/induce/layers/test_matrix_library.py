"""Library that multiplies: never one that rounds, and oneDNN for large products on other processors than Intel's."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from induce.layers import matrix_library
from induce.layers.matrix_library import MKL, ONEDNN, ProductSizes, choose_library, exact, multiplying

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
    item, other = torch.randn(128, 512), torch.randn(512, 512)
    with multiplying(name):
        error = (item @ other - (item.double() @ other.double())).abs().max()
    assert error < 2e-4  # rounded to eight bits it would be 0.3


def test_library_that_rounds_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_library, "is_intel", lambda: False)
    monkeypatch.setattr(matrix_library, "exact", lambda: False)
    before = switched()
    with multiplying(ONEDNN):
        assert switched() == before
    assert choose_library(lambda: torch.ones(64, 64) @ torch.ones(64, 64), 1) == MKL


def test_exactness_check_fails_for_factors_rounded_to_eight_bits() -> None:
    item, factor = torch.full((4, 8), 1 + 2.0**-12), 1 + 2.0**-11
    rounded = item.bfloat16().float() @ (factor * torch.eye(8)).bfloat16().float()
    assert not bool((rounded == item * factor).any())
    assert isinstance(exact(), bool)


@pytest.mark.parametrize("inference", [False, True])
def test_products_are_counted(inference: bool) -> None:
    layer, x = nn.Linear(5, 7), torch.randn(3, 5, requires_grad=True)
    with torch.inference_mode() if inference else nullcontext(), ProductSizes() as sizes:
        y = layer(x)
        if not inference:
            y.sum().backward()
        torch.einsum("bij,bjk->bik", torch.randn(2, 3, 4), torch.randn(2, 4, 6))
    linear = 1 if inference else 3  # both factors have gradients
    assert (sizes.calls, sizes.multiplications) == (linear + 1, linear * 3 * 5 * 7 + 2 * 3 * 4 * 6)


@pytest.mark.parametrize(("intel", "least", "name"), [(False, 1, ONEDNN), (False, 10**9, MKL), (True, 1, MKL)])
def test_library_follows_from_vendor_and_product_size(
    monkeypatch: pytest.MonkeyPatch, intel: bool, least: int, name: str
) -> None:
    monkeypatch.setattr(matrix_library, "is_intel", lambda: intel)
    monkeypatch.setattr(matrix_library, "exact", lambda: True)
    assert choose_library(lambda: torch.ones(2, 3) @ torch.ones(3, 4), least) == name


def test_denormal_numbers_are_zero_inside_the_block_only() -> None:
    smallest = torch.tensor(torch.finfo(torch.float32).tiny)
    for library in (MKL, ONEDNN):
        with multiplying(library):
            assert smallest / 2 == 0
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(lambda: (smallest / 2).item()).result() == 0
        assert smallest / 2 > 0
