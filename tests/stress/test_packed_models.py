"""Packed models that are damaged at random are refused in one line, or are read as the same model.

Bytes are flipped, removed, repeated, inserted, zeroed and exchanged anywhere in the file, most often in the directories
of the archive. In a second test, values of the description and of the manifest are replaced, with matching digests: the
result may then differ, but no call ends in a traceback. $SYNPARSE_MUTATIONS is the number of changes of each type
(default 100), $SYNPARSE_SEED their seed.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cli.main import run
from induce.parsing.load import load_parser
from induce.storage.packed import MANIFEST, PARTS
from tests.robustness.test_metadata_files import mutated_values
from tests.support.calls import toy_text
from treebank.base.errors import SynparseError
from treebank.base.files import describe_file
from treebank.base.metadata import seal
from treebank.core.sentence import Sentence

MUTATIONS = int(os.environ.get("SYNPARSE_MUTATIONS", "100"))
SEED = os.environ.get("SYNPARSE_SEED", "1")
SENTENCES = [Sentence(tuple(line.split())) for line in toy_text(3).splitlines()]
MAX_MESSAGE_LENGTH = 1_000
LOCAL_HEADER, DIRECTORY = b"PK\x03\x04", b"PK\x01\x02"
SHARE_IN_DIRECTORIES = 0.5  # of the damages, which would otherwise almost always hit the weights


@pytest.fixture(scope="module")
def packed(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "model.synparse"
    assert run(["pack", "-m", str(trained / "run"), "-o", str(path)]) == 0
    return path


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpack into the folder of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def read(path: Path) -> Any:
    """Trees and facts of a packed model, or None if it is refused in one line."""
    try:
        parser = load_parser(str(path), device="cpu")
        return [str(tree) for tree in parser.parse(iter(SENTENCES))], parser.facts
    except SynparseError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < MAX_MESSAGE_LENGTH
    return None


def position(data: bytes, rng: random.Random) -> int:
    """A position in the file, often in a header or directory of the archive."""
    if rng.random() > SHARE_IN_DIRECTORIES:
        return rng.randrange(len(data))
    start = rng.choice([data.find(DIRECTORY), *_all(data, LOCAL_HEADER)])
    end = len(data) if start == data.find(DIRECTORY) else start + 60
    return rng.randrange(start, end)


def _all(data: bytes, pattern: bytes) -> list[int]:
    """Positions of ``pattern``."""
    return [start for start in range(len(data)) if data.startswith(pattern, start)] if pattern in data else []


def damaged(data: bytes, rng: random.Random) -> bytes:
    """``data`` with one damage."""
    at, length = position(data, rng), rng.choice([1, 1, 2, 4, 16, 500])
    flipped = bytes([data[at] ^ 1 << rng.randrange(8)])
    kind = rng.choice(["flip", "flip", "flip", "set", "delete", "repeat", "insert", "cut", "zero", "exchange"])
    middles = {
        "flip": flipped + data[at + 1 :],
        "set": bytes([rng.randrange(256)]) + data[at + 1 :],
        "delete": data[at + length :],
        "repeat": data[at : at + length] + data[at:],
        "insert": rng.randbytes(length) + data[at:],
        "cut": b"",
        "zero": bytes(min(length, len(data) - at)) + data[at + length :],
    }
    return data[at:] + data[:at] if kind == "exchange" else data[:at] + middles[kind]


def test_damaged_file_is_refused_or_has_the_same_content(packed: Path, tmp_path: Path) -> None:
    data, expected, rng = packed.read_bytes(), read(packed), random.Random(f"{SEED} damage")
    path, refused = tmp_path / "model.synparse", 0
    for number in range(MUTATIONS):
        path.write_bytes(damaged(data, rng))
        result = read(path)
        assert result in (None, expected), number
        refused += result is None
    assert refused > MUTATIONS / 2


def test_values_with_matching_digests_raise_no_traceback(packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "parts")
    path, rng, refused = tmp_path / "model.synparse", random.Random(f"{SEED} values"), 0
    description = json.loads((tmp_path / "parts" / PARTS[0]).read_bytes())
    for _ in range(MUTATIONS):
        changed = tmp_path / "parts" / PARTS[0]
        changed.write_text(json.dumps(seal(mutated_values(description, rng))))
        manifest = json.loads((tmp_path / "parts" / MANIFEST).read_bytes())
        facts = describe_file(changed)
        manifest["files"][PARTS[0]] = {"bytes": facts.bytes, "sha256": facts.sha256}
        if rng.random() < 0.1:
            manifest = mutated_values(manifest, rng)
        with zipfile.ZipFile(path, "w") as sink:
            sink.writestr(MANIFEST, json.dumps(seal(manifest)))
            for name in PARTS:
                sink.write(tmp_path / "parts" / name, name)
        refused += read(path) is None
    assert refused > MUTATIONS / 4
