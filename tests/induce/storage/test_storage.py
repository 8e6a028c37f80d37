"""Atomic replacement of folders, the lock of a run folder, and checks of weights before memory is allocated."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import pickle
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from induce import registry
from induce.data.vocabulary import Vocabulary
from induce.models.build import make_model
from induce.settings.presets import resolve
from induce.storage import checkpoint, folders, weights
from induce.storage.checkpoint import CheckpointError
from induce.storage.facts import Check, RunFacts
from induce.storage.lock import NAME, RunLock
from induce.storage.run_folder import check_free, clear
from tests.support.groups import another_group
from tests.support.tiny import SETTINGS
from treebank.base.errors import SynparseError

OLD, NEW = {"a.bin": b"old", "checkpoint.json": b"{}"}, {"a.bin": b"new", "checkpoint.json": b"[]"}
FILES = tuple(name for name in folders.FILES if not name.endswith(".part"))


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "FILES", (*folders.FILES, "a.bin"))
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # speeds up the tests; `Fault` counts the calls


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- atomic replacement -----------------------------------------------------------------------------------------------

STEP = 1 if os.environ.get("SYNPARSE_ALL_FAULTS") else 9  # between the operations at which the second fault is tried


class Fault:
    """Counts file operations while a folder is saved, and raises ``kind`` at number ``at``.

    After `Killed`, all further operations fail as well, as if the process had ended.
    """

    class Killed(BaseException):
        """Exception that the package does not catch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, kind: type[BaseException]) -> None:
        self.count, self.at, self.kind, self.dead = 0, at, kind, False
        for name in ("mkdir", "rename", "unlink", "rmdir", "open"):
            monkeypatch.setattr(Path, name, self.watched(getattr(Path, name)))
        for name in ("fsync", "fchmod"):
            monkeypatch.setattr(os, name, self.watched(getattr(os, name)))

    def watched(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.count += 1
            if self.dead or self.count == self.at:
                self.dead = self.kind is self.Killed  # a killed process does nothing more
                raise self.kind(errno.ENOSPC, "No space left on device")
            return real(*args, **options)

        return call


def points(tmp_path: Path) -> int:
    """Number of file operations when an existing folder is replaced."""
    with pytest.MonkeyPatch.context() as patch:
        run = tmp_path / "count" / "best"
        folders.save(run, OLD)
        fault = Fault(patch, 0, OSError)
        folders.save(run, NEW)
    shutil.rmtree(tmp_path / "count")
    return fault.count


@pytest.mark.parametrize("kind", [OSError, Fault.Killed])
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
                    Fault(patch, number, kind)
                    with suppress(OSError, Fault.Killed):
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


def test_folder_is_free_after_a_kill_during_the_first_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "last.new").mkdir()
    (tmp_path / "last.new" / "vocabulary.txt").write_text("<eos")
    check_free(tmp_path, overwrite=False)


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
    assert holder.stdout is not None
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
    assert descriptor is not None
    copy = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0.2,))
    copy.start()
    os.close(descriptor)
    RunLock(tmp_path).release()
    copy.join()


# --- integrity of checkpoints ----------------------------------------------------------------------------------------

CONFIG = resolve(model="udgn", settings=SETTINGS["udgn"])


def packed(words: int = 30) -> dict[str, bytes]:
    vocabulary = Vocabulary(["<eos>", "<unk>", *(f"w{i}" for i in range(words - 2))])
    torch.manual_seed(1)
    model = make_model(CONFIG, words)
    return checkpoint.pack(model, CONFIG, vocabulary, RunFacts(step=1), {"position": {"step": 1}})


def stored(folder: Path, files: dict[str, bytes]) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def resealed(files: dict[str, bytes], **changes: Any) -> dict[str, bytes]:
    """Copy of ``files`` with changed settings of the model and matching digests, as an attacker could create it."""
    content = json.loads(files["checkpoint.json"])
    content["settings"]["model"].update(changes)
    return checkpoint.sealed(content, {name: data for name, data in files.items() if name != "checkpoint.json"})


