"""Folders that are replaced as a whole, so that a kill or a full disk at any moment leaves a whole one behind.

A folder is written beside the old one (``best.new``), made to last, and renamed; the old one is set aside
(``best.old``) until that is done. Those who read never rename or remove anything: they look for the newest whole
folder under the three names. Only the one who writes puts a folder back in its place, and only files of ours are ever
deleted.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from treebank.base.atomic_write import make_alike, sync
from treebank.base.errors import SynparseError, placed

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
    """Where the newest whole version of ``folder`` lies: there, or beside it after a kill. Touches nothing."""
    place = _real(folder)
    if is_whole(folder):
        return folder
    return next((other for other in (_beside(place, NEW), _beside(place, OLD)) if is_whole(other)), None)


def save(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` as ``folder`` in the place of what was there. A link to a folder stays a link.

    Files keep the permissions that they had, and files of other programs are carried over. Raises OSError, the old
    folder whole and in its place.
    """
    place = _real(folder)
    new, old = _beside(place, NEW), _beside(place, OLD)
    settle(folder)
    if place.exists() and not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
    new.mkdir(parents=True)
    try:
        for name in files.keys() - {SEAL}:
            _write(new / name, files[name], like=place / name)
        _write(new / (SEAL + PART), files[SEAL], like=place / SEAL)
        (new / (SEAL + PART)).rename(new / SEAL)
        sync(new)
        _exchange(place, new, old)
    except OSError:
        with suppress(OSError, SynparseError):
            _discard(new)
        raise
    sync(place.parent)
    with suppress(OSError, SynparseError):  # what is left is cleared before the next writing
        _discard(old, into=place)


def settle(folder: Path) -> None:
    """Put ``folder`` back in its place if a kill came between the renamings of ``save``, and clear what that left.

    For the one who writes only, who must hold the lock of the run.
    """
    place = _real(folder)
    new, old = _beside(place, NEW), _beside(place, OLD)
    if not os.path.lexists(place):
        for other in (new, old):
            if is_whole(other):
                other.rename(place)
                sync(place.parent)
                break
    _discard(new)
    if is_whole(place) or not is_whole(old):  # never the only whole one
        _discard(old, into=place if place.is_dir() else None)


def remove(folder: Path) -> None:
    """Remove our files in ``folder`` and beside it, and the folders that are empty then."""
    place = _real(folder)
    for path in (_beside(place, NEW), _beside(place, OLD), place):
        if path.is_dir():
            _remove_files(path)
            with suppress(OSError):  # not empty: it holds something of the user's
                path.rmdir()


def strangers(folder: Path) -> list[str]:
    """Names of what lies in ``folder`` that is not ours."""
    return sorted(name for name in os.listdir(folder) if name not in FILES) if folder.is_dir() else []


def versions(folder: Path) -> Iterator[Path]:
    """``folder`` and what an interrupted writing may have left beside it, as far as they are there."""
    place = _real(folder)
    yield from (path for path in (place, _beside(place, NEW), _beside(place, OLD)) if os.path.lexists(path))


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _beside(place: Path, suffix: str) -> Path:
    return place.with_name(place.name + suffix)


def _write(path: Path, content: bytes, *, like: Path) -> None:
    """Write ``content`` to ``path`` so that no power cut loses it, with the permissions of ``like`` if it is there."""
    with placed(path.parent), path.open("wb") as stream:
        if like.is_file():
            make_alike(stream.fileno(), like.stat())
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _exchange(place: Path, new: Path, old: Path) -> None:
    """``new`` becomes ``place``, and what was there becomes ``old``; all as before if that fails."""
    had = place.exists()
    if had:
        _make_alike(new, place.stat())
        place.rename(old)
    try:
        new.rename(place)
    except OSError:
        if had:
            old.rename(place)
        raise


def _make_alike(folder: Path, before: os.stat_result) -> None:
    """Give ``folder`` the permissions, group and owner of the one that it replaces, as far as one may."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        make_alike(descriptor, before)
    finally:
        os.close(descriptor)


def _discard(folder: Path, into: Path | None = None) -> None:
    """Remove ``folder``, our files in it deleted, others moved to ``into``.

    Raises SynparseError for something that must not be deleted and cannot be moved.
    """
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise SynparseError(f"{folder}: this is no folder of ours, and it is in the way; move it")
    for name in strangers(folder):
        if into is None or os.path.lexists(into / name):
            raise SynparseError(f"{folder / name}: this is no file of ours, and it is in the way; move it")
        (folder / name).rename(into / name)
    _remove_files(folder)
    folder.rmdir()


def _remove_files(folder: Path) -> None:
    """Delete our files in ``folder``, that which says that it is whole first."""
    for name in FILES:
        with suppress(FileNotFoundError):
            (folder / name).unlink()
