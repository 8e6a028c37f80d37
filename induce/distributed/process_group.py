"""Training of one model by several processes, as ``torchrun`` starts them.

Each process computes the gradient of its part of a batch; the gradients are averaged. Models that are fitted by
expected counts divide the text and add up the counts. Models whose loss depends on the whole batch are refused.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, distributed

from induce.data.batches import Batch
from induce.data.loaders import Loader
from induce.models.base import Loss, Model
from induce.training.learners import Accumulating, CarriedState, SingleProcess
from treebank.base.errors import SynparseError

Item = TypeVar("Item")

TIMEOUT = timedelta(hours=1)  # a process may wait for another one that reads a text


class ProcessGroup(SingleProcess):
    """Process ``rank`` of the ``size`` processes that train one model. All of them call each method but `share`.

    Raises SynparseError if another process has ended.
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def share(self, items: Sequence[Item]) -> Sequence[Item]:
        """The items that this process works on: every ``size``-th one, from index ``rank``."""
        return items[self.rank :: self.size]

    def add(self, values: Tensor) -> None:
        """Replace ``values`` by their sum over all processes. All processes get exactly the same numbers."""
        with self._reporting():
            distributed.all_reduce(values)

    def add_up(self, *arrays: np.ndarray) -> None:
        """Replace float64 ``arrays`` by their sums over all processes."""
        for values in arrays:
            self.add(torch.from_numpy(values))

    def largest(self, *values: float) -> list[float]:
        """The maximum over all processes of each number."""
        numbers = torch.tensor(values, dtype=torch.float64)
        with self._reporting():
            distributed.all_reduce(numbers, distributed.ReduceOp.MAX)
        return numbers.tolist()

    def equalize(self, model: torch.nn.Module) -> None:
        """Copy the weights and buffers of the first process to the others."""
        for value in model.state_dict().values():
            with self._reporting():
                distributed.broadcast(value, 0)

    def gather(self, value: Any) -> list[Any]:
        """The ``value`` of each process in the first process. An empty list in the others."""
        values = [None] * self.size if self.first else None
        with self._reporting():
            distributed.gather_object(value, values)
        return values or []

    def strategy(self, precision: str, model: Model, loader: Loader) -> Distributed:
        """The strategy that divides batches. Raises SynparseError if the loss is not a mean over parts of a batch."""
        if isinstance(next(iter(loader.check())), model.whole_batch):
            raise SynparseError(
                f"{type(model).__name__}: its loss needs statistics of the whole batch, so that several processes "
                "cannot divide it; train it in one process"
            )
        return Distributed(self, precision)

    def gather_state(self, model: Model, state: CarriedState | None) -> CarriedState | None:
        """The carried state of all columns, in the first process, from the states of the columns of each."""
        part = None if state is None else [[tensor.cpu() for tensor in layer] for layer in state]
        parts = [part for part in self.gather(part) if part is not None]
        if not parts:
            return None
        axes = _column_axes(model)
        return [
            [torch.cat([part[k][n] for part in parts], axis) for n, axis in enumerate(layer)]
            for k, layer in enumerate(axes)
        ]

    def split_state(self, model: Model, state: CarriedState | None) -> CarriedState | None:
        """The carried state of the columns of this process, from that of all columns."""
        return state and [
            [tensor.tensor_split(self.size, axis)[self.rank] for tensor, axis in zip(layer, axes, strict=True)]
            for layer, axes in zip(state, _column_axes(model), strict=True)
        ]

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Replace the error of an exchange by one line. The process that ended has reported the reason."""
        try:
            yield
        except RuntimeError as error:
            reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
            raise SynparseError(
                f"process {self.rank} of {self.size}: the other processes do not answer ({reason})"
            ) from None


class Distributed(Accumulating):
    """Average the gradients of the parts of a batch that the processes of a group compute."""

    def __init__(self, group: ProcessGroup, precision: str) -> None:
        super().__init__(precision)
        self.group = group

    def step(self, model: Model, batch: Batch, state: Any = None) -> Loss:
        """The loss of ``batch`` after the averaged gradient was put into ``model``.

        ``state`` and the state in the loss belong to the columns of this process.
        """
        part = self.part_of(batch)
        seed = np.random.SeedSequence([torch.initial_seed(), self.number, self.group.rank]).generate_state(1, np.uint64)
        with torch.random.fork_rng([torch.cuda.current_device()] if torch.cuda.is_available() else []):
            torch.manual_seed(int(seed[0]))
            if part is None:
                model.zero_grad(set_to_none=True)
                loss = Loss(torch.zeros(()), torch.zeros(()), 0)
            else:
                loss = super().step(model, part, state)
        return self._average(model, loss)

    def part_of(self, batch: Batch) -> Batch | None:
        """The part of this process. The first process takes all of a batch with fewer sentences than processes. The
        others have None."""
        parts = batch.parts(self.group.size, cut=False)
        if len(parts) < self.group.size and not batch.carries_state:
            parts = [batch]
        return parts[self.group.rank] if self.group.rank < len(parts) else None

    def _average(self, model: Model, loss: Loss) -> Loss:
        """Average gradients and buffers over all processes, weighted by `Loss.weight`, and return the mean loss."""
        parameters = list(model.parameters())
        buffers = [buffer for buffer in model.buffers() if buffer.is_floating_point()]
        like = parameters[0]
        gradients = [torch.zeros_like(value) if value.grad is None else value.grad for value in parameters]
        nats = float(loss.nll.detach()) * loss.count if loss.count else 0.0
        head = like.new_tensor([nats, loss.count, loss.weight, *(value.grad is not None for value in parameters)])
        message = torch.cat([head, *(value.flatten() * loss.weight for value in (*gradients, *buffers))])
        self.group.add(message)
        total, count, weight, *has_gradient = message[: len(head)].tolist()
        means = (message[len(head) :] / max(1, weight)).split([value.numel() for value in (*parameters, *buffers)])
        for parameter, mean, has_one in zip(parameters, means, has_gradient, strict=False):
            parameter.grad = mean.view_as(parameter) if has_one else None
        for buffer, mean in zip(buffers, means[len(parameters) :], strict=True):
            buffer.copy_(mean.view_as(buffer) if weight else buffer)
        nll = torch.tensor(total / max(1, count), dtype=torch.float64)
        return Loss(nll, nll, round(count), state=loss.state)


def _column_axes(model: Model) -> list[list[int]]:
    """The axis of the columns in each tensor of a carried state."""
    return [
        [[a != b for a, b in zip(x.shape, y.shape, strict=True)].index(True) for x, y in zip(*layers, strict=True)]
        for layers in zip(model.initial_state(1), model.initial_state(2), strict=True)
    ]


def join(device: str = "auto") -> ProcessGroup:
    """The group in which ``torchrun`` started this process. Raises SynparseError if there are not enough GPUs.

    Processes communicate by gloo for tensors on the CPU, and by nccl for tensors on GPUs. Messages of an attempt before
    a restart by ``torchrun`` are ignored.
    """
    from torch.distributed.rendezvous import rendezvous

    if distributed.is_initialized():
        return ProcessGroup(distributed.get_rank(), distributed.get_world_size())
    backend = "gloo"
    if device != "cpu" and torch.cuda.is_available():
        local, count = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
        if local >= count:
            raise SynparseError(
                f"process {local + 1} on this machine has no GPU: there are {count}; start fewer, or use --device cpu"
            )
        torch.cuda.set_device(local)
        backend = "cpu:gloo,cuda:nccl"
    try:
        store, rank, size = next(rendezvous("env://", timeout=TIMEOUT))
        store = distributed.PrefixStore(f"attempt {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
        distributed.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=TIMEOUT)
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SynparseError(f"process {os.environ['RANK']}: could not join the process group ({reason})") from None
    atexit.register(lambda: distributed.is_initialized() and distributed.destroy_process_group())
    return ProcessGroup(distributed.get_rank(), distributed.get_world_size())
