"""Optimisers: SGD that turns into averaged SGD (NT-ASGD) as the ON-LSTM program does it, and Adam or plain SGD whose
learning rate falls.

All offer the same four things to the loop: ``step(factor)``, ``end_of_epoch(loss)``, ``averaged()`` and their state.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

from induce.training.optimizer_settings import AdamSettings, GradientSettings, NtAsgdSettings, SgdSettings
from induce.training.update import Adam, Sgd


class EpochEnd(NamedTuple):
    """What an optimiser decides when it hears the development loss of an epoch."""

    stop: bool = False
    note: str = ""  # "averaging starts", "learning rate 0.001" …


class NtAsgd:
    """SGD that switches to averaging when the development loss no longer falls (Merity et al. 2017, algorithm 1).

    As in the released ON-LSTM program, which relies on accidents of `torch.optim.ASGD`: while averaging, the step size
    lags one step behind the one asked for, and the average leaves out the first iterate. Gradients come clipped.
    """

    def __init__(
        self,
        parameters: list[Tensor],
        *,
        learning_rate: float,
        weight_decay: float,
        nonmonotone: int,
        restart_epoch: int,
    ) -> None:
        self.parameters = parameters
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.nonmonotone, self.restart_epoch = nonmonotone, restart_epoch
        self.recorded: list[float] = []
        self.epoch = 0
        self.steps = 0  # since averaging started
        self.step_size = 0.0  # the one that the next averaging step uses
        self.averages: list[Tensor] | None = None

    @torch.no_grad()
    def step(self, factor: float = 1.0, schedule: float = 1.0) -> None:
        """One update with learning rate ``factor`` times the nominal one (segment length over nominal length), and
        times what a ``schedule`` makes of it."""
        rate = self.learning_rate * factor * schedule
        used = rate
        if self.averages is not None:
            self.steps += 1
            used = rate if self.steps == 1 else self.step_size
            self.step_size = rate
        for k, parameter in enumerate(self.parameters):
            if parameter.grad is None:
                continue
            gradient = parameter.grad.add(parameter, alpha=self.weight_decay)
            parameter.add_(gradient, alpha=-used)
            if self.averages is not None:
                share = 1 / max(1, self.steps - 1)
                if share == 1:
                    self.averages[k].copy_(parameter)
                else:
                    self.averages[k].add_(parameter - self.averages[k], alpha=share)

    def end_of_epoch(self, loss: float) -> EpochEnd:
        """Hear the development loss; start, restart or end averaging by the published rules."""
        self.epoch += 1
        worse = len(self.recorded) > self.nonmonotone and loss > min(self.recorded[: -self.nonmonotone])
        if self.averages is None:
            if worse:
                self._start()
                note = "averaging starts"
            else:
                note = ""
            self.recorded.append(loss)
            return EpochEnd(note=note)
        if self.epoch == self.restart_epoch:
            self._start()
            self.recorded.clear()
            return EpochEnd(note="averaging starts anew")
        return EpochEnd(stop=self.epoch > self.restart_epoch and worse)

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
        """Everything needed to go on."""
        names = ("recorded", "epoch", "steps", "step_size", "averages")
        return {name: getattr(self, name) for name in names}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from ``state_dict``, wherever its tensors are."""
        for name in self.state_dict():
            setattr(self, name, state[name])
        if self.averages is not None:
            pairs = zip(self.averages, self.parameters, strict=True)
            self.averages = [average.to(parameter.device) for average, parameter in pairs]


class Falling:
    """SGD or Adam: its learning rate falls when the development loss stops falling, and it ends training in time."""

    def __init__(
        self,
        inner: Sgd | Adam,
        *,
        learning_rate: float,
        decay: float,
        patience: int,
        decays: int,
        scaled: bool,
    ) -> None:
        """``scaled``: steps are longer for longer segments, since the gradient is a mean over their words."""
        self.inner, self.learning_rate, self.scaled = inner, learning_rate, scaled
        self.decay, self.patience, self.decays = decay, patience, decays
        self.best = float("inf")
        self.waited = 0
        self.decayed = 0

    def step(self, factor: float = 1.0, schedule: float = 1.0) -> None:
        """One update. ``factor`` is used by SGD alone: Adam's step does not grow with the gradient."""
        times = factor * schedule if self.scaled else schedule
        self.inner.step(self.learning_rate * self.decay**self.decayed * times)

    def end_of_epoch(self, loss: float) -> EpochEnd:
        """Hear the development loss; lower the learning rate after ``patience`` checks without progress."""
        if loss < self.best:
            self.best, self.waited = loss, 0
            return EpochEnd()
        self.waited += 1
        if self.waited < self.patience:
            return EpochEnd()
        self.waited = 0
        self.decayed += 1
        if self.decayed > self.decays:
            return EpochEnd(stop=True)
        return EpochEnd(note=f"learning rate {self.learning_rate * self.decay**self.decayed:g}")

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Nothing is averaged."""
        yield

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on."""
        return {
            "inner": self.inner.state_dict(),
            "best": self.best,
            "waited": self.waited,
            "decayed": self.decayed,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from ``state_dict``, wherever its tensors are."""
        self.inner.load_state_dict(state["inner"])
        self.best, self.waited, self.decayed = state["best"], state["waited"], state["decayed"]


def make_optimizer(parameters: list[Tensor], config: GradientSettings) -> NtAsgd | Falling:
    """Optimizer of ``parameters`` with its own settings."""
    if isinstance(config, NtAsgdSettings):
        return NtAsgd(
            parameters,
            learning_rate=config.learning_rate,
            weight_decay=config.weight_decay,
            nonmonotone=config.nonmonotone,
            restart_epoch=config.restart_epoch,
        )
    inner: Sgd | Adam = (
        Adam(parameters, beta1=config.beta1, epsilon=config.epsilon, weight_decay=config.weight_decay)
        if isinstance(config, AdamSettings)
        else Sgd(parameters, weight_decay=config.weight_decay)
    )
    assert isinstance(config, SgdSettings)
    return Falling(
        inner,
        learning_rate=config.learning_rate,
        decay=config.decay,
        patience=config.patience,
        decays=config.decays,
        scaled=isinstance(inner, Sgd),
    )


class Unoptimized:
    """In the place of an optimiser for a model that learns without gradients."""

    def end_of_epoch(self, loss: float) -> EpochEnd:
        """The model itself says when it is done."""
        return EpochEnd()

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """There is nothing to average."""
        yield

    def state_dict(self) -> dict[str, Any]:
        """Empty."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """There is nothing to load."""
