"""Models packed in one file: round trip, and errors for files that are not packed models."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from induce.storage.packed import MANIFEST, PARTS, PackError, is_packed, unpack, write_packed
from treebank.base.metadata import seal

CONTENT = {"checkpoint.json": b"{}", "vocabulary.txt": b"<eos>\n<unk>\n", "weights.safetensors": bytes(range(256)) * 9}


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A packed model of three small files."""
    folder = tmp_path / "run"
    folder.mkdir()
    for name, content in CONTENT.items():
        (folder / name).write_bytes(content)
    write_packed(folder, str(tmp_path / "a.synparse"))
    return tmp_path / "a.synparse"


def test_unpacking_restores_the_files(packed: Path) -> None:
    folder = unpack(packed)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == CONTENT


def test_packing_is_deterministic(packed: Path) -> None:
    first = packed.read_bytes()
    write_packed(packed.parent / "run", str(packed))
    assert packed.read_bytes() == first
    assert not packed.with_name("a.synparse.part").exists()


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None], compression: int = zipfile.ZIP_STORED) -> Path:
    """Copy of the packed model with its parts modified by ``change``."""
    with zipfile.ZipFile(path) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    change(parts)
    target = path.with_name("changed.synparse")
    with zipfile.ZipFile(target, "w", compression) as sink:
        for name, content in parts.items():
            sink.writestr(name, content)
    return target


def manifest(parts: dict[str, bytes], **changes: object) -> None:
    parts[MANIFEST] = json.dumps(seal({**json.loads(parts[MANIFEST]), **changes})).encode()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda parts: parts.update({"weights.safetensors": b"x" * 2304}), "is not what it was"),
        (lambda parts: parts.update({"weights.safetensors": b"x"}), "does not match the parts"),
        (lambda parts: parts.update({"../../evil.txt": b"x"}), "and nothing else"),
        (lambda parts: parts.update({"evil.pkl": b"x"}), "and nothing else"),
        (lambda parts: parts.pop("vocabulary.txt"), "and nothing else"),
        (lambda parts: parts.update({MANIFEST: b"{"}), "not the manifest of a packed model"),
        (lambda parts: parts.update({MANIFEST: b"[" * 100_000}), "too large"),
        (lambda parts: manifest(parts, format=9), "format 9 is unknown"),
    ],
)
def test_modified_parts_raise_an_error(packed: Path, change: Callable[[dict[str, bytes]], None], problem: str) -> None:
    with pytest.raises(PackError, match=problem):
        unpack(rewritten(packed, change))


def test_compressed_parts_raise_an_error_before_they_are_opened(packed: Path) -> None:
    with pytest.raises(PackError, match="compressed"):
        unpack(rewritten(packed, lambda parts: None, zipfile.ZIP_DEFLATED))


def test_other_files_raise_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"no zip at all")
    with pytest.raises(PackError, match="not a packed model"):
        unpack(tmp_path / "a")


def test_folder_without_a_model_cannot_be_packed(tmp_path: Path) -> None:
    with pytest.raises(PackError, match=PARTS[0]):
        write_packed(tmp_path, str(tmp_path / "a.synparse"))
    assert list(tmp_path.iterdir()) == []


def test_added_and_missing_bytes_are_an_error(packed: Path) -> None:
    data = packed.read_bytes()
    long_name = data.replace(b"\x0d\x00\x00\x00manifest", b"\xff\x07\x00\x00manifest", 1)
    assert long_name != data
    damaged = [
        long_name,
        b"x" + data,
        b"PK" * 50 + data,
        data + b"x",
        data[1:],
        *(data[:at] + data[at + 3 :] for at in range(0, len(data), 997)),
    ]
    for content in damaged:
        packed.write_bytes(content)
        is_packed(packed)
        with pytest.raises(PackError) as error:
            unpack(packed)
        assert len(str(error.value)) < len(str(packed)) + 400  # although zipfile quotes the bytes of names
