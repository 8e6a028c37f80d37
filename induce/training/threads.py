"""How many threads a training computes with: fewer than there are cores where other programs keep some of them busy.

Threads that work on one product wait for each other, so that beside a busy program two of them take several times as
long as one. Which number is best changes with what else the machine does, so it is measured now and then.
"""

from __future__ import annotations

import os
import time
from types import TracebackType

import torch

ROUNDS = 3  # in which each number of threads is timed, by turns
SECONDS = 0.02  # of each time at least; a thread whose core is busy may wait for some hundredths of a second
MARGIN = 0.7  # share of the time of the present number below which another is taken: chance must not decide
ROWS, SIZE = 32, 256  # of the products timed


class Threads:
    """The number of threads of a training, from entering this to leaving it.

    It begins with that of a checkpoint's facts, so that a run that goes on computes as it did before, and never grows
    beyond the number that torch has by itself. Where ``measure`` is False, or OMP_NUM_THREADS is set, it stays.
    """

    def __init__(self, stored: object = None, *, measure: bool = True) -> None:
        self.most = self.number = torch.get_num_threads()
        self.measure = measure and self.most > 1 and not os.environ.get("OMP_NUM_THREADS")
        self.first = stored if self.measure and isinstance(stored, int) and 0 < stored <= self.most else self.most

    def __enter__(self) -> Threads:
        self._use(self.first)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._use(self.most)

    def choose(self) -> bool:
        """Take the number that is fastest at the moment. Returns whether it is another one than before."""
        if not self.measure:
            return False
        times = seconds(self.candidates())
        before, best = self.number, min(times, key=times.__getitem__)
        self._use(best if times[best] < MARGIN * times[before] else before)
        return self.number != before

    def candidates(self) -> list[int]:
        """The numbers that are tried: the present one, the largest, and its halves down to 1."""
        return sorted({self.number, *(max(1, self.most >> k) for k in range(self.most.bit_length()))})

    def _use(self, number: int) -> None:
        self.number = number
        torch.set_num_threads(number)


def seconds(numbers: list[int]) -> dict[int, float]:
    """Mean seconds of a product with each number of threads, waiting included."""
    rows, matrix = torch.ones(ROWS, SIZE), torch.ones(SIZE, 4 * SIZE)
    spent, done = dict.fromkeys(numbers, 0.0), dict.fromkeys(numbers, 0)
    for _ in range(ROUNDS):
        for number in numbers:
            torch.set_num_threads(number)
            torch.tanh(rows @ matrix)  # which may have to start threads
            began = time.perf_counter()
            while (elapsed := time.perf_counter() - began) < SECONDS:
                torch.tanh(rows @ matrix)
                done[number] += 1
            spent[number] += elapsed
    return {number: spent[number] / done[number] for number in numbers}
