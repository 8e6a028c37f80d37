"""When a call of training has to end: at the user's word, or because its minutes are over."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

ENDINGS = ("", "time", "interrupted")  # why a call ends, the stronger reason last


def never() -> bool:
    """Nobody asks for an end."""
    return False


@dataclass
class Limits:
    """What bounds one call of training.

    ``deadline`` is a moment of ``time.monotonic``. ``stop`` says whether to end training, which then scores its model;
    ``hurry`` whether to leave that, too. ``reserve`` are the seconds that scoring the development text will take:
    training ends so much earlier that it fits, unless it would take more than half of the time.
    """

    deadline: float = math.inf
    stop: Callable[[], bool] = never
    hurry: Callable[[], bool] = never
    reserve: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def ended(self) -> str:
        """Why training ends now, or ""."""
        if self.stop() or self.hurry():
            return "interrupted"
        return "time" if self.left() <= 0 else ""

    def overdue(self) -> bool:
        """Whether even scoring has to be broken off."""
        return self.hurry() or time.monotonic() > self.deadline

    def left(self) -> float:
        """Seconds of training that are left; infinitely many without a deadline."""
        return self.deadline - self.reserve - time.monotonic()

    def expect(self, seconds: float) -> None:
        """Reserve the ``seconds`` that scoring will take."""
        self.reserve = seconds if seconds < (self.deadline - self.began) / 2 else 0.0
