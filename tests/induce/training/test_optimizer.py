"""Updates of the weights are those of torch, and come without its compiler."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from induce.training.optimizer import Adam, Sgd, make_optimizer
from tests.support.fork_server import Call
from tests.support.tiny import settings


def weights() -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(3)
    return [torch.nn.Parameter(torch.randn(size, generator=draw)) for size in ((3, 5), (4,), (2, 2))]


def give_gradients(step: int, *parts: list[torch.Tensor]) -> None:
    """Equal gradients for the weights of each part, or None for the second weight in every third step."""
    for k, same in enumerate(zip(*parts, strict=True)):
        draw = torch.Generator().manual_seed(10 * step + k)
        gradient = torch.randn(same[0].shape, generator=draw)
        for item in same:
            item.grad = None if (k, step % 3) == (1, 0) else gradient.clone()


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["adam", "sgd"])
def test_updates_equal_those_of_torch_also_after_resuming(kind: str, weight_decay: float) -> None:
    optimizer, other = weights(), weights()

    def make() -> Any:
        if kind == "sgd":
            return Sgd(optimizer, weight_decay=weight_decay)
        return Adam(optimizer, beta1=0.75, epsilon=1e-6, weight_decay=weight_decay)

    usual: torch.optim.Optimizer = torch.optim.SGD(other, lr=1.0, weight_decay=weight_decay)
    if kind == "adam":
        usual = torch.optim.Adam(other, lr=1.0, betas=(0.75, 0.999), eps=1e-6, weight_decay=weight_decay, fused=True)
    update = make()
    for step in range(12):
        if step in (5, 8):
            before, update = update, make()
            if kind == "adam":  # updates of SGD do not depend on earlier ones
                update.load_state_dict(before.state_dict() if step == 5 else usual.state_dict())
        give_gradients(step, optimizer, other)
        usual.param_groups[0]["lr"] = 0.1 / (1 + step)
        usual.step()
        update.step(0.1 / (1 + step))
        assert all(torch.equal(item, same) for item, same in zip(optimizer, other, strict=True)), step


def test_the_means_of_other_weights_are_refused() -> None:
    first, second = weights()[:2]
    update = Adam([first], beta1=0.9, epsilon=1e-8, weight_decay=0.0)
    give_gradients(1, [first])
    update.step(0.1)
    with pytest.raises(ValueError, match=r"means of shape \[3, 5\] for weights of shape \[4\]"):
        Adam([second], beta1=0.9, epsilon=1e-8, weight_decay=0.0).load_state_dict(update.state_dict())


def test_neither_training_nor_loading_waits_for_the_compiler_of_torch(warm: str, tmp_path: Any) -> None:
    program = """
import sys
from pathlib import Path
from induce import registry
from induce.parsing.load import load_parser
from induce.models.base import build_with
from induce.models.base import make_model
from tests.support.tiny import settings, train
run = Path(sys.argv[1])
train(settings("onlstm", "train.epochs=1"), run / "onlstm", max_minutes=0.01)
load_parser(run / "onlstm")
for name in registry.MODELS:
    config = settings(name)
    tensors = make_model(config, 30).state_dict()
    build_with(lambda: make_model(config, 30), config.model, tensors)
sys.exit(7 if "torch._dynamo" in sys.modules else 0)
"""
    assert Call(warm, [str(tmp_path)], program=program).wait() == 0


def test_sgd_step_depends_on_loss_and_segment_length() -> None:
    parameter = nn.Parameter(torch.zeros(1))
    config = settings(
        "lstm", "optimizer.name=sgd", "optimizer.learning_rate=2", "optimizer.decay=0.25", "optimizer.weight_decay=0"
    )
    optimizer = make_optimizer([parameter], config.optimizer)
    steps = []
    for loss, factor in ((5.0, 1.0), (6.0, 0.5), (4.0, 1.0)):
        before = float(parameter.detach())
        parameter.grad = torch.ones(1)
        optimizer.step(factor)
        steps.append(before - float(parameter.detach()))
        optimizer.end_of_epoch(loss)
    assert steps == [2.0, 1.0, 0.5]
