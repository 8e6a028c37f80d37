"""Products of rounded factors: near those of float32, in training alone, and only where a model was made for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from induce.layers.cross_entropy import cross_entropy
from induce.layers.rounding import BFLOAT16, FLOAT32, computing, in_float32, rounds
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
    request = RunRequest(run=str(tmp_path / "run"), model=model, task=task, settings=("train.precision=bfloat16",))
    with pytest.raises(SynparseError, match=f"'{model}' learns in float32 only"):
        prepare_run(request)
