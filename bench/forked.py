"""Calls of the program in forked copies of one process that has loaded it all: processes of their own, and cheap."""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

Guard = Callable[[], AbstractContextManager[object]]  # what a call runs in


@dataclass(frozen=True)
class Done:
    """How a call ended. ``code``: its exit code, or the number of the signal that ended it, negative."""

    code: int
    err: str
    seconds: float
    late: bool = False  # it was ended by us, after its time-out

    @property
    def last(self) -> str:
        """The last line that it wrote to standard error."""
        return (self.err.strip().splitlines() or [""])[-1]

    @property
    def told(self) -> bool:
        """Whether it ended as it should where something is wrong: with exit code 1 and one clear line."""
        return self.code == 1 and self.last.startswith("synparse: ") and "Traceback" not in self.err


def load_everything() -> None:
    """Load torch and all of synparse, in one thread: a process that is forked must not have others."""
    import torch

    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in ("treebank", "induce", "cli"):
        for module in walk_packages(import_module(name).__path__, f"{name}."):
            with suppress(ImportError):  # what needs a package that is not installed
                import_module(module.name)
    gc.collect()
    gc.freeze()


def call(
    arguments: Sequence[str],
    folder: Path,
    *,
    guard: Guard = nullcontext,
    kill_after: float | None = None,
    seconds: float = 300.0,
) -> Done:
    """``synparse ARGUMENT…`` in ``folder``, in a copy of this process; SIGKILL ``kill_after`` so many seconds."""
    log = folder / ".err"
    log.touch()  # the copy may be killed before it does anything
    began = time.monotonic()
    child = os.fork()
    if not child:
        _run(arguments, folder, log, guard)
    descriptor, ended = os.pidfd_open(child), False
    try:
        ended = _ended(descriptor, seconds if kill_after is None else kill_after)
    finally:
        os.close(descriptor)
        if not ended:
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    err = log.read_text("utf-8", "replace")
    log.unlink()
    return Done(code, err, time.monotonic() - began, late=not ended and kill_after is None)


def _ended(descriptor: int, seconds: float) -> bool:
    """Whether the process ends within ``seconds``. Those in which we are stopped ourselves hardly count."""
    while True:
        ready, _, _ = select.select([descriptor], [], [], min(1.0, seconds))
        seconds -= 1
        if ready or seconds <= 0:
            return bool(ready)


def _run(arguments: Sequence[str], folder: Path, log: Path, guard: Guard) -> None:
    """What the copy does; it never returns."""
    code = 70
    try:
        err = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, descriptor in enumerate((nothing, nothing, err)):
            os.dup2(descriptor, number)
        sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1)  # noqa: SIM115
        os.chdir(folder)
        from cli.main import run

        with guard():
            code = run(list(arguments))
        sys.stdout.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
