"""Fast calls of synparse in child processes, forked from one process that has loaded all modules."""

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

Guard = Callable[[], AbstractContextManager[object]]  # context in which a call runs


@dataclass(frozen=True)
class Done:
    """Result of a call. ``code`` is its exit code, or minus the number of the signal that ended it."""

    code: int
    err: str
    seconds: float
    late: bool = False  # killed after its time limit

    @property
    def last(self) -> str:
        """Last line of standard error."""
        return (self.err.strip().splitlines() or [""])[-1]


def load_everything() -> None:
    """Load torch and all modules of synparse in one thread, because a forked process must not have others."""
    import torch

    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in ("treebank", "induce", "cli"):
        for module in walk_packages(import_module(name).__path__, f"{name}."):
            with suppress(ImportError):  # modules that need a missing package
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
    """Run ``synparse ARGUMENT…`` in ``folder`` in a child process, and kill it after ``kill_after`` seconds."""
    log = folder / ".err"
    log.touch()  # the child may be killed before it writes anything
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
    """Whether the process ends within ``seconds``. Time in which this process is stopped hardly counts."""
    while True:
        ready, _, _ = select.select([descriptor], [], [], min(1.0, seconds))
        seconds -= 1
        if ready or seconds <= 0:
            return bool(ready)


def _run(arguments: Sequence[str], folder: Path, log: Path, guard: Guard) -> None:
    """Run the call in the child process, and exit with its code."""
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
