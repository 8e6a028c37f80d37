"""Where a run stands, and the times that it takes."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

OF_A_CHECK = {"best", "development_accuracy"}  # what is read of one in the history when a run goes on


@dataclass
class Position:
    """Where a run stands; stored with ``last``."""

    epoch: int = 1
    step: int = 0
    start: int = 0  # where the next step of this epoch starts, in the loader's own count
    loss_sum: float = 0.0  # over the targets of this epoch
    count: int = 0  # these targets
    seconds: float = 0.0
    words: int = 0  # trained on so far
    best_loss: float = math.inf
    best_epoch: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    log_bytes: int = 0
    finished: str = ""  # why training is over, once the optimiser or the model has ended it

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Position:
        """The one that ``last`` holds. Raises TypeError or ValueError for what can be none."""
        found = cls(**stored)
        for name, usual in vars(cls()).items():
            value = getattr(found, name)
            kind = (int, float) if isinstance(usual, float) else type(usual)
            if not isinstance(value, kind) or isinstance(value, bool):
                raise TypeError(f"{name} is {value!r}")
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{name} is {value}")
        if not all(isinstance(one, dict) and one.keys() >= OF_A_CHECK for one in found.history):
            raise ValueError("history holds what is no check")
        return found


class Clock:
    """Times of one epoch: how long the run has taken, how fast it is, and when to save."""

    def __init__(self, at: Position) -> None:
        self.at = at
        now = time.monotonic()
        self.began, self.saved = now - at.seconds, now
        self.since = self.start = (now, at.words)

    def seconds(self) -> float:
        """Of the whole run."""
        return time.monotonic() - self.began

    def speed(self) -> float:
        """Words a second since this was asked last."""
        now = (time.monotonic(), self.at.words)
        speed = (now[1] - self.since[1]) / max(now[0] - self.since[0], 1e-9)
        self.since = now
        return speed

    def mean_speed(self) -> float:
        """Words a second in this epoch, or since it was gone on with."""
        return (self.at.words - self.start[1]) / max(time.monotonic() - self.start[0], 1e-9)

    def time_to_save(self, every: float) -> bool:
        """Whether the last time is more than ``every`` seconds ago; where it is, now is the last time."""
        now = time.monotonic()
        due = now - self.saved > every
        if due:
            self.saved = now
        return due
