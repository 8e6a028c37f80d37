"""The callback that is used if a caller wants no reports."""

from __future__ import annotations


def ignore(*arguments: object) -> None:
    """Callback without effect. Unlike a lambda, it can be sent to another process."""
