"""The folder of a run, and its lock."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from induce.storage.outputs import LOCK, RunLock, check_free, clear, remove_leftovers
from tests.support.model_files import MODEL, RESUME
from treebank.base.errors import SynparseError


def test_only_files_of_the_run_are_removed(tmp_path: Path) -> None:
    left = [f"{RESUME}.0a1b2c.part", f"{MODEL}.012345.part"]
    user_files = ["model.safetensors.part", "model.safetensors.old.part", "notes.0a1b2c.part", "best.txt"]
    for name in (MODEL, RESUME, *left, *user_files):
        (tmp_path / name).touch()
    (tmp_path / "log.jsonl").write_text('{"event": "started"}\n')
    with pytest.raises(SynparseError, match="there is a model already; continue with --resume"):
        check_free(tmp_path, overwrite=False)
    check_free(tmp_path, overwrite=True)
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([MODEL, RESUME, *user_files, "log.jsonl"])
    clear(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(user_files)


@pytest.mark.parametrize("overwrite", [True, False])
def test_files_of_the_user_are_not_overwritten(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "log.jsonl").write_text("precious\n")
    with pytest.raises(SynparseError, match=r"log\.jsonl: not the log of a training"):
        check_free(tmp_path, overwrite=overwrite)
    (tmp_path / MODEL).mkdir()
    with pytest.raises(SynparseError, match=rf"{MODEL}: not a model"):
        check_free(tmp_path, overwrite=overwrite)


def test_second_training_in_a_folder_raises_an_error(tmp_path: Path) -> None:
    run = tmp_path / "run"
    program = f"""if True:
        from pathlib import Path
        from induce.storage.outputs import RunLock
        lock = RunLock(Path({str(run)!r}))
        print("held", flush=True)
        input()"""
    command = [sys.executable, "-c", program]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(SynparseError, match="run: another training is writing to this folder; wait for it to end"):
        RunLock(run)
    holder.kill()
    holder.communicate()
    assert os.listdir(run) == [LOCK], "the lock file remains after a kill"
    lock = RunLock(run)
    lock.release()
    lock.release()
    assert os.listdir(run) == [], "the next lock removes it"


def test_lock_waits_for_a_worker_of_a_killed_process(tmp_path: Path) -> None:
    """A worker that was just forked holds the lock until it closes the file, even after its parent has ended."""
    lock = RunLock(tmp_path)
    copy = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0.2,))
    copy.start()
    os.close(lock._lock._context.lock_file_fd)  # as if this process had ended
    lock._lock._context.lock_file_fd = None
    RunLock(tmp_path).release()
    copy.join()
