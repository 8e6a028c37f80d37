"""One update of the weights from their gradients: plain SGD, and Adam.

Those of torch give the same numbers, bit for bit, but load its compiler, for which every process would wait seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

BETA2 = 0.999  # memory of Adam's mean of squares


class Sgd:
    """w ← w - rate (gradient + weight_decay w). Weights without a gradient stay."""

    def __init__(self, parameters: list[Tensor], *, weight_decay: float) -> None:
        self.parameters, self.weight_decay = parameters, weight_decay

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One update."""
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter.add_(_decayed(parameter, parameter.grad, self.weight_decay), alpha=-rate)

    def state_dict(self) -> dict[str, Any]:
        """Empty: no update depends on those before it."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """There is nothing to load."""


class Adam:
    """Kingma & Ba (2015), algorithm 1, the weight decay a part of the gradient. Weights without a gradient stay."""

    def __init__(self, parameters: list[Tensor], *, beta1: float, epsilon: float, weight_decay: float) -> None:
        self.parameters, self.beta1, self.epsilon, self.weight_decay = parameters, beta1, epsilon, weight_decay
        self.steps = [0] * len(parameters)  # the updates of each
        self.means = [torch.zeros_like(parameter) for parameter in parameters]  # of its gradients
        self.squares = [torch.zeros_like(parameter) for parameter in parameters]  # mean of the squares of its gradients

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One update."""
        for k, parameter in enumerate(self.parameters):
            if parameter.grad is None:
                continue
            gradient = _decayed(parameter, parameter.grad, self.weight_decay)
            self.steps[k] += 1
            self.means[k].lerp_(gradient, 1 - self.beta1)
            self.squares[k].mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
            unbiased = self.squares[k].sqrt() / (1 - BETA2 ** self.steps[k]) ** 0.5
            size = rate / (1 - self.beta1 ** self.steps[k])
            parameter.addcdiv_(self.means[k], unbiased.add_(self.epsilon), value=-size)

    def state_dict(self) -> dict[str, Any]:
        """Number of updates and both means of all that was updated, laid out as torch does it."""
        names = ("step", "exp_avg", "exp_avg_sq")
        counts = (torch.tensor(float(count)) for count in self.steps)
        values = enumerate(zip(counts, self.means, self.squares, strict=True))
        return {"state": {k: dict(zip(names, value, strict=True)) for k, value in values if self.steps[k]}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from ``state_dict``, wherever its tensors are. ValueError: it is that of other weights."""
        for k, one in state["state"].items():
            self.steps[k] = int(one["step"])
            for mine, stored in ((self.means[k], one["exp_avg"]), (self.squares[k], one["exp_avg_sq"])):
                if mine.shape != stored.shape:
                    raise ValueError(f"means of shape {list(stored.shape)} for weights of shape {list(mine.shape)}")
                mine.copy_(stored)


def _decayed(parameter: Tensor, gradient: Tensor, weight_decay: float) -> Tensor:
    return gradient.add(parameter, alpha=weight_decay) if weight_decay else gradient
