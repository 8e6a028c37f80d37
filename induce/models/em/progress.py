"""How far expectation maximisation has come where its steps differ in cost: beginning a member, and passes by stage."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np


class Forecast:
    """The share of the work that is done, by the clock.

    ``work`` is the relative cost of each pass of a member. What one unit of it takes, and how long a member takes to
    begin, are means over what was seen since this was made; of a run that goes on, beginning is
    free until one is seen.
    """

    def __init__(self, work: Sequence[float], members: int) -> None:
        self.work, self.members = np.asarray(work, dtype=np.float64), members
        self.beginnings, self.began = 0.0, 0  # seconds, and how many
        self.learning, self.learned = 0.0, 0.0  # seconds, and units of work
        self._last = time.monotonic()

    def began_one(self) -> None:
        """A member was begun since the last call of anything here."""
        self.beginnings += self._passed()
        self.began += 1

    def learned_in(self, number: int) -> None:
        """Pass ``number`` of a member, from 0 on, was made since then."""
        self.learning += self._passed()
        self.learned += float(self.work[number])

    def share(self, done: int) -> float:
        """Of all the work, after ``done`` passes of all members."""
        member, passes = divmod(done, len(self.work))
        beginning = self.beginnings / max(1, self.began)
        rate = self.learning / max(self.learned, 1e-9)
        each = beginning + rate * float(self.work.sum())
        spent = member * each + (beginning + rate * float(self.work[:passes].sum()) if passes else 0.0)
        return spent / max(self.members * each, 1e-9)

    def _passed(self) -> float:
        before, self._last = self._last, time.monotonic()
        return self._last - before


def cubes(lengths: np.ndarray, stages: Sequence[tuple[int, int]], most: int) -> list[float]:
    """The cost of each pass of inside and outside sums: cubes of the lengths of the sentences that its stage takes,
    ``most`` at most. ``stages`` are the longest length and the number of passes of each."""
    work: list[float] = []
    for longest, passes in stages:
        fit = lengths[lengths <= longest].astype(np.float64)
        work += [float((fit**3).sum()) * min(1.0, most / max(1, len(fit))) + 1.0] * passes
    return work
