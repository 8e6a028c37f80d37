"""Lock of a run folder, which the operating system releases however the process ends."""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from pathlib import Path

from treebank.base.errors import SynparseError

NAME = ".synparse-lock"
HELD = (errno.EWOULDBLOCK, errno.EACCES)  # errors of a lock that another process holds
LOCK_TIMEOUT_SECONDS = 1.0  # a worker of a killed process holds the lock until it closes the file


class RunLock:
    """Lock of a run folder, held until `release`. The folder is created if it is missing.

    The lock is on a file in the folder, which is removed in the end; one that a kill left behind is nobody's. On a file
    system without locks, training continues without one. Raises SynparseError if another training holds the folder.
    """

    def __init__(self, run: Path, holder: str = "training") -> None:
        """``holder`` names the program in the error message of other processes."""
        run.mkdir(parents=True, exist_ok=True)
        self.path = (run / NAME).absolute()
        self.descriptor: int | None = _acquire(run, holder)

    def release(self) -> None:
        """Release the folder. A second call does nothing."""
        descriptor, self.descriptor = self.descriptor, None
        if descriptor is None:
            return
        with suppress(OSError):
            if _same(descriptor, self.path):
                self.path.unlink()
        os.close(descriptor)

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            self.release()


def _acquire(run: Path, holder: str) -> int:
    """Lock the file, write the number of this process to it, and return its descriptor."""
    while True:
        descriptor = os.open(run / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _lock(descriptor, run, holder)
            if _same(descriptor, run / NAME):  # otherwise the holder has just removed the file
                with suppress(OSError):  # on a full disk, messages of other processes lack the number
                    os.truncate(descriptor, 0)
                    os.write(descriptor, f"{os.getpid()}\n".encode())
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int, run: Path, kind: str) -> None:
    try:
        import fcntl
    except ImportError:  # the system does not support these locks
        return
    until = time.monotonic() + LOCK_TIMEOUT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in HELD:
                return
        if time.monotonic() >= until:
            break
        time.sleep(LOCK_TIMEOUT_SECONDS / 50)
    holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
    process = f" (process {holder})" if holder.isdigit() else ""
    raise SynparseError(
        f"{run}: another {kind} is writing to this folder{process}; wait for it to end, or name another with -o"
    )


def _same(descriptor: int, path: Path) -> bool:
    """Whether ``path`` still names the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
