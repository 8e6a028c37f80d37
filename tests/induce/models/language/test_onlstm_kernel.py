"""Thin products: both orders of the factors give the same numbers, and the order follows from the size alone."""

from __future__ import annotations

import pytest
import torch

from induce.models.language import onlstm_kernel
from induce.models.language.onlstm_kernel import add_product


@pytest.mark.parametrize("cached", [0, 2**20])
@pytest.mark.parametrize("contiguous", [True, False])
def test_product_is_added_in_place(monkeypatch: pytest.MonkeyPatch, cached: int, contiguous: bool) -> None:
    monkeypatch.setattr(onlstm_kernel, "CACHED_ENTRIES", cached)
    matrix = torch.randn(6, 4) if contiguous else torch.randn(4, 6).t()
    total, x = torch.randn(3, 4), torch.randn(3, 6)
    expected = total + x @ matrix
    result = add_product(matrix)(total, x)
    torch.testing.assert_close(total, expected)
    assert result.data_ptr() == total.data_ptr()


@pytest.mark.parametrize("packs", [True, False])
def test_rounded_product_is_near_the_exact_one(monkeypatch: pytest.MonkeyPatch, packs: bool) -> None:
    """On processors with products of bfloat16, and on others."""
    if not packs:
        monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    matrix, x = torch.randn(64, 32), torch.randn(5, 64)
    total = torch.zeros(5, 32)
    add_product(matrix, rounded=True)(total, x)
    expected = x @ matrix
    assert 0 < float((total - expected).norm() / expected.norm()) < 0.02
