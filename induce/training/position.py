"""Position of a training run, the clock of its epochs, and the limits of one call of training."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from induce.storage.checkpoint import Check
from treebank.base.metadata import decode

ENDS = ("", "epochs", "no more progress")  # reasons why a training is over, empty while it is not


@dataclass
class Position:
    """Position of a run in its training, with sums of the current epoch. Stored for resuming."""

    epoch: int = 1
    step: int = 0
    start: int = 0  # beginning of the next step of this epoch, in the units of the loader
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
        self.epoch, self.start, self.loss_sum, self.count = self.epoch + 1, 0, 0.0, 0


class Clock:
    """Clock of an epoch: seconds since the run began, words per second, and seconds since the last checkpoint."""

    def __init__(self, at: Position) -> None:
        self.at = at
        now = time.monotonic()
        self.began, self.saved = now - at.seconds, now
        self.reported = self.start = (now, at.words)

    def seconds(self) -> float:
        """Seconds of the whole run."""
        return time.monotonic() - self.began

    def speed(self) -> float:
        """Words per second since the last call."""
        now = (time.monotonic(), self.at.words)
        speed = (now[1] - self.reported[1]) / max(now[0] - self.reported[0], 1e-9)
        self.reported = now
        return speed

    def mean_speed(self) -> float:
        """Words per second since the beginning of the epoch, or since the run was resumed."""
        return (self.at.words - self.start[1]) / max(time.monotonic() - self.start[0], 1e-9)

    def time_to_save(self, interval: float) -> bool:
        """Whether the last time to save is more than ``interval`` seconds ago. If so, it is now."""
        now = time.monotonic()
        due = now - self.saved > interval
        if due:
            self.saved = now
        return due


ENDINGS = ("", "time", "interrupted")  # reasons why a call ends, the strongest last


def never() -> bool:
    """Stop callback that never requests a stop."""
    return False


@dataclass
class Limits:
    """Limits of one call of training.

    ``deadline`` is a time of ``time.monotonic``. ``stop`` returns whether to end training and score the model,
    ``hurry`` whether to abort the scoring, too. ``reserve`` is the time in seconds that scoring will
    take: training ends earlier by so much, unless it is more than half of the whole time.
    """

    deadline: float = math.inf
    stop: Callable[[], bool] = never
    hurry: Callable[[], bool] = never
    reserve: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def ended(self) -> str:
        """The reason why training ends now, or ""."""
        if self.stop() or self.hurry():
            return "interrupted"
        return "time" if self.left() <= 0 else ""

    def overdue(self) -> bool:
        """Whether scoring must be aborted, too."""
        return self.hurry() or time.monotonic() > self.deadline

    def left(self) -> float:
        """Remaining seconds of training, infinite without a deadline."""
        return self.deadline - self.reserve - time.monotonic()

    def expect(self, seconds: float) -> None:
        """Reserve the ``seconds`` that scoring will take."""
        self.reserve = seconds if seconds < (self.deadline - self.began) / 2 else 0.0
