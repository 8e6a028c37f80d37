"""Products of rounded factors, and the library that multiplies: never one that rounds without being asked to.

Rounded products are near those of float32, in training alone, and only where a model was made for it. OneDNN is used
for large products on other processors than Intel's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from induce.layers import products
from induce.layers.cross_entropy import cross_entropy
from induce.layers.products import (
    BFLOAT16,
    FLOAT32,
    MKL,
    ONEDNN,
    ProductSizes,
    choose_library,
    computing,
    exact,
    in_float32,
    multiplying,
    rounds,
)
from induce.models.language.onlstm_kernel import recurrence
from induce.registry import MODELS, load
from induce.training.prepare import prepare_run
from induce.training.request import RunRequest
from treebank.base.errors import SynparseError

CPU = torch.device("cpu")


def of_cross_entropy(made: Callable[..., Tensor]) -> tuple[Tensor, list[Tensor]]:
    parts = [made(700, 64), made(300, 64), made(300)]
    return cross_entropy(*parts, torch.arange(700) % 300), parts


def of_onlstm(made: Callable[..., Tensor]) -> tuple[Tensor, list[Tensor]]:
    parts = [made(9, 4, 2 * 4 + 4 * 32), made(2 * 4 + 4 * 32, 32), made(4, 32), made(4, 4, 8)]
    hidden, _, distances, _ = recurrence(*parts)
    return hidden.square().sum() + distances.sum(), parts


@pytest.mark.parametrize("work", [of_cross_entropy, of_onlstm])
def test_rounded_losses_and_gradients_are_near(work: Callable[..., tuple[Tensor, list[Tensor]]]) -> None:
    result = []
    for precision in (FLOAT32, BFLOAT16):
        numbers = torch.Generator().manual_seed(1)
        made = lambda *shape, numbers=numbers: torch.randn(shape, generator=numbers).mul_(0.5).requires_grad_()  # noqa: E731
        with computing(precision, CPU):
            loss, parts = work(made)
        assert loss.dtype == torch.float32
        loss.backward()
        result.append((loss.detach(), [part.grad for part in parts]))
    (exact, gradients), (near, others) = result
    assert float(near) == pytest.approx(float(exact), rel=1e-2)
    assert float(near) != float(exact)  # something was rounded
    for item, other in zip(gradients, others, strict=True):
        assert float((item - other).norm() / item.norm()) < 0.02


def test_a_function_in_float32_gets_full_numbers() -> None:
    names_seen: list[Any] = []

    @in_float32
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        names_seen.append((x.dtype, rounds(x), scale))
        return x

    with computing(BFLOAT16, CPU):
        forward(None, torch.ones(2, dtype=torch.bfloat16), 2.0)
    forward(None, torch.ones(2), 1.0)
    assert names_seen == [(torch.float32, False, 2.0), (torch.float32, False, 1.0)]


def test_a_training_rounds_and_its_scores_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the old man saw a dog\nthe dog ran home\n" * 20)
    requested = ("model.embedding_size=8", "model.hidden_size=8", "model.chunk_size=4", "train.epochs=1")
    run = {
        name: RunRequest(run=str(tmp_path / name), text=(str(text),), model="onlstm", settings=(*requested, *more))
        for name, more in (("plain", ()), ("rounded", ("train.precision=bfloat16",)))
    }
    kind, asked_in = load(MODELS.get("onlstm").location), []
    loss = kind.loss
    monkeypatch.setattr(
        kind, "loss", lambda self, *rest: asked_in.append((self.training, rounds(torch.ones(1)))) or loss(self, *rest)
    )
    weights = []
    for request in run.values():
        trainer = prepare_run(request)
        list(trainer.train())
        weights.append(torch.cat([item.detach().flatten() for item in trainer.run.model.parameters()]))
    assert set(asked_in) == {(True, False), (True, True), (False, False)}
    assert not torch.equal(*weights)
    assert torch.allclose(*weights, atol=0.05)


@pytest.mark.parametrize(("model", "task"), [("npcfg", ""), ("tree-lstm", "listops")])
def test_grammars_and_encoders_are_never_rounded(model: str, task: str, tmp_path: Path) -> None:
    request = RunRequest(run=str(tmp_path / "run"), model=model, purpose=task, settings=("train.precision=bfloat16",))
    with pytest.raises(SynparseError, match=f"'{model}' learns in float32 only"):
        prepare_run(request)


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
    monkeypatch.setattr(products, "is_intel", lambda: False)
    monkeypatch.setattr(products, "exact", lambda: False)
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
    monkeypatch.setattr(products, "is_intel", lambda: intel)
    monkeypatch.setattr(products, "exact", lambda: True)
    assert choose_library(lambda: torch.ones(2, 3) @ torch.ones(3, 4), least) == name


def test_denormal_numbers_are_zero_inside_the_block_only() -> None:
    smallest = torch.tensor(torch.finfo(torch.float32).tiny)
    for library in (MKL, ONEDNN):
        with multiplying(library):
            assert smallest / 2 == 0
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(lambda: (smallest / 2).item()).result() == 0
        assert smallest / 2 > 0
