"""Tests of the type of a path, and of the model that is used if none is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from induce.storage.builtin import FILES
from induce.storage.locate import PathType, default_model, locate

pytestmark = pytest.mark.usefixtures("working_folder")


@pytest.mark.parametrize(
    ("file", "type_"),
    [
        ("model.safetensors", PathType.MODEL),
        ("resume.safetensors", PathType.MODEL),
        ("best/checkpoint.json", PathType.MODEL),  # of an earlier version
        ("ensemble.json", PathType.ENSEMBLE),
        ("family.json", PathType.FAMILY),
        ("plan.json", PathType.JOB),
        ("synparse-batch.json", PathType.PARSED),
        ("corpus.json", PathType.CORPUS),
        ("text.txt", PathType.FOLDER),
        ("best/tree.txt", PathType.FOLDER),
    ],
)
def test_type_of_folder(file: str, type_: PathType) -> None:
    path = Path("folder", file)
    path.parent.mkdir(parents=True)
    path.write_text("{}", encoding="utf-8")
    assert locate("folder").type is type_
    assert locate("folder").is_model == (type_ in (PathType.MODEL, PathType.ENSEMBLE))


def test_type_of_files_and_names() -> None:
    assert locate("sample").type is PathType.TREEBANK
    assert locate("ctb-dev").type is PathType.TREEBANK
    assert locate("none").type is PathType.MISSING
    assert locate("english").path == FILES["english"]
    Path("copy").write_bytes(FILES["english"].read_bytes())
    assert locate("copy").type is PathType.MODEL_FILE
    for name in ("sample", "english"):  # an existing path comes first
        Path(name).write_text("x", encoding="utf-8")
        assert locate(name).type is PathType.FILE


def test_pipe_is_not_opened() -> None:
    """To open a named pipe would wait for a program that writes to it."""
    os.mkfifo("pipe")
    assert locate("pipe").type is PathType.FILE


def test_default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    assert default_model(notes.append) == "english"
    assert "built-in" in notes.pop()
    Path("synparse-model").mkdir()
    assert default_model(notes.append) == "synparse-model"
    monkeypatch.setenv("SYNPARSE_MODEL", "mine")
    assert default_model(notes.append) == "mine"
    assert not notes
