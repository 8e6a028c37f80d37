"""Atomic replacement of folders, the folder of a run and its lock."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from induce.storage import folders
from induce.storage.lock import NAME, RunLock
from induce.storage.run_folder import check_free, clear
from tests.support.file_faults import Faults, Killed, contents
from tests.support.groups import another_group
from treebank.base.errors import SynparseError

OLD, NEW = {"a.bin": b"old", "checkpoint.json": b"{}"}, {"a.bin": b"new", "checkpoint.json": b"[]"}


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "FILES", (*folders.FILES, "a.bin"))
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # speeds up the tests; `Faults` counts the calls


# --- atomic replacement -----------------------------------------------------------------------------------------------

STEP = 1 if os.environ.get("SYNPARSE_ALL_FAULTS") else 9  # between the operations at which the second fault is tried


def points(tmp_path: Path) -> int:
    """Number of file operations when an existing folder is replaced."""
    with pytest.MonkeyPatch.context() as patch:
        run = tmp_path / "count" / "best"
        folders.save(run, OLD)
        faults = Faults(0)
        faults.watch_saving(patch)
        folders.save(run, NEW)
    shutil.rmtree(tmp_path / "count")
    return faults.count


@pytest.mark.parametrize("kind", [OSError, Killed])
@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
def test_folder_is_old_or_new_after_a_fault_in_any_operation_of_saving(
    tmp_path: Path, kind: type[BaseException], first: bool
) -> None:
    """Let each operation fail, then one of the repair, and save without faults at the end."""
    most = points(tmp_path)
    assert most > 10
    for at in range(1, most + 1):
        for again in (0, *range(1 + at % STEP, most + 1, STEP)):
            run = tmp_path / f"{at}-{again}" / "best"
            if not first:
                folders.save(run, OLD)
            for number in (at, again):
                with pytest.MonkeyPatch.context() as patch:
                    Faults(number, kind).watch_saving(patch)
                    with suppress(OSError, Killed):
                        folders.save(run, NEW)
                complete = folders.whole(run)
                assert complete or first
                if complete:
                    assert contents(complete) in (OLD, NEW)
                if kind is OSError and not first:
                    assert complete == run, "after an error the folder has its original name"
            folders.save(run, NEW)
            assert contents(run) == NEW
            assert os.listdir(run.parent) == ["best"]
            shutil.rmtree(run.parent)


def test_reading_does_not_rename_folders(tmp_path: Path) -> None:
    run = tmp_path / "best"
    folders.save(run, OLD)
    for suffix in (".old", ".new"):
        run.rename(run.with_name("best" + suffix))
        before = sorted(os.listdir(tmp_path))
        assert folders.whole(run) == run.with_name("best" + suffix)
        assert sorted(os.listdir(tmp_path)) == before
        run.with_name("best" + suffix).rename(run)


def test_incomplete_folder_is_ignored(tmp_path: Path) -> None:
    run = tmp_path / "best"
    folders.save(tmp_path / "best.old", OLD)
    (tmp_path / "best.new").mkdir()
    (tmp_path / "best.new" / "a.bin").write_bytes(b"ne")
    assert folders.whole(run) == tmp_path / "best.old"
    folders.settle(run)
    assert (os.listdir(tmp_path), contents(run)) == (["best"], OLD)


def test_files_of_the_user_are_carried_over(tmp_path: Path) -> None:
    run = tmp_path / "best"
    folders.save(run, OLD)
    (run / "README").write_text("mine")
    (run / "notes").mkdir()
    folders.save(run, NEW)
    assert (run / "README").read_text() == "mine"
    assert (run / "notes").is_dir()
    folders.remove(run)
    assert sorted(os.listdir(run)) == ["README", "notes"]


def test_permissions_are_kept(tmp_path: Path) -> None:
    run = tmp_path / "best"
    folders.save(run, OLD)
    run.chmod(0o700)
    (run / "a.bin").chmod(0o600)
    group = another_group()
    for path in (run, run / "a.bin"):
        os.chown(path, -1, group)
    folders.save(run, NEW)
    assert (run.stat().st_gid, (run / "a.bin").stat().st_gid) == (group, group)
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    assert stat.S_IMODE((run / "a.bin").stat().st_mode) == 0o600


def test_symbolic_link_is_preserved(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    run = tmp_path / "last"
    run.symlink_to(tmp_path / "disk" / "last")
    for files in (OLD, NEW):
        folders.save(run, files)
        assert run.is_symlink()
        assert contents(tmp_path / "disk" / "last") == files
    assert os.listdir(tmp_path / "disk") == ["last"]


def test_existing_file_is_not_replaced_by_a_folder(tmp_path: Path) -> None:
    (tmp_path / "best").write_text("mine")
    with pytest.raises(OSError, match="Not a directory"):
        folders.save(tmp_path / "best", NEW)
    assert os.listdir(tmp_path) == ["best"]


# --- the folder of a run ----------------------------------------------------------------------------------------------


def test_only_files_of_the_run_are_removed(tmp_path: Path) -> None:
    folders.save(tmp_path / "best", OLD)
    (tmp_path / "best.txt").write_text("mine")
    (tmp_path / "log.jsonl").write_text('{"event": "started"}\n')
    with pytest.raises(SynparseError, match="there is a model already"):
        check_free(tmp_path, overwrite=False)
    check_free(tmp_path, overwrite=True)
    clear(tmp_path)
    assert os.listdir(tmp_path) == ["best.txt"]


@pytest.mark.parametrize("overwrite", [True, False])
def test_log_of_the_user_is_not_overwritten(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "log.jsonl").write_text("precious\n")
    with pytest.raises(SynparseError, match=r"log\.jsonl: not the log of a training"):
        check_free(tmp_path, overwrite=overwrite)


@pytest.mark.parametrize(
    ("suffix", "name", "content"),
    [(".new", "checkpoint.json", ""), ("", "checkpoint.json", ""), (".new", "checkpoint.json.part", "{")],
)
def test_unwritten_seal_counts_as_absent(tmp_path: Path, suffix: str, name: str, content: str) -> None:
    """A kill between opening and writing the first checkpoint.json leaves nothing to resume."""
    left = tmp_path / f"last{suffix}"
    left.mkdir()
    (left / "vocabulary.txt").write_text("<eos")
    (left / name).write_text(content)
    assert folders.whole(tmp_path / "last") is None
    if suffix:
        check_free(tmp_path, overwrite=False)
    folders.save(tmp_path / "last", OLD)
    assert contents(tmp_path / "last") == OLD


def test_second_training_in_a_folder_raises_an_error(tmp_path: Path) -> None:
    run = tmp_path / "run"
    program = f"""if True:
        from pathlib import Path
        from induce.storage.lock import RunLock
        lock = RunLock(Path({str(run)!r}))
        print("held", flush=True)
        input()"""
    command = [sys.executable, "-c", program]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(SynparseError, match=rf"another training is writing to this folder \(process {holder.pid}\)"):
        RunLock(run)
    holder.kill()
    holder.communicate()
    assert os.listdir(run) == [NAME], "the lock file remains after a kill"
    RunLock(run).release()
    assert os.listdir(run) == [], "the next lock removes it"


def test_lock_waits_for_a_worker_of_a_killed_process(tmp_path: Path) -> None:
    """A worker that was just forked holds the lock until it closes the file, even after its parent has ended."""
    lock = RunLock(tmp_path)
    descriptor, lock.descriptor = lock.descriptor, None
    copy = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0.2,))
    copy.start()
    os.close(descriptor)
    RunLock(tmp_path).release()
    copy.join()
