"""A model in one file: what is packed comes back, and what is not a packed model is refused."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from induce.storage.packed import MANIFEST, PARTS, PackError, is_packed, pack, unpack

CONTENT = {"checkpoint.json": b"{}", "vocabulary.txt": b"<eos>\n<unk>\n", "weights.safetensors": bytes(range(256)) * 9}


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A packed model of three small files."""
    folder = tmp_path / "run"
    folder.mkdir()
    for name, content in CONTENT.items():
        (folder / name).write_bytes(content)
    pack(folder, str(tmp_path / "a.synparse"))
    return tmp_path / "a.synparse"


def test_what_is_packed_comes_back(packed: Path) -> None:
    folder = unpack(packed)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT


def test_the_same_model_gives_the_same_file(packed: Path) -> None:
    first = packed.read_bytes()
    pack(packed.parent / "run", str(packed))
    assert packed.read_bytes() == first
    assert not packed.with_name("a.synparse.part").exists()


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None], how: int = zipfile.ZIP_STORED) -> Path:
    """The packed model with its parts changed by somebody."""
    with zipfile.ZipFile(path) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    change(parts)
    target = path.with_name("changed.synparse")
    with zipfile.ZipFile(target, "w", how) as sink:
        for name, content in parts.items():
            sink.writestr(name, content)
    return target


def manifest(parts: dict[str, bytes], **changes: object) -> None:
    parts[MANIFEST] = json.dumps({**json.loads(parts[MANIFEST]), **changes}).encode()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda parts: parts.update({"weights.safetensors": b"x" * 2304}), "is not what it was"),
        (lambda parts: parts.update({"weights.safetensors": b"x"}), "does not match the parts"),
        (lambda parts: parts.update({"../../evil.txt": b"x"}), "and nothing else"),
        (lambda parts: parts.update({"evil.pkl": b"x"}), "and nothing else"),
        (lambda parts: parts.pop("vocabulary.txt"), "and nothing else"),
        (lambda parts: parts.update({MANIFEST: b"{"}), "cannot be read"),
        (lambda parts: parts.update({MANIFEST: b"[" * 100_000}), "too large"),
        (lambda parts: parts.update({MANIFEST: b"[" * 60_000}), "cannot be read"),
        (lambda parts: manifest(parts, files=[]), "cannot be read"),
        (lambda parts: manifest(parts, format=2), "does not match the parts"),
    ],
)
def test_what_was_changed_is_refused(packed: Path, change: Callable[[dict[str, bytes]], None], problem: str) -> None:
    with pytest.raises(PackError, match=problem):
        unpack(rewritten(packed, change))


def test_compressed_parts_are_refused_before_they_are_opened(packed: Path) -> None:
    with pytest.raises(PackError, match="compressed"):
        unpack(rewritten(packed, lambda parts: None, zipfile.ZIP_DEFLATED))


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"no zip at all")
    with pytest.raises(PackError, match="not a packed model"):
        unpack(tmp_path / "a")


def test_a_folder_without_a_model_is_not_packed(tmp_path: Path) -> None:
    with pytest.raises(PackError, match=PARTS[0]):
        pack(tmp_path, str(tmp_path / "a.synparse"))
    assert list(tmp_path.iterdir()) == []


def test_added_and_missing_bytes_are_an_error(packed: Path) -> None:
    data = packed.read_bytes()
    damaged = [
        b"x" + data,
        b"PK" * 50 + data,
        data + b"x",
        data[1:],
        *(data[:at] + data[at + 3 :] for at in range(0, len(data), 997)),
    ]
    for content in damaged:
        packed.write_bytes(content)
        is_packed(packed)
        with pytest.raises(PackError):
            unpack(packed)
