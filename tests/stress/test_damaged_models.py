"""Models and ensembles that are damaged at random are refused in one line, or are read as the same model.

Bytes are flipped, removed, repeated, inserted, zeroed and exchanged anywhere in the file, most often in the header. In
a second test, values of the header are replaced, with matching digests: the result may then differ, but no call ends in
a traceback. $SYNPARSE_MUTATIONS is the number of changes of each type (default 100), $SYNPARSE_SEED their seed.
"""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

from cli.main import run
from induce.parsing.load import load_parser
from tests.robustness.test_metadata_files import mutated_values
from tests.support.calls import toy_text
from tests.support.model_files import MODEL, RESUME, rewrite
from treebank.base.errors import SynparseError
from treebank.core.sentence import Sentence

MUTATIONS = int(os.environ.get("SYNPARSE_MUTATIONS", "100"))
SEED = os.environ.get("SYNPARSE_SEED", "1")
SENTENCES = [Sentence(tuple(line.split())) for line in toy_text(3).splitlines()]
MAX_MESSAGE_LENGTH = 1_000
SHARE_IN_HEADER = 0.5  # of the damages, which would otherwise almost always hit the weights
ENSEMBLE = "vote.safetensors"


@pytest.fixture(scope="module")
def files(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    assert run(["combine", str(trained / "run"), "baseline:right", "-o", str(folder / ENSEMBLE)]) == 0
    for name in (MODEL, RESUME):
        (folder / name).write_bytes((trained / "run" / name).read_bytes())
    return folder


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy the members of ensembles into the folder of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def read(path: Path) -> Any:
    """Trees and facts of a model, or None if it is refused in one line."""
    try:
        parser = load_parser(str(path), device="cpu")
        trees = [str(tree) for tree in parser.parse(iter(SENTENCES))]
        if path.name == RESUME:
            return trees, repr(parser.checkpoint.facts), repr(parser.checkpoint.trainer())
        return trees, parser.digest
    except SynparseError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < MAX_MESSAGE_LENGTH
    return None


def damaged(data: bytes, rng: random.Random) -> bytes:
    """``data`` with one damage."""
    header = 8 + int.from_bytes(data[:8], "little")
    at = rng.randrange(header if rng.random() < SHARE_IN_HEADER else len(data))
    length = rng.choice([1, 1, 2, 4, 16, 500])
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


@pytest.mark.parametrize("name", [MODEL, RESUME, ENSEMBLE])
def test_damaged_file_is_refused_or_has_the_same_content(files: Path, tmp_path: Path, name: str) -> None:
    data, expected, rng = (files / name).read_bytes(), read(files / name), random.Random(f"{SEED} damage")
    path, refused = tmp_path / name, 0
    for number in range(MUTATIONS):
        path.write_bytes(damaged(data, rng))
        result = read(path)
        assert result in (None, expected), number
        refused += result is None
    assert refused > MUTATIONS / 2


@pytest.mark.parametrize("name", [MODEL, RESUME])
def test_values_with_matching_digests_raise_no_traceback(files: Path, tmp_path: Path, name: str) -> None:
    data, rng = (files / name).read_bytes(), random.Random(f"{SEED} values")
    path, refused = tmp_path / name, 0
    for _ in range(MUTATIONS):
        path.write_bytes(data)
        rewrite(path, content=lambda content: mutated_values(content, rng))
        refused += read(path) is None
    assert refused > MUTATIONS / 4
