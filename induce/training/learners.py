"""Learning as a sequence of updates: by gradients, batch by batch, or by the algorithm of a `FittedModel`.

The training loop treats both alike: it iterates over ``updates``, scores the model at the end of each epoch, and stores
the state of the ``optimizer`` in checkpoints. A gradient learner calls ``strategy.step(model, batch, state)``, which
computes the loss and the gradient of a batch and splits the batch if memory runs out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed

from induce.data.batches import Batch
from induce.data.loaders import Loader
from induce.layers.products import computing
from induce.models.base import Context, CountSharing, FittedModel, Loss, Model, detach
from induce.registry import PROCESS_GROUP, load
from induce.settings.presets import resolve
from induce.settings.run import RunConfig
from induce.storage.checkpoint import Check
from induce.storage.outputs import resume_command
from induce.training.optimizer import Falling, NtAsgd, Optimizer
from treebank.base.errors import SynparseError, out_of_memory
from treebank.base.metadata import decode

ENDS = ("", "epochs", "no more progress")  # reasons why a training is over, empty while it is not
Saved = list[tuple[Tensor, Tensor]]  # buffers of a model with their values
CarriedState = list[list[Tensor]]  # the tensors of each layer
VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # set by torchrun for each process


@dataclass
class Position:
    """Position of a run in its training, with sums of the current epoch. Stored for resuming."""

    epoch: int = 1
    step: int = 0
    start: int = 0  # beginning of the next step of this epoch, in the units of the loader
    pass_over: bool = False  # no batch of this epoch is left, and the loader has drawn the order of the next epoch
    loss_sum: float = 0.0  # over the targets of this epoch, in nats
    count: int = 0  # targets of this epoch
    seconds: float = 0.0
    words: int = 0  # trained on so far
    best_loss: float = math.inf
    best_epoch: int = 0
    history: tuple[Check, ...] = ()
    log_bytes: int = 0
    finished: str = ""  # one of `ENDS`

    @classmethod
    def from_stored(cls, stored: Any) -> Position:
        """The stored position, as `encode` returns it. Raises ValueError if a value is invalid."""
        position = decode(cls, stored)
        for name, value in vars(position).items():
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{name} is {value}")
        if not math.isfinite(position.seconds) or position.finished not in ENDS:
            raise ValueError(f"seconds is {position.seconds}, finished is {position.finished!r}")
        return position

    @property
    def mean_loss(self) -> float:
        """Mean loss of this epoch so far, in nats per target."""
        return self.loss_sum / max(1, self.count)

    def advance(self, nll: float, count: int, words: int) -> None:
        """Add one step with a mean loss of ``nll`` nats over ``count`` targets."""
        self.step += 1
        self.loss_sum += nll * count
        self.count += count
        self.words += words

    def next_epoch(self) -> None:
        """Go to the beginning of the next epoch."""
        self.epoch, self.start, self.pass_over, self.loss_sum, self.count = self.epoch + 1, 0, False, 0.0, 0


class Accumulating:
    """Compute the gradient of a whole batch. If memory runs out, accumulate the gradients of its parts."""

    def __init__(self, precision: str = "float32") -> None:
        """``precision`` is that of the factors of large products (``train.precision``)."""
        self.precision = precision
        self.parts = 1  # largest number of parts of a batch so far
        self.number = 0  # of the step; set by the learner, and several processes derive their random numbers from it

    def step(self, model: Model, batch: Batch, state: Any = None) -> Loss:
        """The loss of ``batch`` after its gradient was put into ``model``, or only the loss without gradients.

        ``state`` is carried from the preceding segment of a stream. Raises SynparseError if memory runs out on a
        single sentence or on a segment of a stream, which cannot be split.
        """
        buffers = [(buffer, buffer.clone()) for buffer in model.buffers()] if model.training else []
        model.zero_grad(set_to_none=True)
        try:
            with computing(self.precision, batch.tokens.device):
                loss = model.loss(batch, state)
            _backward(loss.objective)
            return loss
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
        return self._in_parts(model, batch, buffers)  # after the error and its tensors have been freed

    def _in_parts(self, model: Model, batch: Batch, buffers: Saved) -> Loss:
        """The loss and gradient of a batch in 2 parts, or 4, 8 … until memory suffices.

        Loss and gradient are those of the whole batch, with three exceptions: rounding, dropout masks, and losses that
        depend on the whole batch (batch normalization; StructFormer's calibration "batch"; means over pairs of gold
        distances and over padding; expected counts of grammars).
        """
        rows, parts = len(batch.tokens), 1
        while True:
            for buffer, value in buffers:  # or counts of the failed attempt would be added twice
                buffer.copy_(value)
            if batch.carries_state:
                raise SynparseError(
                    "memory ran out on one segment of the text: lower loader.batch_size or loader.segment_length, "
                    "or make the model smaller"
                )
            if parts >= rows:
                raise SynparseError(
                    "memory ran out on a single sentence; the longest of this batch has "
                    f"{batch.tokens.shape[1]} words: leave such sentences out, or make the model smaller"
                )
            parts = min(2 * parts, rows)
            model.zero_grad(set_to_none=True)
            try:
                loss = self._accumulate(model, batch.parts(parts))
                self.parts = max(self.parts, parts)
                return loss
            except (MemoryError, RuntimeError) as error:
                if not out_of_memory(error):
                    raise

    def _accumulate(self, model: Model, parts: Iterable[Batch]) -> Loss:
        """The loss of a batch after the gradients of its parts were added up, weighted by `Loss.weight`."""
        sums, count, weight, correct = [], 0, 0, None
        for part in parts:
            with computing(self.precision, part.tokens.device):
                loss = model.loss(part)
            _backward(loss.objective * loss.weight)
            sums.append(loss.nll.detach() * loss.count)
            count += loss.count
            weight += loss.weight
            if loss.correct is not None:
                correct = (correct or 0) + loss.correct
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad /= max(1, weight)
        mean = torch.stack(sums).sum() / max(1, count)
        return Loss(mean, mean, count, correct=correct, rows=weight)


def _backward(objective: Tensor) -> None:
    if torch.is_grad_enabled():
        objective.backward()


class SingleProcess(CountSharing):
    """The processes that train one model, here one. `induce.distributed` has the group of several."""

    rank, size = 0, 1

    @property
    def first(self) -> bool:
        """Whether this process writes the files and reports the events."""
        return self.rank == 0

    def largest(self, *values: float) -> list[float]:
        """The maximum over all processes of each number."""
        return list(values)

    def wait(self) -> None:
        """Wait until all processes have called this method."""
        self.largest(0.0)

    def strategy(self, precision: str, model: Model, loader: Loader) -> Accumulating:
        """The way to compute the gradient of a batch of ``loader``.

        Raises SynparseError if the processes cannot divide its batches.
        """
        return Accumulating(precision)

    def gather_state(self, model: Model, state: CarriedState | None) -> CarriedState | None:
        """The carried state of all columns, in the first process, from the states of the columns of each."""
        return state

    def split_state(self, model: Model, state: CarriedState | None) -> CarriedState | None:
        """The carried state of the columns of this process, from that of all columns."""
        return state


ALONE = SingleProcess()


def join_group(device: str = "auto") -> SingleProcess:
    """The group in which ``torchrun``, or a program that sets the same variables, started this process.

    On GPUs each process of a machine has its own GPU. Raises SynparseError if there are not enough.
    """
    if not distributed.is_available():
        return ALONE
    is_alone = any(name not in os.environ for name in VARIABLES) or os.environ["WORLD_SIZE"] == "1"
    if is_alone and not distributed.is_initialized():
        return ALONE
    group: SingleProcess = load(PROCESS_GROUP)(device)
    return group


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
            # a run that ended while the last batch was scored resumes without another draw of an order
            for step in () if at.pass_over else self.loader.steps(self.rng, at.start, at.epoch):
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
            at.pass_over = True
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
            model=config.model_name, preset=config.preset, purpose=config.purpose_name
        ).optimizer.learning_rate
    except SynparseError:  # a preset file that is gone
        usual = rate
    return usual if usual < rate else rate / 10


def not_finite(quantity: str, step: int, remedy: str) -> SynparseError:
    """The error for a ``quantity`` that is infinite or NaN after ``step`` steps. Nothing of that step was stored."""
    return SynparseError(f"the {quantity} is no longer a number at step {step}; {remedy}")
