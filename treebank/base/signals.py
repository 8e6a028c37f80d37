"""Temporary handlers of signals."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any


@contextmanager
def handled(handlers: Mapping[Any, Any]) -> Iterator[None]:
    """Install a handler for each signal temporarily, in the main thread only. Ignored signals (nohup) stay ignored."""
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
