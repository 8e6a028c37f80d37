"""The folder of a run: whether a training may write to it, and what of it is ours to remove."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile

from induce.storage.folders import remove, settle, strangers, versions, whole
from treebank.base.errors import SynparseError
from treebank.io.parsed_folder import NOTE

MODELS = ("best", "last")  # the folders in a run's folder
LOG = "log.jsonl"
#: what says what else a folder of ours holds -> what that is
KINDS = {
    "ensemble.json": "an ensemble",
    "family.json": "a family of seeds",
    NOTE: "parsed text",
}


def resumable(run: Path) -> bool:
    """Whether ``run`` holds a state to go on from, if only beside its place after a kill. Touches nothing."""
    return whole(run / "last") is not None


def check_kind(folder: Path, own: str = "") -> None:
    """Raises SynparseError if ``folder`` holds something of another kind than ``own``, a name in `KINDS`.

    Of two kinds in one folder a command would take one, and nobody would see that the other is not used.
    """
    for name, kind in KINDS.items():
        if name != own and (folder / name).exists():
            raise SynparseError(f"{folder}: this folder holds {kind}; name another one with -o")
    if own and any(versions_of(folder)):
        raise SynparseError(f"{folder}: there is a trained model in this folder; name another one with -o")


def versions_of(run: Path) -> Iterator[Path]:
    """The folders of models in ``run``, and what an interrupted writing left of them."""
    return chain.from_iterable(versions(run / name) for name in MODELS)


def check_free(run: Path, *, overwrite: bool) -> None:
    """Raises SynparseError if ``run`` holds what was not to be replaced, or cannot be written.

    What a kill in the very first saving leaves is no model: a training may begin there.
    """
    if run.is_file():
        raise SynparseError(f"{run}: this is a file; name a folder with -o")
    check_kind(run)
    for folder in (run / name for name in MODELS):
        for path in versions(folder):
            ours = path.is_dir() and (len(strangers(path)) < len(list(path.iterdir())) or not any(path.iterdir()))
            if not ours:
                raise SynparseError(f"{path}: this is no model, so it is not overwritten; name another folder with -o")
        if not overwrite and (whole(folder) or folder.exists()):
            raise SynparseError(
                f"{run}: there is a model already; go on with --resume, replace it with --overwrite, "
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
        raise SynparseError(f"{log}: this is no file, so no log can be written; name another folder with -o")
    with log.open("rb") as stream:
        beginning = stream.read(9)
    if beginning and not b'{"event":'.startswith(beginning):
        raise SynparseError(f"{log}: this is no log of ours, so it is not overwritten; name another folder with -o")
    if beginning and not overwrite:
        raise SynparseError(f"{log}: there is the log of a training already; replace it with --overwrite")


def clear(run: Path) -> None:
    """Remove the run in ``run``, and nothing else."""
    (run / LOG).unlink(missing_ok=True)
    for name in MODELS:
        remove(run / name)


def settle_run(run: Path) -> None:
    """Put the folders of ``run`` back in their places after a kill; for the one who holds its lock."""
    for name in MODELS:
        settle(run / name)
