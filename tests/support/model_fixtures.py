"""Fixtures that many tests share: a tiny model that is trained once, calls of the program, folders and precision."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from cli.main import run
from tests.support.calls import TINY, Caller, set_options, toy_text
from tests.support.tiny import SETTINGS


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``text.txt`` and a model of it in ``run``, which tests only read."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "text.txt").write_text(toy_text(), encoding="utf-8")
    assert run(["train", str(folder / "text.txt"), "-o", str(folder / "run"), *TINY]) == 0
    return folder


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Folder of a tiny model by its name and changes of its settings, trained once on ``text.txt`` next to the folder.

    Tests only read it.
    """

    @cache
    def train(name: str, *changes: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        text, model = folder / "text.txt", folder / "run"
        text.write_text(toy_text(), encoding="utf-8")
        arguments = ["train", str(text), "--model", name, "-o", str(model)]
        assert run([*arguments, *set_options(*SETTINGS[name], *changes)]) == 0
        return model

    return train


@pytest.fixture
def model(trained: Path) -> Path:
    """The tiny model, which tests only read."""
    return trained / "run"


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model that the test may change."""
    return Path(shutil.copytree(model, tmp_path / "copy"))


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Caller:
    """Calls of the command line in this process."""
    return Caller(capsys)


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder of the test as working directory, without variables that choose models or data."""
    monkeypatch.chdir(tmp_path)
    for name in ("SYNPARSE_MODEL", "SYNPARSE_PTB"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def double() -> Iterator[None]:
    """Double precision by default, and a fixed seed."""
    import torch

    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)
