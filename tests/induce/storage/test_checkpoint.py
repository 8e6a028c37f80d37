"""Integrity of checkpoints, and checks of weights before memory is allocated."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from induce import registry
from induce.data.vocabulary import Vocabulary
from induce.models.build import make_model
from induce.settings.presets import resolve
from induce.storage import checkpoint, folders, weights
from induce.storage.facts import Check, RunFacts
from tests.support.file_faults import Faults, contents, limited_memory
from tests.support.tiny import SETTINGS
from treebank.base.errors import SynparseError
from treebank.base.metadata import MetadataError

FILES = tuple(name for name in folders.FILES if not name.endswith(".part"))


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # speeds up the tests; `Faults` counts the calls


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
        with pytest.raises(MetadataError) as error:
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
            faults = Faults(at)
            faults.watch_saving(patch)
            faults.watch(patch, os, "open", "stat", "fstat")
            with suppress(OSError, SynparseError):
                content = checkpoint.read(checkpoint.find(tmp_path, ("last",)))
                assert content.weights().keys() == checkpoint.build_model(content).state_dict().keys()
                assert content.trainer() == {"position": {"step": 1}}
                loaded += 1
        points = points or faults.count
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
    with pytest.raises(MetadataError, match="differs from the saved file"):
        pickle.loads(sent).weights()


def test_infinite_numbers_and_surrogates_are_stored(tmp_path: Path) -> None:
    model = make_model(CONFIG, 30)
    vocabulary = Vocabulary(["<eos>", "<unk>", *(f"w{i}" for i in range(28))])
    facts = RunFacts(history=(Check(1, 1, best=True),), texts=("\udcff.txt",))
    folder = stored(tmp_path / "model", checkpoint.pack(model, CONFIG, vocabulary, facts))
    text = (folder / "checkpoint.json").read_bytes().decode()
    assert "Infinity" not in text
    assert checkpoint.read(folder).facts == facts


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


@pytest.mark.parametrize("name", list(registry.MODELS))
def test_oversized_settings_do_not_allocate_gigabytes(tmp_path: Path, name: str) -> None:
    """Oversized settings are an error or have no effect, but never allocate the memory."""
    config = resolve(model=name, settings=SETTINGS[name])
    vocabulary = Vocabulary(["<eos>", "<unk>", *(f"w{i}" for i in range(28))])
    files = checkpoint.pack(make_model(config, 30), config, vocabulary, RunFacts(step=1))
    for key in (key for key, value in config.model.items() if type(value) is int):
        for size in (20_000, 10**9):
            folder = stored(tmp_path / "model", resealed(files, **{key: size}))
            with limited_memory(1 << 30):
                message = refusal(folder)
            assert len(message) < 600, key
            assert "\n" not in message, key


def refusal(folder: Path) -> str:
    """Error message for the model in ``folder``, or "" if it can be built."""
    try:
        checkpoint.build_model(checkpoint.read(folder))
    except MetadataError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("make", [lambda: torch.nn.Linear(10_000, 10_000), lambda: torch.randn(10**5, 10**5)])
def test_model_out_of_proportion_raises_an_error_before_it_is_built(make: Callable[[], Any]) -> None:
    with limited_memory(1 << 26), pytest.raises(ValueError, match="out of proportion"):
        weights.build_with(make, {}, {"weight": torch.zeros(3)})


@pytest.mark.parametrize("data", [b"", b"\xff" * 8 + b"{}", b"\x02" + bytes(7) + b"[]", b"\x02" + bytes(7) + b"{}xxxx"])
def test_invalid_weights_raise_an_error(tmp_path: Path, data: bytes) -> None:
    whole = checkpoint.read(stored(tmp_path / "model", packed()))
    damaged: Any = replace(whole, weights_file=SimpleNamespace(read=lambda expected: data))
    for read in (damaged.weights, damaged.arrays):
        with pytest.raises(MetadataError, match=r"cannot be read as weights \(.+\)"):
            read()


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
        with limited_memory(1 << 30), pytest.raises(MetadataError):
            read_everything(folder)
