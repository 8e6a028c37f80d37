"""Outputs: checks of files and folders against everything that a command reads, and the folder of a training run.

A training run locks its folder (`RunLock`), replaces a model only with ``--overwrite``, and removes nothing but its own
files.
"""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from induce.storage.locate import (
    ENSEMBLE,
    FAMILY,
    LOCK,
    MODEL_FILES,
    PLAN,
    PathType,
    expand_models,
    folder_types,
    locate,
    parse_model_spec,
)
from induce.storage.model_file import MODEL, RESUME
from treebank.base.errors import SynparseError, UsageError
from treebank.base.files import PART
from treebank.corpora.catalog import is_name
from treebank.io import output_path
from treebank.io.formats import format_by_suffix
from treebank.io.read import expand
from treebank.io.source import STDIN

PROTECTED = frozenset({PathType.MODEL, PathType.ENSEMBLE, PathType.CORPUS})
LOG = "log.jsonl"
LOCK_TIMEOUT_SECONDS = 1.0  # a worker of a killed process holds the lock until it closes the file
NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP})  # errors of file systems without locks


def check_output(
    path: str | None,
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    gold: str | None = None,
    models: Sequence[str] = (),
    suffixes: Iterable[str] = (),
) -> None:
    """Raises SynparseError if ``path`` would replace a file that the command reads, or is inside a model folder.

    ``inputs`` are files, folders and patterns of text or predictions, ``gold`` a treebank and ``models`` specifications
    of models. See `treebank.io.output_path.check_output`.
    """
    output_path.check_output(path, _read_paths(inputs, gold, models), suffixes=suffixes, is_protected=is_protected)


def check_output_folder(folder: str | os.PathLike[str], files: Iterable[str] = (), **reads: Any) -> None:
    """Raises SynparseError if ``folder`` is or would be inside a model folder, or is not a folder.

    ``files`` are names of files to write in it, which are checked as by `check_output` if the folder exists.
    """
    path = os.path.realpath(folder)
    _check_name(folder)
    if os.path.lexists(path) and not os.path.isdir(path):
        raise SynparseError(f"{folder}: this is a file; name a folder to write")
    if is_protected(path) or is_protected(os.path.dirname(path)):
        raise SynparseError(f"{folder}: this folder is a model and cannot contain other files; name another folder")
    if os.path.isdir(path):
        for name in files:
            check_output(os.path.join(folder, name), **reads)


def check_new_folder(
    folder: str | os.PathLike[str],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    gold: str | None = None,
    models: Sequence[str] = (),
) -> None:
    """Raises SynparseError if ``folder``, which a command creates or replaces, contains a file that the command reads.

    The same for a folder inside a model, an ensemble or a prepared corpus, except inside a job of several runs. The
    other arguments are those of `check_output`.
    """
    _check_name(folder)
    path = Path(os.path.realpath(folder))
    for parent in path.parents:
        if is_protected(str(parent)) and PathType.JOB not in folder_types(parent):
            problem = f"it would be inside {parent}, which is a model or corpus"
            raise SynparseError(f"{os.fspath(folder)}: {problem}; name another folder with -o")
    for name in _read_paths(inputs, gold, models):
        if Path(os.path.realpath(name)).is_relative_to(path):
            problem = f"is read, so the output folder {os.fspath(folder)} cannot replace it"
            raise SynparseError(f"{os.fspath(name)}: {problem}; name another folder with -o")


def _check_name(folder: str | os.PathLike[str]) -> None:
    """Raises UsageError for the name of standard output, and for a new folder with the suffix of a treebank or text."""
    if os.fspath(folder) == STDIN:
        raise UsageError(f"{STDIN}: a folder cannot be written to standard output; name a folder")
    if (entry := format_by_suffix(os.fspath(folder))) and not os.path.lexists(folder):
        raise UsageError(f"{folder}: a folder is written, not a file in format {entry.name}; name a folder")


def _read_paths(
    inputs: Iterable[str | os.PathLike[str]], gold: str | None, models: Sequence[str]
) -> list[str | os.PathLike[str]]:
    """All files and folders that a command reads."""
    types = {name: locate(name).type for name in inputs if not is_name(os.fspath(name))}
    reads = [name for name, type_ in types.items() if type_ is PathType.CORPUS]
    reads += expand([name for name in types if name not in reads])
    if gold and os.path.lexists(gold):
        reads += expand([gold], trees=True)
    for specifications in expand_models(models).values():
        reads += [locate(parse_model_spec(text).path).path for text in specifications]
    return reads


def is_protected(folder: str) -> bool:
    """Whether a folder contains a model, an ensemble or a prepared corpus."""
    return not PROTECTED.isdisjoint(folder_types(Path(folder)))


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


def resume_command(run: str | Path, *, program: str = "train") -> str:
    """The command that resumes the run in the folder ``run``, which the command ``program`` trains."""
    return f"synparse {program} --resume -o {shlex.quote(str(run))}"


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
    log = run / LOG
    if log.exists() and not log.is_file():
        raise SynparseError(f"{log}: not a regular file, so no log can be written; name another folder with -o")
    beginning = b""
    if log.exists():
        with log.open("rb") as stream:
            beginning = stream.read(9)
    if beginning and not b'{"event":'.startswith(beginning):
        raise SynparseError(
            f"{log}: not the log of a training run, so it is not overwritten; name another folder with -o"
        )
    if beginning and not overwrite:
        raise SynparseError(f"{log}: there is the log of a training already; replace it with --overwrite")
    nearest = run
    while not nearest.exists():
        nearest = nearest.parent
    try:
        with TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(run)) from None


def clear(run: Path) -> None:
    """Remove the run in ``run``, and nothing else."""
    for name in (LOG, *MODEL_FILES):
        (run / name).unlink(missing_ok=True)
    remove_leftovers(run)


def remove_leftovers(run: Path) -> None:
    """Remove the temporary files that a kill left in a run, family or job. Only for the holder of its lock."""
    for name in (*MODEL_FILES, ENSEMBLE, FAMILY, PLAN):
        for path in run.glob(f"{name}.*"):
            if PART.fullmatch(path.name.removeprefix(name)):
                with suppress(OSError):
                    path.unlink()
