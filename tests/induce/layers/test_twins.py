"""Kernels against their plain twins: outputs, and gradients. PRPN is compared in ``test_prpn.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from induce.layers import cross_entropy, layer_norm
from induce.layers import cross_entropy as kernel
from induce.layers.cross_entropy import mixture_cross_entropy, mixture_log_probabilities
from induce.models.language import onlstm_kernel
from induce.models.language import onlstm_kernel as onlstm
from induce.models.language import ordered_memory_kernel as ordered_memory
from tests.support.twins import recurrences as plain

pytestmark = pytest.mark.usefixtures("double")


def compare(kernel: Callable[..., Any], twin: Callable[..., Any], leaves: Sequence[Tensor], **close: float) -> None:
    """Compare the results of both for ``leaves``: outputs and gradients of a random sum of them must agree."""
    results = []
    for run in (kernel, twin):
        arguments = [leaf.detach().clone().requires_grad_() for leaf in leaves]
        outputs = run(*arguments)
        outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
        torch.manual_seed(1)
        weighted = [(output * torch.randn_like(output)).sum() for output in outputs]  # of all, so that draws agree
        total = torch.stack(
            [item for item, output in zip(weighted, outputs, strict=True) if output.requires_grad]
        ).sum()
        results.append([*outputs, *torch.autograd.grad(total, arguments)])
    for value, expected in zip(*results, strict=True):
        torch.testing.assert_close(value, expected, **(close or {"rtol": 1e-10, "atol": 1e-12}))


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("cached", [1, 100, 2**16])
@pytest.mark.parametrize("shape", [(1, 1, 4, 1, 0), (7, 3, 12, 4, 0), (6, 2, 6, 6, 0), (7, 3, 12, 4, 1)])
def test_onlstm(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], cached: int, left: bool) -> None:
    """Both orders of the factors, blocks of any number of steps, and one more entry in each master gate."""
    monkeypatch.setattr(onlstm_kernel, "CACHED_ENTRIES", 0 if left else 2**20)
    monkeypatch.setattr(onlstm, "CACHED", cached)
    steps, batch, units, chunk_size, extra = shape
    chunks = units // chunk_size
    rows = 2 * (chunks + extra) + 4 * units
    leaves = torch.randn(steps, batch, rows), torch.randn(rows, units), torch.randn(batch, units)
    leaves = [*leaves, torch.randn(batch, chunks, chunk_size)]
    compare(onlstm.recurrence, plain.onlstm_recurrence, leaves)


def test_onlstm_without_gradients_gives_the_same() -> None:
    arguments = torch.randn(5, 2, 28), torch.randn(28, 6), torch.randn(2, 6), torch.randn(2, 2, 3)
    expected = plain.onlstm_recurrence(*arguments)
    with torch.inference_mode():
        for value, other in zip(onlstm.recurrence(arguments[0].clone(), *arguments[1:]), expected, strict=True):
            torch.testing.assert_close(value, other)


@pytest.mark.parametrize("dropped", [False, True])
def test_ordered_memory(dropped: bool) -> None:
    """Sentences that begin to use the stack at different slots, one at none."""
    above = torch.tensor([[0, 0, 0, 1], [0, 0.2, 0.5, 1], [0.1, 0.2, 0.9, 1], [0, 0, 0, 0]])
    active = above > 0
    masks = [(torch.rand(int(active.sum()), width) < 0.7) / 0.7 for width in (3, 3, 12)] if dropped else None
    leaves = [torch.randn(4, 3), torch.randn(4, 4, 3), above]
    leaves += [torch.randn(*shape) for shape in ((12, 6), (12,), (12, 12), (12,), (3,), (3,))]

    def run(function: Callable[..., Tensor], x: Tensor, memory: Tensor, shares: Tensor, *weights: Tensor) -> Tensor:
        # The kernel has no gradient for the share of a slot that is not in use; nor is there one by this product.
        return function(x, memory, shares * active, ordered_memory.CellWeights(*weights), 1e-5, masks)

    compare(
        lambda *arguments: run(ordered_memory.fill_slots, *arguments),
        lambda *arguments: run(plain.fill_slots, *arguments),
        leaves,
    )


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_cross_entropy(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """In blocks that divide the rows, that do not, and in one."""
    monkeypatch.setattr(cross_entropy, "ROWS", rows)
    targets = torch.randint(9, (10,))
    compare(
        lambda *arguments: cross_entropy.cross_entropy(*arguments, targets),
        lambda *arguments: plain.cross_entropy(*arguments, targets),
        [torch.randn(10, 5), torch.randn(9, 5), torch.randn(9)],
    )


def test_layer_norm() -> None:
    leaves = [torch.randn(4, 3, 7), torch.randn(7), torch.randn(7)]
    compare(layer_norm.layer_norm, plain.layer_norm, leaves, rtol=1e-8, atol=1e-10)


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
