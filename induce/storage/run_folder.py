"""The folder of a training run: whether a training may write to it, and the removal of its files."""

from __future__ import annotations

import shlex
from pathlib import Path
from tempfile import TemporaryFile

from induce.storage.folders import remove, settle, unknown_files, versions, whole
from induce.storage.locate import CHECKPOINTS, PathType, folder_types
from induce.storage.outputs import check_new_folder
from treebank.base.errors import SynparseError

LOG = "log.jsonl"


def resumable(run: Path) -> bool:
    """Whether ``run`` contains a state to resume from, also after a kill while it was saved. Changes nothing."""
    return whole(run / "last") is not None


def resume_command(run: str | Path, *, transfer: bool = False) -> str:
    """The command that resumes the training run or Craft transfer in the folder ``run``."""
    return f"synparse {'task transfer' if transfer else 'train'} --resume -o {shlex.quote(str(run))}"


def has_begun(run: Path) -> bool:
    """Whether ``run`` can be resumed. Raises SynparseError for a model without a state to resume from."""
    if not resumable(run) and whole(run / "best"):
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
    """Raises SynparseError if ``run`` contains something that must not be replaced, or cannot be written.

    After a kill in the very first saving there is no model yet, and a training may begin.
    """
    check_type(run, PathType.MODEL)
    for folder in (run / name for name in CHECKPOINTS):
        for path in versions(folder):
            is_model = path.is_dir() and (
                len(unknown_files(path)) < len(list(path.iterdir())) or not any(path.iterdir())
            )
            if not is_model:
                raise SynparseError(f"{path}: not a model, so it is not overwritten; name another folder with -o")
        if not overwrite and (whole(folder) or folder.exists()):
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
    (run / LOG).unlink(missing_ok=True)
    for name in CHECKPOINTS:
        remove(run / name)


def settle_run(run: Path) -> None:
    """Restore the folders of ``run`` after a kill. Only for the holder of its lock."""
    for name in CHECKPOINTS:
        settle(run / name)
