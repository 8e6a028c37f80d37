"""The command line in a process that kills itself at an operation on a file."""

from __future__ import annotations

import builtins
import io
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

OPERATIONS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod")
COUNT = ".count"  # file with the number of operations of a call that was not killed


def is_below(home: str, path: object) -> bool:
    """Whether the operand of a file operation is a path below ``home`` or a relative path."""
    name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
    return bool(name) and (name.startswith(home) or not name.startswith("/"))


def main() -> None:
    """Run ``KILL_AT FOLDER ARGUMENT…``: the command, killed at an operation on a file below FOLDER (never if 0).

    Opening a file for writing counts twice: before the call, and after it, when the file is still empty. If a child
    process reaches the number first, both are killed. A training is saved after every step.
    """
    from cli.main import run
    from induce.training import loop

    kill_at, home, *arguments = sys.argv[1:]
    loop.SAVE_SECONDS = -1.0
    count, real, caller = 0, os.fsync, os.getpid()

    def count_operation() -> None:
        nonlocal count
        count += 1
        if count == int(kill_at):
            if os.getppid() == caller:  # a child process, which continues the count of its parent
                os.kill(caller, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, values: tuple[Any, ...]) -> None:
        if event in OPERATIONS and is_below(home, values[0]):
            count_operation()

    def counting(opens: Callable[..., Any], writes: Callable[[Any], bool]) -> Callable[..., Any]:
        """The function ``opens``, which also counts each file that it has opened for writing."""

        def call(path: Any, mode: Any = "r", *rest: Any, **options: Any) -> Any:
            opened = opens(path, mode, *rest, **options)
            if is_below(home, path) and writes(mode):
                count_operation()
            return opened

        return call

    def fsync(descriptor: int) -> None:
        count_operation()
        real(descriptor)

    os.fsync = fsync
    os.open = counting(os.open, lambda flags: flags & (os.O_WRONLY | os.O_RDWR) != 0)
    io.open = builtins.open = counting(open, lambda mode: not set(mode).isdisjoint("wax+"))
    sys.addaudithook(hook)
    code = run(arguments)
    total = count
    Path(home, COUNT).write_text(str(total))
    sys.exit(code)
