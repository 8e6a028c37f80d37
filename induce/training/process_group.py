"""Processes that train one model together, as ``torchrun`` starts them: who this one is, and what all must agree on."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, distributed, nn

from treebank.base.errors import SynparseError

Item = TypeVar("Item")

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # what torchrun sets for each process
PATIENCE = timedelta(hours=1)  # how long a process waits for the others, one of which may be reading a text


class ProcessGroup:
    """Process number ``rank`` of ``size`` that train one model; every method but `share` is called by all of them.

    Where there is one process, nothing is sent and nothing changes. Raises SynparseError where another one is no more.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files, and says what happens."""
        return self.rank == 0

    def share(self, items: Sequence[Item]) -> Sequence[Item]:
        """Those of ``items`` that this process sees to."""
        return items[self.rank :: self.size]

    def add(self, values: Tensor) -> None:
        """Put the sum over all processes in the place of ``values``; the same bits everywhere."""
        if self.size > 1:
            with _together(self):
                distributed.all_reduce(values)

    def add_up(self, *arrays: np.ndarray) -> None:
        """Put the sums over all processes in the places of ``arrays`` of float64."""
        for values in arrays if self.size > 1 else ():
            self.add(torch.from_numpy(values))

    def sums(self, *values: float) -> list[float]:
        """The sum over all processes of each number."""
        if self.size == 1:
            return list(values)
        numbers = torch.tensor(values, dtype=torch.float64)
        self.add(numbers)
        return numbers.tolist()

    def largest(self, *values: float) -> list[float]:
        """The largest over all processes of each number."""
        if self.size == 1:
            return list(values)
        numbers = torch.tensor(values, dtype=torch.float64)
        with _together(self):
            distributed.all_reduce(numbers, distributed.ReduceOp.MAX)
        return numbers.tolist()

    def wait(self) -> None:
        """Come back when all are here."""
        self.largest(0.0)

    def equalize(self, model: nn.Module) -> None:
        """Give ``model`` the weights and tables that the first process has."""
        for value in model.state_dict().values() if self.size > 1 else ():
            with _together(self):
                distributed.broadcast(value, 0)

    def gather(self, value: Any) -> list[Any]:
        """In the first process the ``value`` of each, in the others nothing."""
        if self.size == 1:
            return [value]
        values = [None] * self.size if self.first else None
        with _together(self):
            distributed.gather_object(value, values)
        return values or []

    @contextmanager
    def own_numbers(self, *key: int) -> Iterator[None]:
        """Random numbers of torch that follow from ``key`` and are others in each process.

        Behind the block all go on with the numbers that they have in common, as if it had drawn none.
        """
        if self.size == 1:
            yield
            return
        seed = int(np.random.SeedSequence([*key, self.rank]).generate_state(1, np.uint64)[0])
        with torch.random.fork_rng([torch.cuda.current_device()] if torch.cuda.is_available() else []):
            torch.manual_seed(seed)
            yield


ALONE = ProcessGroup()


@contextmanager
def _together(group: ProcessGroup) -> Iterator[None]:
    """Says in one line that another process ended, whose own message tells why."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
        raise SynparseError(f"process {group.rank} of {group.size}: the others do not answer ({reason})") from None


def join(device: str = "auto") -> ProcessGroup:
    """The group that this process was started in, by ``torchrun`` or any program that sets the same variables.

    On GPUs each process of a machine has one of its own. Raises SynparseError if there are not enough.
    """
    if not distributed.is_available():
        return ALONE
    if not distributed.is_initialized():
        if any(name not in os.environ for name in VARIABLES) or os.environ["WORLD_SIZE"] == "1":
            return ALONE
        _meet(_backend(device))
        atexit.register(_leave)
    return ProcessGroup(distributed.get_rank(), distributed.get_world_size())


def _meet(backend: str) -> None:
    """Find the other processes. What they left to each other before a restart by ``torchrun`` does not count."""
    from torch.distributed.rendezvous import rendezvous

    try:
        store, rank, size = next(rendezvous("env://", timeout=PATIENCE))
        store = distributed.PrefixStore(f"attempt {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
        distributed.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=PATIENCE)
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SynparseError(f"process {os.environ['RANK']}: no group of processes comes about ({reason})") from None


def _backend(device: str) -> str:
    """What processes talk by; numbers on the CPU by gloo in any case."""
    if device == "cpu" or not torch.cuda.is_available():
        return "gloo"
    local, count = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if local >= count:
        raise SynparseError(f"process {local + 1} on this machine has no GPU: there are {count}; or take --device cpu")
    torch.cuda.set_device(local)
    return "cpu:gloo,cuda:nccl"


def _leave() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()
