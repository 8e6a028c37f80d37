"""One update of the weights from their gradients: plain SGD, and Adam.

The arithmetic is that of torch's functions. Torch's optimizer classes would load its compiler, which takes seconds in
every process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.sgd import sgd

BETA2 = 0.999  # decay rate of Adam's mean of squares


class Sgd:
    """w ← w - rate (gradient + weight_decay w). Weights without a gradient stay."""

    def __init__(self, parameters: list[Tensor], *, weight_decay: float) -> None:
        self.parameters, self.weight_decay = parameters, weight_decay

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One update."""
        weights = [parameter for parameter in self.parameters if parameter.grad is not None]
        gradients = [parameter.grad for parameter in weights if parameter.grad is not None]
        plain: dict[str, Any] = {"momentum": 0.0, "dampening": 0.0, "nesterov": False, "maximize": False}
        buffers: list[Tensor | None] = [None] * len(weights)
        sgd(weights, gradients, buffers, foreach=False, lr=rate, weight_decay=self.weight_decay, **plain)

    def state_dict(self) -> dict[str, Any]:
        """Empty: updates do not depend on earlier ones."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Nothing to load."""


class Adam:
    """Kingma & Ba (2015), algorithm 1, the weight decay a part of the gradient. Weights without a gradient stay."""

    def __init__(self, parameters: list[Tensor], *, beta1: float, epsilon: float, weight_decay: float) -> None:
        self.parameters, self.beta1, self.epsilon, self.weight_decay = parameters, beta1, epsilon, weight_decay
        self.steps = [torch.zeros(()) for _ in parameters]  # number of updates of each
        self.means = [torch.zeros_like(parameter) for parameter in parameters]  # of its gradients
        self.squares = [torch.zeros_like(parameter) for parameter in parameters]  # mean of the squares of its gradients

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One update."""
        indices = [k for k, parameter in enumerate(self.parameters) if parameter.grad is not None]
        adam(
            [self.parameters[k] for k in indices],
            [gradient for parameter in self.parameters if (gradient := parameter.grad) is not None],
            [self.means[k] for k in indices],
            [self.squares[k] for k in indices],
            [],
            [self.steps[k] for k in indices],
            foreach=False,
            amsgrad=False,
            beta1=self.beta1,
            beta2=BETA2,
            lr=rate,
            weight_decay=self.weight_decay,
            eps=self.epsilon,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """Number of updates and both means of all updated weights, in the layout of torch."""
        names = ("step", "exp_avg", "exp_avg_sq")
        values = enumerate(zip(self.steps, self.means, self.squares, strict=True))
        return {"state": {k: dict(zip(names, value, strict=True)) for k, value in values if self.steps[k]}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``. Raises ValueError if it belongs to weights of other shapes."""
        for k, entry in state["state"].items():
            self.steps[k].copy_(entry["step"])
            for mean, stored in ((self.means[k], entry["exp_avg"]), (self.squares[k], entry["exp_avg_sq"])):
                if mean.shape != stored.shape:
                    raise ValueError(f"means of shape {list(stored.shape)} for weights of shape {list(mean.shape)}")
                mean.copy_(stored)
