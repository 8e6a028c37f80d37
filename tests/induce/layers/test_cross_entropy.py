"""Mixtures of softmaxes: the blockwise kernel compared with the formula."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from induce.layers import cross_entropy as kernel
from induce.layers.cross_entropy import mixture_cross_entropy, mixture_log_probabilities


def drawn(rows: int = 7) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """7 rows of 3 parts, 4 units, 6 words."""
    torch.manual_seed(1)
    hidden, shares = torch.randn(rows, 3, 4).double(), torch.randn(rows, 3).double().log_softmax(-1)
    return hidden, shares, torch.randn(6, 4).double(), torch.randn(6).double(), torch.randint(6, (rows,))


def test_loss_equals_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "LOGITS", 6)  # three blocks of two rows and a block of one
    hidden, shares, weight, bias, targets = drawn()
    words = (shares.exp()[..., None] * (hidden @ weight.t() + bias).softmax(-1)).sum(1)
    torch.testing.assert_close(words.sum(-1), torch.ones(7).double())
    expected = words[torch.arange(7), targets].log()
    torch.testing.assert_close(mixture_log_probabilities(*drawn()), expected)
    torch.testing.assert_close(mixture_cross_entropy(*drawn()), -expected.mean())
    assert not len(mixture_log_probabilities(*drawn(0)))


def test_gradients_equal_finite_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "LOGITS", 6)
    *floats, targets = drawn()
    values = tuple(value.requires_grad_() for value in floats)
    assert torch.autograd.gradcheck(lambda *inputs: mixture_cross_entropy(*inputs, targets), values)
