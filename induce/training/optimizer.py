"""Optimizers: NT-ASGD, which is SGD that switches to averaging, and Adam or plain SGD with a falling learning rate.

All have the methods of `Optimizer`, and ``step(factor)``.
The arithmetic is that of torch's functions, because its optimizer classes load its compiler, which takes seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from induce.settings.run import AdamSettings, GradientSettings, NtAsgdSettings, SgdSettings

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
        # a third of the time of plain arithmetic on CPUs, where the bits do not depend on the number of threads
        fused = all(parameter.device.type == "cpu" for parameter in self.parameters)
        adam(
            [self.parameters[k] for k in indices],
            [gradient for parameter in self.parameters if (gradient := parameter.grad) is not None],
            [self.means[k] for k in indices],
            [self.squares[k] for k in indices],
            [],
            [self.steps[k] for k in indices],
            foreach=False,
            fused=fused,
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


class EpochEnd(NamedTuple):
    """Decision of an optimizer after the development loss of an epoch."""

    stop: bool = False
    note: str = ""  # "averaging starts", "learning rate 0.001" …


class Optimizer:
    """Methods of an optimizer besides its updates. The defaults are those of a model that learns without one."""

    def end_of_epoch(self, loss: float) -> EpochEnd:
        """The decision that follows from the development ``loss`` of an epoch."""
        return EpochEnd()

    def averaged(self) -> AbstractContextManager[None]:
        """Block in which the model has the weights to score and store, such as averaged weights."""
        return nullcontext()

    def state_dict(self) -> dict[str, Any]:
        """State for a checkpoint, besides the model."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from ``state_dict``, on whatever device its tensors are.

        Raises ValueError or KeyError if it belongs to another algorithm or to a model of another size.
        """


class NtAsgd(Optimizer):
    """SGD that switches to averaging when the development loss no longer falls (Merity et al. 2017, algorithm 1).

    As in the released ON-LSTM program, which relies on accidents of `torch.optim.ASGD`: while averaging, the step size
    lags one step behind the requested one, and the average leaves out the first iterate. Gradients are clipped before.
    """

    def __init__(self, parameters: list[Tensor], settings: NtAsgdSettings) -> None:
        self.parameters, self.settings = parameters, settings
        self.recorded: list[float] = []
        self.epoch = 0
        self.steps = 0  # since averaging started
        self.step_size = 0.0  # of the next averaging step
        self.averages: list[Tensor] | None = None

    @torch.no_grad()
    def step(self, factor: float = 1.0, schedule: float = 1.0) -> None:
        """One update with the nominal learning rate times ``factor`` (segment length over nominal length) and times
        ``schedule``, the factor of a learning-rate schedule."""
        rate = self.settings.learning_rate * factor * schedule
        used = rate
        if self.averages is not None:
            self.steps += 1
            used = rate if self.steps == 1 else self.step_size
            self.step_size = rate
        for k, parameter in enumerate(self.parameters):
            if parameter.grad is None:
                continue
            gradient = parameter.grad.add(parameter, alpha=self.settings.weight_decay)
            parameter.add_(gradient, alpha=-used)
            if self.averages is not None:
                share = 1 / max(1, self.steps - 1)
                if share == 1:
                    self.averages[k].copy_(parameter)
                else:
                    self.averages[k].add_(parameter - self.averages[k], alpha=share)

    def end_of_epoch(self, loss: float) -> EpochEnd:
        """Start, restart or end averaging by the published rules, given the development loss."""
        self.epoch += 1
        nonmonotone, restart_epoch = self.settings.nonmonotone, self.settings.restart_epoch
        worse = len(self.recorded) > nonmonotone and loss > min(self.recorded[:-nonmonotone])
        if self.averages is None:
            if worse:
                self._start()
            self.recorded.append(loss)
            return EpochEnd(note="averaging starts" if worse else "")
        if self.epoch == restart_epoch:
            self._start()
            self.recorded.clear()
            return EpochEnd(note="averaging restarts")
        return EpochEnd(stop=self.epoch > restart_epoch and worse)

    def _start(self) -> None:
        self.averages = [parameter.detach().clone() for parameter in self.parameters]
        self.steps = 0

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Within the block the parameters are their averages, once averaging has started."""
        if self.averages is None:
            yield
            return
        current = [parameter.detach().clone() for parameter in self.parameters]
        self._assign(self.averages)
        try:
            yield
        finally:
            self._assign(current)

    @torch.no_grad()
    def _assign(self, values: list[Tensor]) -> None:
        for parameter, value in zip(self.parameters, values, strict=True):
            parameter.copy_(value)

    def state_dict(self) -> dict[str, Any]:
        """State for a checkpoint."""
        names = ("recorded", "epoch", "steps", "step_size", "averages")
        return {name: getattr(self, name) for name in names}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from ``state_dict``."""
        for name in self.state_dict():
            setattr(self, name, state[name])
        if self.averages is not None:
            pairs = zip(self.averages, self.parameters, strict=True)
            self.averages = [average.to(parameter.device) for average, parameter in pairs]


class Falling(Optimizer):
    """SGD or Adam with a learning rate that falls, and training that ends, once the development loss stops falling."""

    def __init__(self, inner: Sgd | Adam, settings: SgdSettings) -> None:
        self.inner, self.settings = inner, settings
        self.best = float("inf")
        self.waited = 0
        self.decayed = 0

    def step(self, factor: float = 1.0, schedule: float = 1.0) -> None:
        """One update. Only SGD uses ``factor``, since the gradient is a mean over the words of a segment."""
        self.inner.step(self._rate() * (factor * schedule if isinstance(self.inner, Sgd) else schedule))

    def _rate(self) -> float:
        return self.settings.learning_rate * self.settings.decay**self.decayed

    def end_of_epoch(self, loss: float) -> EpochEnd:
        """Lower the learning rate after ``patience`` checks without progress, given the development loss."""
        if loss < self.best:
            self.best, self.waited = loss, 0
            return EpochEnd()
        self.waited += 1
        if self.waited < self.settings.patience:
            return EpochEnd()
        self.waited = 0
        self.decayed += 1
        if self.decayed > self.settings.decays:
            return EpochEnd(stop=True)
        return EpochEnd(note=f"learning rate {self._rate():g}")

    def state_dict(self) -> dict[str, Any]:
        """State for a checkpoint."""
        inner = self.inner.state_dict() if isinstance(self.inner, Adam) else {}  # steps of SGD are independent
        return {"inner": inner, "best": self.best, "waited": self.waited, "decayed": self.decayed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from ``state_dict``."""
        if isinstance(self.inner, Adam):
            self.inner.load_state_dict(state["inner"])
        self.best, self.waited, self.decayed = state["best"], state["waited"], state["decayed"]


def make_optimizer(parameters: list[Tensor], config: GradientSettings) -> NtAsgd | Falling:
    """Optimizer of ``parameters`` with its own settings."""
    if isinstance(config, NtAsgdSettings):
        return NtAsgd(parameters, config)
    assert isinstance(config, SgdSettings)
    decay = config.weight_decay
    if isinstance(config, AdamSettings):
        adam = Adam(parameters, beta1=config.beta1, epsilon=config.epsilon, weight_decay=decay)
        return Falling(adam, config)
    return Falling(Sgd(parameters, weight_decay=decay), config)
