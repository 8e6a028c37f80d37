"""Signals: Ctrl-C, SIGTERM, and SIGHUP of a closed terminal end a command without losing work."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from treebank.base.signals import handled

SCORING_SECONDS = 4.0  # after SIGTERM, before the scoring of a saved model is stopped
STEP_SECONDS = 8.0  # after SIGTERM, before the current training step is interrupted
_ENDING_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class TerminatedError(KeyboardInterrupt):
    """SIGTERM or SIGHUP as an exception, with the exit code ``code``."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise `TerminatedError`, as Ctrl-C raises KeyboardInterrupt."""

    def end(number: int, frame: FrameType | None) -> None:
        raise TerminatedError(number)

    with handled(dict.fromkeys(_ENDING_SIGNALS, end)):
        yield


class Ending:
    """State of a training run that a signal may have told to end."""

    def __init__(self) -> None:
        self.number = 0  # first signal, 0 for none
        self.since = 0.0
        self._announced = False

    @property
    def code(self) -> int:
        """Exit code."""
        return 128 + (self.number or signal.SIGINT)

    def requested(self) -> bool:
        """Whether training should end. A saved model is still scored."""
        if self.number and not self._announced:  # not in the handler, which may interrupt other output
            self._announced = True
            print("stopping and saving the model …", file=sys.stderr, flush=True)
        return bool(self.number)

    def hurried(self) -> bool:
        """Whether scoring should end, too, because SIGTERM came some seconds ago."""
        return self.number not in (0, signal.SIGINT) and time.monotonic() - self.since > SCORING_SECONDS

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal. Only a second Ctrl-C, or SIGTERM after some seconds, interrupts the current step."""
        if number == getattr(signal, "SIGALRM", None):
            raise TerminatedError(self.number)
        if self.number and number == signal.SIGINT:
            raise KeyboardInterrupt
        if not self.number:
            self.number, self.since = number, time.monotonic()
            if number != signal.SIGINT and hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, STEP_SECONDS)


@contextmanager
def ending_after_the_step() -> Iterator[Ending]:
    """Yield an `Ending` that records signals, so that training can end after the current step."""
    ending = Ending()
    numbers = [signal.SIGINT, *_ENDING_SIGNALS, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else [])]
    try:
        with handled(dict.fromkeys(numbers, ending.note)):
            yield ending
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
