"""Files that are replaced as a whole."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from tests.support.groups import another_group
from treebank.base.errors import SynparseError
from treebank.base.files import replacing, write_whole


def test_permissions_and_links_are_preserved(tmp_path: Path) -> None:
    path, link, other = tmp_path / "a.pdf", tmp_path / "link.pdf", tmp_path / "a.pdf.part"
    path.write_bytes(b"older")
    path.chmod(0o600)
    link.symlink_to(path)
    other.write_bytes(b"mine")
    write_whole(link, b"new")
    assert (path.read_bytes(), other.read_bytes()) == (b"new", b"mine")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert link.is_symlink()
    assert len(list(tmp_path.iterdir())) == 3


def test_group_and_owner_are_preserved(tmp_path: Path) -> None:
    """The group of the file that is replaced is kept, and for a superuser its owner."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"older")
    os.chown(path, -1, another_group())
    path.chmod(0o640)
    before = path.stat()
    write_whole(path, b"new")
    after = path.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)


def test_error_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"older")
    writing = replacing(path)
    writing.__enter__().write(b"ne")
    assert len(list(tmp_path.iterdir())) == 2
    assert not writing.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"older"]
    with pytest.raises(SynparseError, match="this is a folder"):
        write_whole(tmp_path, b"new")


def test_complete_output_is_left_if_a_mounted_file_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, replace = tmp_path / "a", os.replace

    def busy(source: str, target: str) -> None:
        if target == str(path):
            raise OSError(errno.EBUSY, "Device or resource busy", source, None, target)
        replace(source, target)

    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", target)

    monkeypatch.setattr("treebank.base.files.os.replace", busy)
    monkeypatch.setattr("treebank.base.files.shutil.copyfile", full)
    path.write_bytes(b"older")
    with pytest.raises(OSError, match="No space left") as error:
        write_whole(path, b"new")
    (rest,) = (file for file in tmp_path.iterdir() if file != path)
    assert rest.read_bytes() == b"new"
    assert error.value.__notes__ == [f"the complete output is in {rest}"]


def test_a_mounted_file_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(source: str, target: str) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy", source, None, target)

    monkeypatch.setattr("treebank.base.files.os.replace", busy)
    path = tmp_path / "a"
    path.write_bytes(b"older and longer")
    write_whole(path, b"new")
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"new"]
    with pytest.raises(OSError, match="busy"):
        write_whole(tmp_path / "b", b"new")
    assert [file.name for file in tmp_path.iterdir()] == ["a"]
