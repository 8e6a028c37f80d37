"""Random demonstrations of two tasks, and a check of gradients on them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from induce.models.base import Model
from induce.tasks.craft.ocn import FIRST, OptionControllerConfig
from induce.tasks.examples import DemonstrationBatch

CONFIG = OptionControllerConfig(features=6, hidden_size=4, inner_size=5, options=3, tasks=2, temperature=2.0)
ACTIONS = 5


def observations_and_tasks(steps: int = 6, count: int = 3) -> tuple[Tensor, Tensor]:
    """Observations (B, N, F) and tasks (B,)."""
    torch.manual_seed(9)
    return torch.randn(count, steps, CONFIG.features, dtype=torch.float64), torch.arange(count) % CONFIG.tasks


def batch(lengths: tuple[int, ...] = (6, 4, 2)) -> DemonstrationBatch:
    observations, tasks = observations_and_tasks(max(lengths), len(lengths))
    tokens = FIRST + torch.randint(ACTIONS, observations.shape[:2])
    sizes = torch.tensor(lengths)
    real = torch.arange(max(lengths)) < sizes[:, None]
    return DemonstrationBatch(tokens * real, sizes, observations * real[..., None], tasks)


class Objective(torch.nn.Module):
    """The objective of ``model`` as a function of demonstrations, sampled with the same random seed in every call."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, demonstrations: DemonstrationBatch) -> Tensor:
        torch.manual_seed(8)
        return self.model.loss(demonstrations).objective


def assert_gradients_equal_finite_differences(model: Model) -> None:
    """Compare the gradients of all parameters with finite differences."""
    objective, demonstrations = Objective(model), batch()
    names = [name for name, _ in objective.named_parameters()]
    call: Callable[..., Tensor] = torch.func.functional_call
    values = tuple(parameter.detach().clone().requires_grad_() for parameter in model.parameters())
    assert torch.autograd.gradcheck(
        lambda *values: call(objective, dict(zip(names, values, strict=True)), (demonstrations,)),
        values,
        fast_mode=True,
    )
