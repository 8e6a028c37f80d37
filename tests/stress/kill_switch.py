"""The command line in a process that kills itself at an operation on a file."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

OPERATIONS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod")
COUNT = ".count"  # file with the number of operations of a call that was not killed


def main() -> None:
    """Run ``KILL_AT FOLDER ARGUMENT…``: the command, killed at an operation on a file below FOLDER (never if 0).

    If a child process reaches that number first, both are killed. A training is saved after every step.
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
        if event in OPERATIONS and isinstance(values[0], str | bytes | os.PathLike):
            path = os.fsdecode(values[0])
            if path.startswith(home) or not path.startswith("/"):
                count_operation()

    def fsync(descriptor: int) -> None:
        count_operation()
        real(descriptor)

    os.fsync = fsync
    sys.addaudithook(hook)
    code = run(arguments)
    total = count
    Path(home, COUNT).write_text(str(total))
    sys.exit(code)
