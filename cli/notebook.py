"""What training shows in a notebook: the lines of ``synparse train`` and a bar, in one output that is renewed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from html import escape
from typing import Any

from cli.progress import lines, status
from induce.training.events import Event

SECONDS = 0.5  # between two renewals while nothing but the bar moves


class TrainingView:
    """All that was said so far, and how far the epoch has come; a notebook shows it by itself."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.now: list[str] = []  # what is done at this moment, empty after the end
        self.share = 0.0  # of the epoch

    def hear(self, event: Event) -> bool:
        """Take up an event; whether it said something that stays."""
        found = lines(event)
        self.said += found
        self.now, self.share = status(event), getattr(event, "share", 0.0)
        return bool(found)

    def _repr_html_(self) -> str:
        parts = [f"<div>{escape(line)}</div>" for line in self.said]
        if self.now:
            told = escape(", ".join(filter(None, self.now)))
            parts.append(f'<div><progress max="1" value="{self.share:.3f}"></progress> {told}</div>')
        return "\n".join(parts)

    def __repr__(self) -> str:
        return "\n".join(self.said)


def display_of_notebook() -> Callable[..., Any] | None:
    """IPython's ``display`` where this program runs in a notebook, else None."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None  # plain Python, or IPython in a terminal
    from IPython.display import display

    return display


def shower() -> Callable[[Event], None]:
    """What shows the events of a training in a notebook; elsewhere something that shows nothing."""
    display = display_of_notebook()
    if display is None:
        return lambda event: None
    view = TrainingView()
    handle = display(view, display_id=True)
    shown = time.monotonic()

    def show(event: Event) -> None:
        nonlocal shown
        if view.hear(event) or time.monotonic() - shown >= SECONDS:
            handle.update(view)
            shown = time.monotonic()

    return show
