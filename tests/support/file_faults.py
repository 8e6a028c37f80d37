"""Faults of file operations, and limits on the memory of this process."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


class Killed(BaseException):
    """Exception that the package does not catch."""


class Faults:
    """Counter of operations that raises ``kind`` at the one numbered ``at``, and `Killed` at all later ones, too."""

    def __init__(self, at: int, kind: type[BaseException] = OSError) -> None:
        self.count, self.at, self.kind = 0, at, kind

    def next(self) -> None:
        self.count += 1
        if self.count == self.at or (self.kind is Killed and 0 < self.at < self.count):
            raise self.kind(errno.EIO, "Input/output error")

    def watch(self, monkeypatch: pytest.MonkeyPatch, owner: object, *names: str) -> None:
        """Count the calls of the functions ``names`` of a module or class."""
        for name in names:
            monkeypatch.setattr(owner, name, self.watched(getattr(owner, name)))

    def watched(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.next()
            return real(*args, **options)

        return call

    def watch_saving(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Count the operations on files while a file is saved."""
        self.watch(monkeypatch, Path, "mkdir")
        self.watch(monkeypatch, os, "open", "fdopen", "fsync", "fchmod", "replace")


class limited_memory:
    """Context in which this process may allocate at most ``more`` additional bytes of address space."""

    def __init__(self, more: int) -> None:
        self.more = more

    def __enter__(self) -> None:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        self.before = resource.getrlimit(resource.RLIMIT_AS)
        limit = pages * resource.getpagesize() + self.more
        resource.setrlimit(resource.RLIMIT_AS, (limit, self.before[1]))

    def __exit__(self, *_: object) -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, self.before)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
