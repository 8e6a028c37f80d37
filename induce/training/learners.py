"""Learning as a sequence of updates: by gradients, batch by batch, or by the algorithm of a `FittedModel`.

The training loop treats both alike: it iterates over ``updates``, scores the model at the end of each epoch, and stores
the state of the ``optimizer`` in checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from induce.data.loaders import Loader
from induce.models.base import Context, FittedModel, Model, detach
from induce.settings.presets import resolve
from induce.settings.run import RunConfig
from induce.storage.run_folder import resume_command
from induce.training.optimizer import Falling, NtAsgd, Optimizer
from induce.training.position import Position
from induce.training.strategy import Accumulating
from treebank.base.errors import SynparseError


@dataclass(frozen=True, slots=True)
class Update:
    """Result of one update of the model. The position of the run is that after the update."""

    share: float  # of the epoch that is done
    report: bool = False  # whether to report progress
    ends_epoch: bool = False  # whether to score the model on the development text


class Learner:
    """A model with the algorithm that trains it. The defaults are those of an algorithm that ends by itself."""

    epochs = 1  # to train at most
    stored_step = 0  # of the stored state
    carried: Any = None  # state carried from batch to batch of a stream, None at its beginning
    optimizer = Optimizer()

    def __init__(self, model: Model, context: Context) -> None:
        self.model, self.context = model, context

    def prepare(self, corpus: Any) -> None:
        """Compute what the model takes from the encoded training text before the first step."""
        self.model.prepare(corpus, self.context)

    def updates(self, at: Position) -> Iterator[Update]:
        """Train from position ``at`` on, which is moved. Raises SynparseError if the loss is not finite."""
        raise NotImplementedError

    def is_done(self, at: Position) -> bool:
        """Whether all epochs are over at position ``at``."""
        return False

    def remedy(self, step: int) -> str:
        """Advice to the user after a loss that is not finite, computed from the model of ``step``."""
        return "the last stored model is kept"


class GradientLearner(Learner):
    """A model that learns by gradients, with its optimizer, the loader of its batches and the strategy of a step."""

    def __init__(
        self,
        model: Model,
        context: Context,
        optimizer: NtAsgd | Falling,
        loader: Loader,
        strategy: Accumulating,
        rng: Any,
        *,
        config: RunConfig,
        folder: Path,
    ) -> None:
        """``rng`` (`numpy.random.RandomState`) draws the order and the lengths of batches.

        ``folder`` is the folder of the run, for messages.
        """
        super().__init__(model, context)
        self.loader, self.strategy, self.rng = loader, strategy, rng
        self.optimizer: NtAsgd | Falling = optimizer
        self.epochs, self.clip = config.train.epochs, config.optimizer.clip
        self.config, self.folder = config, folder
        self.report_every = 20  # updates

    def updates(self, at: Position) -> Iterator[Update]:
        """One update per batch. An update without a batch ends each epoch."""
        while True:
            for step in self.loader.steps(self.rng, at.start, at.epoch):
                self.model.train()
                self.strategy.number = at.step
                loss = self.strategy.step(self.model, step.batch, self.carried)
                nll = float(loss.nll.detach())
                if not math.isfinite(nll):
                    raise not_finite("loss", at.step + 1, self.remedy(at.step))
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
                self.optimizer.step(step.factor, step.rate)
                self.carried = detach(loss.state) if step.batch.carries_state else None
                at.advance(nll, loss.count, step.batch.token_count)
                at.start = step.after
                yield Update(self.loader.share(at.start), report=at.step % self.report_every == 0)
            self.carried = None  # before the checkpoint of the finished epoch
            yield Update(1.0, ends_epoch=True)

    def is_done(self, at: Position) -> bool:
        """Whether the last epoch is over."""
        return at.epoch > self.epochs

    def remedy(self, step: int) -> str:
        """A lower learning rate, to resume with unless the stored state is that of ``step``, which fails again."""
        change = f"--set optimizer.learning_rate={lower_rate(self.config):g}"
        if step == self.stored_step:
            return f"the stored state fails as well: train again with --overwrite {change}"
        return (
            "lower optimizer.learning_rate, and resume from the last stored state: "
            f"{resume_command(self.folder)} {change}; if it fails as well, train again with --overwrite"
        )


class FittedLearner(Learner):
    """A model that learns without gradients, such as a grammar by expectation maximization."""

    model: FittedModel

    def __init__(self, model: FittedModel, context: Context, corpus: Any, words: int) -> None:
        """``corpus`` is the encoded training text of ``words`` words."""
        super().__init__(model, context)
        self.corpus, self.words = corpus, words

    def updates(self, at: Position) -> Iterator[Update]:
        """One update per step of the model's own algorithm."""
        for step in self.model.fit(self.corpus, at.step, self.context):
            if not math.isfinite(step.nll):
                raise not_finite("loss", step.done, self.remedy(at.step))
            at.advance(step.nll, step.count, self.words)
            at.step = step.done
            share = step.done / step.total
            yield Update(share, report=True, ends_epoch=step.check)
        if at.count or not at.best_epoch:
            yield Update(1.0, ends_epoch=True)


def lower_rate(config: RunConfig) -> float:
    """The learning rate of the preset if that of ``config`` is higher, else a tenth of it."""
    rate: float = config.optimizer.learning_rate
    try:
        usual: float = resolve(
            model=config.model_name, preset=config.preset, task=config.task_name
        ).optimizer.learning_rate
    except SynparseError:  # a preset file that is gone
        usual = rate
    return usual if usual < rate else rate / 10


def not_finite(quantity: str, step: int, remedy: str) -> SynparseError:
    """The error for a ``quantity`` that is infinite or NaN after ``step`` steps. Nothing of that step was stored."""
    return SynparseError(f"the {quantity} is no longer a number at step {step}; {remedy}")
