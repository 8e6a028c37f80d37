"""Faults of file operations, and limits on the memory of this process."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


class Fault:
    """Counts file operations while a folder is saved, and raises ``kind`` at number ``at``.

    After `Killed`, all further operations fail as well, as if the process had ended.
    """

    class Killed(BaseException):
        """Exception that the package does not catch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, kind: type[BaseException]) -> None:
        self.count, self.at, self.kind, self.dead = 0, at, kind, False
        for name in ("mkdir", "rename", "unlink", "rmdir", "open"):
            monkeypatch.setattr(Path, name, self.watched(getattr(Path, name)))
        for name in ("fsync", "fchmod"):
            monkeypatch.setattr(os, name, self.watched(getattr(os, name)))

    def watched(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.count += 1
            if self.dead or self.count == self.at:
                self.dead = self.kind is self.Killed  # a killed process does nothing more
                raise self.kind(errno.ENOSPC, "No space left on device")
            return real(*args, **options)

        return call


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
