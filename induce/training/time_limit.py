"""Limits of one call of training: the wish of the user to stop, and a number of minutes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

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
