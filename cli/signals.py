"""What ends a call from outside: Ctrl-C, SIGTERM, and SIGHUP of a terminal that goes away; none of them loses work."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Any

SCORING_SECONDS = 4.0  # that SIGTERM leaves for scoring a model that is kept already
WAITING_SECONDS = 8.0  # after which it does not even wait for the step
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class TerminatedError(KeyboardInterrupt):
    """A signal other than Ctrl-C that asks the program to end; ``code`` is what to exit with."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP raise `TerminatedError`, as Ctrl-C raises KeyboardInterrupt."""

    def end(number: int, frame: FrameType | None) -> None:
        raise TerminatedError(number)

    with _handled(dict.fromkeys(_ENDING, end)):
        yield


class Ending:
    """How far the end of a training has come that a signal asked for."""

    def __init__(self) -> None:
        self.number = 0  # of the signal that came first; 0 for none
        self.since = 0.0
        self._told = False

    @property
    def code(self) -> int:
        """What to exit with."""
        return 128 + (self.number or signal.SIGINT)

    def asked(self) -> bool:
        """Whether training should end: a model that is kept is still scored."""
        if self.number and not self._told:  # not in the handler, which may interrupt another line of output
            self._told = True
            print("stopping, and keeping the model …", file=sys.stderr, flush=True)  # above the bar, if there is one
        return bool(self.number)

    def hurried(self) -> bool:
        """Whether scoring should end, too: who sends SIGTERM does not wait long."""
        return self.number not in (0, signal.SIGINT) and time.monotonic() - self.since > SCORING_SECONDS

    def note(self, number: int, frame: FrameType | None) -> None:
        """The handler. Only a second Ctrl-C, and SIGTERM after some seconds, do not wait for the step."""
        if number == getattr(signal, "SIGALRM", None):
            raise TerminatedError(self.number)
        if self.number and number == signal.SIGINT:
            raise KeyboardInterrupt
        if not self.number:
            self.number, self.since = number, time.monotonic()
            if number != signal.SIGINT and hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, WAITING_SECONDS)


@contextmanager
def ending_after_the_step() -> Iterator[Ending]:
    """What signals ask of a training, which ends at the next step."""
    ending = Ending()
    numbers = [signal.SIGINT, *_ENDING, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else [])]
    try:
        with _handled(dict.fromkeys(numbers, ending.note)):
            yield ending
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def _handled(handlers: dict[Any, Any]) -> Iterator[None]:
    """Other handlers for a while. A signal that is ignored, as nohup sets it, stays so; threads have no handlers."""
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in handlers}
    for number, handler in handlers.items():
        if before[number] not in (signal.SIG_IGN, None):
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
