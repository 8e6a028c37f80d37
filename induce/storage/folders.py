"""Folders that are replaced as a whole, so that a kill or a full disk at any moment leaves a complete one.

A folder is written next to the old one (``best.new``), synced, and renamed; the old one is kept (``best.old``) until
that is done. Readers never rename or remove anything: they look for the newest complete folder under the three names.
Only the writer renames, and only files that synparse has written are ever deleted.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from treebank.base.errors import SynparseError, placed
from treebank.base.files import make_alike, sync

NEW, OLD = ".new", ".old"
FACTS_FILE, VOCABULARY, WEIGHTS, TRAINER = "checkpoint.json", "vocabulary.txt", "weights.safetensors", "trainer.pt"
SEAL = FACTS_FILE  # written last: a folder with this file has all the others
PART = ".part"  # suffix of the seal until it is on the disk
FILES = (SEAL, SEAL + PART, VOCABULARY, WEIGHTS, TRAINER)  # all files that `save` writes


def is_whole(folder: Path) -> bool:
    """Whether ``folder`` was written to the end: its seal exists and is not empty."""
    path = folder / SEAL
    return path.is_file() and path.stat().st_size > 0


def whole(folder: Path) -> Path | None:
    """The newest complete version of ``folder``, also next to it after a kill, or None. Changes nothing."""
    target = _real(folder)
    if is_whole(folder):
        return folder
    return next((other for other in (_sibling(target, NEW), _sibling(target, OLD)) if is_whole(other)), None)


def save(folder: Path, files: Mapping[str, bytes]) -> None:
    """Replace ``folder`` by a folder with ``files``. A link to a folder stays a link.

    Files keep their permissions, and files of other programs are copied. After an OSError, the old folder is unchanged.
    """
    target = _real(folder)
    new, old = _sibling(target, NEW), _sibling(target, OLD)
    settle(folder)
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(target))
    new.mkdir(parents=True)
    try:
        for name in files.keys() - {SEAL}:
            _write(new / name, files[name], like=target / name)
        _write(new / (SEAL + PART), files[SEAL], like=target / SEAL)
        (new / (SEAL + PART)).rename(new / SEAL)
        sync(new)
        _exchange(target, new, old)
    except OSError:
        with suppress(OSError, SynparseError):
            _discard(new)
        raise
    sync(target.parent)
    with suppress(OSError, SynparseError):  # leftovers are removed by the next `save`
        _discard(old, into=target)


def settle(folder: Path) -> None:
    """Restore ``folder`` if a kill came between the renamings of ``save``, and remove temporary folders.

    Only for the writer, who must hold the lock of the run.
    """
    target = _real(folder)
    new, old = _sibling(target, NEW), _sibling(target, OLD)
    if not os.path.lexists(target):
        for other in (new, old):
            if is_whole(other):
                other.rename(target)
                sync(target.parent)
                break
    _discard(new)
    if is_whole(target) or not is_whole(old):  # never the only complete one
        _discard(old, into=target if target.is_dir() else None)


def remove(folder: Path) -> None:
    """Remove the files of synparse in ``folder`` and its temporary copies, and folders that are then empty."""
    target = _real(folder)
    for path in (_sibling(target, NEW), _sibling(target, OLD), target):
        if path.is_dir():
            _remove_files(path)
            with suppress(OSError):  # not empty: it contains files of the user
                path.rmdir()


def unknown_files(folder: Path) -> list[str]:
    """Names of the files in ``folder`` that `save` does not write."""
    return sorted(name for name in os.listdir(folder) if name not in FILES) if folder.is_dir() else []


def versions(folder: Path) -> Iterator[Path]:
    """Existing paths among ``folder`` and the folders that an interrupted `save` may have left next to it."""
    target = _real(folder)
    yield from (path for path in (target, _sibling(target, NEW), _sibling(target, OLD)) if os.path.lexists(path))


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _sibling(target: Path, suffix: str) -> Path:
    return target.with_name(target.name + suffix)


def _write(path: Path, content: bytes, *, like: Path) -> None:
    """Write ``content`` to ``path`` so that no power cut loses it, with the permissions of ``like`` if it is there."""
    with placed(path.parent), path.open("wb") as stream:
        if like.is_file():
            make_alike(stream.fileno(), like.stat())
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _exchange(target: Path, new: Path, old: Path) -> None:
    """Rename the folder ``target`` to ``old`` and ``new`` to ``target``. If that fails, nothing is renamed."""
    had = target.exists()
    if had:
        _make_alike(new, target.stat())
        target.rename(old)
    try:
        new.rename(target)
    except OSError:
        if had:
            old.rename(target)
        raise


def _make_alike(folder: Path, before: os.stat_result) -> None:
    """Give ``folder`` the permissions and, if allowed, the group and owner of the folder that it replaces."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        make_alike(descriptor, before)
    finally:
        os.close(descriptor)


def _discard(folder: Path, into: Path | None = None) -> None:
    """Remove ``folder``: delete the files of synparse and move all others to ``into``.

    Raises SynparseError for something that must not be deleted and cannot be moved.
    """
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise SynparseError(f"{folder}: not written by synparse; move it or choose another folder")
    for name in unknown_files(folder):
        if into is None or os.path.lexists(into / name):
            raise SynparseError(f"{folder / name}: not written by synparse; move it or choose another folder")
        (folder / name).rename(into / name)
    _remove_files(folder)
    folder.rmdir()


def _remove_files(folder: Path) -> None:
    """Delete the files of synparse in ``folder``, the seal first, so that an interruption leaves it incomplete."""
    for name in FILES:
        with suppress(FileNotFoundError):
            (folder / name).unlink()