def read_everything(folder: Path) -> None:
    """Read all files in ``folder``."""
    content = checkpoint.read(folder)
    checkpoint.build_model(content)
    content.trainer()


@pytest.mark.parametrize("name", FILES)
def test_flipped_bit_raises_an_error(tmp_path: Path, name: str) -> None:
    files = packed()
    data = files[name]
    for index in {0, 1, len(data) - 2, *range(0, len(data), max(1, len(data) // 12))}:
        damaged = bytearray(data)
        damaged[index] ^= 1 << index % 8
        folder = stored(tmp_path / "model", {**files, name: bytes(damaged)})
        if name == "checkpoint.json" and _same(bytes(damaged), data):
            continue  # only white space differs
        with pytest.raises(CheckpointError) as error:
            read_everything(folder)
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 600


def _same(first: bytes, second: bytes) -> bool:
    try:
        return bool(json.loads(first) == json.loads(second))
    except ValueError:
        return False


def test_loaded_model_is_complete_after_a_fault_in_any_operation(tmp_path: Path) -> None:
    """Loading either succeeds completely or fails, and never changes the folder."""
    folder = stored(tmp_path / "last", packed())
    before, points, loaded = contents(folder), 0, 0
    for at in range(200):
        with pytest.MonkeyPatch.context() as patch:
            fault = Fault(patch, at, OSError)
            for name in ("open", "stat", "fstat"):
                patch.setattr(os, name, fault.watched(getattr(os, name)))
            with suppress(OSError, SynparseError):
                content = checkpoint.read(checkpoint.find(tmp_path, ("last",)))
                assert content.weights().keys() == checkpoint.build_model(content).state_dict().keys()
                assert content.trainer() == {"position": {"step": 1}}
                loaded += 1
        points = points or fault.count
        assert contents(folder) == before
        if at == points:
            break
    assert points > 10
    assert loaded >= 1


def test_pickled_checkpoint_reopens_and_checks_its_weights(tmp_path: Path) -> None:
    """Weights that were replaced after pickling are an error."""
    folder = stored(tmp_path / "model", packed())
    sent = pickle.dumps(checkpoint.read(folder))
    assert pickle.loads(sent).weights().keys() == checkpoint.read(folder).weights().keys()
    (folder / "weights.safetensors").write_bytes(bytes(len(packed()["weights.safetensors"])))
    with pytest.raises(CheckpointError, match="differs from the saved file"):
        pickle.loads(sent).weights()


def test_infinite_numbers_and_surrogates_are_stored(tmp_path: Path) -> None:
    model = make_model(CONFIG, 30)
    vocabulary = Vocabulary(["<eos>", "<unk>", *(f"w{i}" for i in range(28))])
    facts = RunFacts(history=(Check(1, 1, best=True),), texts=("\udcff.txt",))
    folder = stored(tmp_path / "model", checkpoint.pack(model, CONFIG, vocabulary, facts))
    text = (folder / "checkpoint.json").read_bytes().decode()
    assert "Infinity" not in text
    assert checkpoint.read(folder).facts == facts


def test_unwritten_seal_counts_as_absent(tmp_path: Path) -> None:
    """A kill between opening and writing the first checkpoint.json leaves nothing to resume."""
    folder = tmp_path / "last"
    for suffix, content in ((".new", b""), ("", b""), (".new", None)):
        stored(tmp_path / f"last{suffix}", {"vocabulary.txt": b"<eos>"})
        if content is not None:
            (tmp_path / f"last{suffix}" / "checkpoint.json").write_bytes(content)
        else:
            (tmp_path / f"last{suffix}" / "checkpoint.json.part").write_bytes(b"{")
        assert folders.whole(folder) is None
        if suffix:
            check_free(tmp_path, overwrite=False)
        folders.save(folder, OLD)
        assert contents(folder) == OLD
        shutil.rmtree(folder)


def test_checkpoint_is_consistent_while_its_folder_is_replaced(tmp_path: Path) -> None:
    """All files that are read, including the weights, belong to the same version."""
    folder, stop = tmp_path / "best", threading.Event()
    versions = []
    for number in (1, 2):
        vocabulary = Vocabulary(["<eos>", "<unk>", *(f"w{number}.{i}" for i in range(28))])
        torch.manual_seed(number)
        model = make_model(CONFIG, 30)
        versions.append(checkpoint.pack(model, CONFIG, vocabulary, RunFacts(step=number)))
    folders.save(folder, versions[0])

    def write() -> None:
        number = 1
        while not stop.is_set():
            folders.save(folder, versions[number % 2])
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = set()
        for _ in range(30):
            content = checkpoint.read(folder)
            assert content.vocabulary.words[2].startswith(f"w{content.facts.step}.")
            checkpoint.build_model(content)
            seen.add(content.facts.step)
    finally:
        stop.set()
        writer.join()
    assert seen == {1, 2}


# --- untrusted models -------------------------------------------------------------------------------------------------

INTEGERS = [
    (name, key)
    for name in registry.MODELS
    for key, value in resolve(model=name, settings=SETTINGS[name]).model.items()
    if type(value) is int
]


@pytest.mark.parametrize(("name", "key"), INTEGERS)
@pytest.mark.parametrize("size", [20_000, 10**9])
def test_oversized_settings_do_not_allocate_gigabytes(tmp_path: Path, name: str, key: str, size: int) -> None:
    """Oversized settings are an error or have no effect, but never allocate the memory."""
    config = resolve(model=name, settings=SETTINGS[name])
    vocabulary = Vocabulary(["<eos>", "<unk>", *(f"w{i}" for i in range(28))])
    files = checkpoint.pack(make_model(config, 30), config, vocabulary, RunFacts(step=1))
    folder = stored(tmp_path / "model", resealed(files, **{key: size}))
    with limited_memory(1 << 30):
        message = refusal(folder)
    assert len(message) < 600
    assert "\n" not in message


def refusal(folder: Path) -> str:
    """Error message for the model in ``folder``, or "" if it can be built."""
    try:
        checkpoint.build_model(checkpoint.read(folder))
    except CheckpointError as error:
        return str(error)
    return ""


class limited_memory:
    """Context in which this process may allocate at most ``more`` additional bytes of address space."""

    def __init__(self, more: int) -> None:
        self.more = more

    def __enter__(self) -> None:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        self.before = resource.getrlimit(resource.RLIMIT_AS)
        limit = pages * resource.getpagesize() + self.more
        resource.setrlimit(resource.RLIMIT_AS, (limit, self.before[1]))

    def __exit__(self, *_: object) -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, self.before)


def test_every_model_is_built_within_the_limits_of_its_weights() -> None:
    for name in registry.MODELS:
        config = resolve(model=name, settings=SETTINGS[name])
        state = make_model(config, 30).state_dict()
        weights.build_with(lambda config=config: make_model(config, 30), config.model, state)
        with pytest.raises((ValueError, RuntimeError)):
            weights.build_with(lambda config=config: make_model(config, 31), config.model, state)


@pytest.mark.parametrize("make", [lambda: torch.nn.Linear(10_000, 10_000), lambda: torch.randn(10**5, 10**5)])
def test_model_out_of_proportion_raises_an_error_before_it_is_built(make: Callable[[], Any]) -> None:
    with limited_memory(1 << 26), pytest.raises(ValueError, match="out of proportion"):
        weights.build_with(make, {}, {"weight": torch.zeros(3)})


@pytest.mark.parametrize("data", [b"", b"\xff" * 8 + b"{}", b"\x02" + bytes(7) + b"[]", b"\x02" + bytes(7) + b"{}xxxx"])
def test_invalid_weights_are_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        weights.parse(data)


@pytest.mark.parametrize("name", FILES)
def test_endless_files_raise_an_error(tmp_path: Path, name: str) -> None:
    folder = stored(tmp_path / "model", packed())
    for damage in ("device", "holes"):
        path = folder / name
        path.unlink()
        if damage == "device":
            path.symlink_to("/dev/zero")
        else:
            with path.open("wb") as stream:
                stream.truncate(40 * 10**9)
        with limited_memory(1 << 30), pytest.raises(CheckpointError):
            read_everything(folder)
