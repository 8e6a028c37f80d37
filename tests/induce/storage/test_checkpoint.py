"""Files of models: integrity, replacement after faults, and checks of sizes before memory is taken."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from induce import registry
from induce.data.vocabulary import Vocabulary
from induce.models.base import build_with, make_model
from induce.settings.presets import resolve
from induce.storage import checkpoint, model_file
from induce.storage.checkpoint import Check, RunFacts, join_tensors, split_tensors
from tests.support.file_faults import Faults, Killed, limited_memory
from tests.support.model_files import MODEL, RESUME, rewrite
from tests.support.tiny import SETTINGS
from treebank.base.errors import SynparseError
from treebank.base.files import PART
from treebank.base.metadata import MetadataError

CONFIG = resolve(model="udgn", settings=SETTINGS["udgn"])
WORDS = ["<eos>", "<unk>", *(f"w{i}" for i in range(28))]
STATE = {"position": {"step": 1, "loss": float("inf")}, 3: (torch.arange(3), [torch.tensor(1.5), None])}


def data(step: int = 1, **options: Any) -> bytes:
    """The file of a small model."""
    torch.manual_seed(step)
    parts = checkpoint.pack(make_model(CONFIG, 30), CONFIG, Vocabulary(WORDS), RunFacts(step=step), **options)
    return b"".join(parts)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a small model with the state of a trainer."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # speeds up the tests; `Faults` counts the calls
    path = tmp_path / RESUME
    checkpoint.save(path, [data(trainer=STATE)])
    return path


def read_everything(path: Path) -> None:
    """Read all parts of a file."""
    content = checkpoint.read(path)
    checkpoint.build_model(content)
    content.trainer()


# --- integrity --------------------------------------------------------------------------------------------------------


def test_file_is_readable_without_synparse(path: Path) -> None:
    with safe_open(path, "pt") as file:
        content = json.loads(file.metadata()["synparse"])
        assert file.metadata()["vocabulary"].split("\n") == WORDS
        assert content["settings"]["model"] == CONFIG.model
        weights = {name: file.get_tensor(name) for name in list(file.keys()) if not name.startswith("trainer/")}
    assert all(value.equal(weights[name]) for name, value in checkpoint.read(path).weights().items())


def test_same_model_gives_the_same_bytes_and_digest_in_every_file(path: Path) -> None:
    assert data() == data()
    (path.parent / MODEL).write_bytes(data())
    assert checkpoint.read(path).digest == checkpoint.read(path.parent / MODEL).digest


def test_state_of_a_trainer_is_restored_exactly(path: Path) -> None:
    state = checkpoint.read(path).trainer()
    assert repr(state) == repr(STATE)
    checkpoint.save(path, [data()])
    with pytest.raises(MetadataError, match="no state of a trainer"):
        checkpoint.read(path).trainer()
    with pytest.raises(TypeError, match="cannot contain set"):
        split_tensors({"x": {1}})
    for values in ({"tensor": "x"}, {"other": 1}, {"items": [1]}, {"a": 1, "b": 2}, {"float": []}):
        with pytest.raises((KeyError, TypeError, ValueError)):
            join_tensors(values, {})


def test_flipped_bit_raises_an_error(path: Path) -> None:
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for index in {*range(9), *range(9, header, header // 300), *range(header, len(whole), len(whole) // 20)}:
        damaged = bytearray(whole)
        damaged[index] ^= 1 << index % 8
        path.write_bytes(damaged)
        if damaged[index : index + 1].isspace() and whole[index : index + 1].isspace():
            continue
        with pytest.raises(MetadataError, match=RESUME) as error:
            read_everything(path)
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 600


def _entry(header: dict[str, Any], name: str = "") -> dict[str, Any]:
    return header[name or next(name for name in header if name != "__metadata__")]


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("__metadata__"),
        lambda header: header["__metadata__"].pop("vocabulary"),
        lambda header: header["__metadata__"].update(synparse=3),
        lambda header: header["__metadata__"].update(synparse="["),
        lambda header: header["__metadata__"].update(vocabulary="<eos>"),
        lambda header: _entry(header).update(data_offsets=[0, 8]),
        lambda header: _entry(header).update(data_offsets=["x", 8]),
        lambda header: _entry(header).pop("data_offsets"),
        lambda header: _entry(header).update(shape=[10**12]),
        lambda header: _entry(header).update(dtype="F99"),
        lambda header: _entry(header, "trainer/0").update(data_offsets=[0, 10**12]),
        lambda header: header.update(x=_entry(header, "trainer/0")),
        lambda header: header.update({"trainer/first": header.pop(next(iter(list(header)[1:])))}),
    ],
)
def test_changed_header_is_refused(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:start])
    change(header)
    path.write_bytes(model_file.padded_header(header) + whole[start:])
    with pytest.raises(MetadataError, match=f"{RESUME}: ") as error:
        read_everything(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content", [b"", b"x", b"\xff" * 8 + b"{}", b"\x02" + bytes(7) + b"[]", b"\x02" + bytes(7) + b"{}x", b"PK\3\4" * 9]
)
def test_other_files_are_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(MetadataError, match=rf"{RESUME}: not a model of synparse .*, or copy the model again"):
        checkpoint.read(path)


def test_infinite_numbers_and_surrogates_are_stored(path: Path) -> None:
    facts = RunFacts(history=(Check(1, 1, best=True),), texts=("\udcff.txt",))
    checkpoint.save(path, checkpoint.pack(make_model(CONFIG, 30), CONFIG, Vocabulary(WORDS), facts))
    assert b"Infinity" not in path.read_bytes()
    assert checkpoint.read(path).facts == facts


def test_vocabulary_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "MAX_HEADER_BYTES", 100)
    with pytest.raises(SynparseError, match=r"the vocabulary takes more than 100 bytes; raise data\.minimum_count"):
        data()


def test_pickled_checkpoint_reopens_and_checks_its_weights(path: Path) -> None:
    """Weights that were replaced after pickling are an error."""
    sent = pickle.dumps(checkpoint.read(path))
    assert pickle.loads(sent).weights().keys() == checkpoint.read(path).weights().keys()
    path.write_bytes(data(2))
    with pytest.raises(MetadataError, match="differs from the saved file"):
        pickle.loads(sent).weights()


def test_checkpoint_is_consistent_while_its_file_is_replaced(path: Path) -> None:
    """All parts that are read, including the weights, belong to the same version."""
    stop, versions = threading.Event(), [data(1), data(2)]
    digests = [checkpoint.read(path).digest, ""]
    checkpoint.save(path, [versions[1]])
    digests[1] = checkpoint.read(path).digest

    def write() -> None:
        number = 0
        while not stop.is_set():
            checkpoint.save(path, [versions[number % 2]])
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = set()
        for _ in range(200):
            content = checkpoint.read(path)
            assert content.digest == digests[content.facts.step - 1]
            content.weights()
            seen.add(content.facts.step)
    finally:
        stop.set()
        writer.join()
    assert seen == {1, 2}


# --- replacement ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [OSError, Killed])
@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
def test_file_is_old_or_new_after_a_fault_in_any_operation_of_saving(
    path: Path, kind: type[BaseException], first: bool
) -> None:
    """Let each operation fail, and save without faults at the end."""
    run = path.parent / "run"
    old, new = data(1), data(2)
    for at in range(1, 100):
        shutil.rmtree(run, ignore_errors=True)
        if not first:
            checkpoint.save(run / MODEL, [old])
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(at, kind)
            faults.watch_saving(patch)
            with suppress(OSError, Killed):
                checkpoint.save(run / MODEL, [new])
        present = (run / MODEL).read_bytes() if (run / MODEL).exists() else None
        assert present in ((None, new) if first else (old, new))
        left = {name for name in (os.listdir(run) if run.exists() else []) if not PART.search(name)}
        assert left <= {MODEL}
        checkpoint.save(run / MODEL, [new])
        assert (run / MODEL).read_bytes() == new
        if faults.count < at:
            break
    assert at > 6


def test_permissions_and_links_are_kept(path: Path) -> None:
    path.chmod(0o600)
    link = path.parent / "link.safetensors"
    link.symlink_to(path)
    checkpoint.save(link, [data(2)])
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert checkpoint.read(path).facts.step == 2


def test_loaded_model_is_complete_after_a_fault_in_any_operation(path: Path) -> None:
    """Loading either succeeds completely or fails, and never changes the folder."""
    before, points, loaded = path.read_bytes(), 0, 0
    for at in range(200):
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(at)
            faults.watch(patch, os, "open", "stat", "fstat", "fdopen")
            with suppress(OSError, SynparseError):
                content = checkpoint.read(checkpoint.find(path.parent))
                assert content.weights().keys() == checkpoint.build_model(content).state_dict().keys()
                assert content.trainer()["position"]["step"] == 1
                loaded += 1
        points = points or faults.count
        assert (os.listdir(path.parent), path.read_bytes()) == ([RESUME], before)
        if at == points:
            break
    assert points > 2
    assert loaded >= 1


# --- untrusted models -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(registry.MODELS))
def test_oversized_settings_do_not_allocate_gigabytes(path: Path, name: str) -> None:
    """Oversized settings are an error or have no effect, but never allocate the memory."""
    config = resolve(model=name, settings=SETTINGS[name])
    for key in (key for key, value in config.model.items() if type(value) is int):
        for size in (20_000, 10**9):
            checkpoint.save(path, checkpoint.pack(make_model(config, 30), config, Vocabulary(WORDS), RunFacts(step=1)))
            rewrite(path, content=lambda content: content["settings"]["model"].update({key: size}))  # noqa: B023
            with limited_memory(1 << 30):
                message = refusal(path)
            assert len(message) < 600, key
            assert "\n" not in message, key


def refusal(path: Path) -> str:
    """Error message for the model in the file ``path``, or "" if it can be built."""
    try:
        checkpoint.build_model(checkpoint.read(path))
    except MetadataError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("make", [lambda: torch.nn.Linear(10_000, 10_000), lambda: torch.randn(10**5, 10**5)])
def test_model_out_of_proportion_raises_an_error_before_it_is_built(make: Callable[[], Any]) -> None:
    with limited_memory(1 << 26), pytest.raises(ValueError, match="out of proportion"):
        build_with(make, {}, {"weight": torch.zeros(3)})


def test_endless_files_raise_an_error(path: Path) -> None:
    header = model_file.padded_header({"__metadata__": {}, "w": {"dtype": "U8", "data_offsets": [0, 40 * 10**9]}})
    whole = path.read_bytes()
    for start in (b"", b"\xff" * 8, (1 << 26).to_bytes(8, "little"), header, whole):
        path.write_bytes(start)
        with path.open("r+b") as stream:
            stream.truncate(40 * 10**9)
        with limited_memory(1 << 30), pytest.raises(MetadataError):
            read_everything(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with limited_memory(1 << 30), pytest.raises(MetadataError):
        read_everything(path)


def test_state_of_a_trainer_out_of_proportion_is_refused_before_it_is_read(path: Path) -> None:
    checkpoint.save(path, [data(trainer={"x": torch.zeros(1 << 25)})])
    with limited_memory(1 << 26), pytest.raises(MetadataError, match="out of proportion to the weights"):
        checkpoint.read(path).trainer()
