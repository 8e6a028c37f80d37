"""The folder of a training run: its lock, whether a training may write to it, and the removal of its files."""

from __future__ import annotations

import errno
import shlex
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from induce.storage.locate import MODEL_FILES, PathType, folder_types
from induce.storage.model_file import MODEL, RESUME
from induce.storage.outputs import check_new_folder
from treebank.base.errors import SynparseError
from treebank.base.files import PART

LOG = "log.jsonl"
LOCK = ".synparse-lock"
LOCK_TIMEOUT_SECONDS = 1.0  # a worker of a killed process holds the lock until it closes the file
NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP})  # errors of file systems without locks


class RunLock:
    """Lock of a folder, held until `release` or the end of the process. The folder is created if it is missing.

    A lock file that a kill left behind has no effect, and on a file system without locks, neither has this one. Raises
    SynparseError if another process holds the folder.
    """

    def __init__(self, run: Path, holder: str = "training") -> None:
        """``holder`` names the program in the error message of other processes."""
        from filelock import FileLock, Timeout

        run.mkdir(parents=True, exist_ok=True)
        self._path = (run / LOCK).absolute()
        self._lock = FileLock(self._path, LOCK_TIMEOUT_SECONDS, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout:
            problem = f"another {holder} is writing to this folder; wait for it to end, or name another with -o"
            raise SynparseError(f"{run}: {problem}") from None
        except NotImplementedError:
            pass
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise

    def release(self) -> None:
        """Release the folder and remove the lock file. A second call does nothing."""
        if self._lock.is_locked:
            # While the lock is held: a process that has opened the removed file meanwhile tries again, as filelock
            # checks from version 3.21 on. Otherwise a hidden file would stay in each folder.
            self._path.unlink(missing_ok=True)
            self._lock.release()

    def __del__(self) -> None:
        if hasattr(self, "_lock"):
            self.release()


def resumable(run: Path) -> bool:
    """Whether ``run`` contains a state to resume from."""
    return (run / RESUME).exists()


def resume_command(run: str | Path, *, transfer: bool = False) -> str:
    """The command that resumes the training run or Craft transfer in the folder ``run``."""
    return f"synparse {'task transfer' if transfer else 'train'} --resume -o {shlex.quote(str(run))}"


def has_begun(run: Path) -> bool:
    """Whether ``run`` can be resumed. Raises SynparseError for a model without a state to resume from."""
    if not resumable(run) and (run / MODEL).exists():
        raise SynparseError(
            f"{run}: holds a model but no state to resume from; train again with --overwrite, or delete this folder"
        )
    return resumable(run)


def check_type(folder: Path, *allowed: PathType) -> None:
    """Raises SynparseError for a file, and if ``folder`` is inside a model or contains output that is not ``allowed``.

    If a folder contained outputs of two types, such as a model and an ensemble, one of them would be silently ignored.
    """
    if folder.exists() and not folder.is_dir():
        raise SynparseError(f"{folder}: this is a file; name a folder with -o")
    for type_ in folder_types(folder):
        if type_ not in allowed:
            raise SynparseError(f"{folder}: this folder holds {type_}; name another one with -o")
    check_new_folder(folder)


def check_free(run: Path, *, overwrite: bool) -> None:
    """Raises SynparseError if ``run`` contains something that must not be replaced, or cannot be written."""
    check_type(run, PathType.MODEL)
    for path in (run / name for name in MODEL_FILES):
        if path.exists() and not path.is_file():
            raise SynparseError(f"{path}: not a model, so it is not overwritten; name another folder with -o")
        if path.exists() and not overwrite:
            raise SynparseError(
                f"{run}: there is a model already; continue with --resume, replace it with --overwrite, "
                "or name another folder with -o"
            )
    _check_log(run / LOG, overwrite=overwrite)
    nearest = run
    while not nearest.exists():
        nearest = nearest.parent
    try:
        with TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(run)) from None


def _check_log(log: Path, *, overwrite: bool) -> None:
    """Raises SynparseError for a file of that name that is not the log of a training, or is not to be replaced."""
    if not log.exists():
        return
    if not log.is_file():
        raise SynparseError(f"{log}: not a regular file, so no log can be written; name another folder with -o")
    with log.open("rb") as stream:
        beginning = stream.read(9)
    if beginning and not b'{"event":'.startswith(beginning):
        raise SynparseError(
            f"{log}: not the log of a training run, so it is not overwritten; name another folder with -o"
        )
    if beginning and not overwrite:
        raise SynparseError(f"{log}: there is the log of a training already; replace it with --overwrite")


def clear(run: Path) -> None:
    """Remove the run in ``run``, and nothing else."""
    for name in (LOG, *MODEL_FILES):
        (run / name).unlink(missing_ok=True)
    remove_leftovers(run)


def remove_leftovers(run: Path) -> None:
    """Remove the temporary files of models that a kill left in ``run``. Only for the holder of its lock."""
    for name in MODEL_FILES:
        for path in run.glob(f"{name}.*"):
            if PART.fullmatch(path.name.removeprefix(name)):
                with suppress(OSError):
                    path.unlink()
