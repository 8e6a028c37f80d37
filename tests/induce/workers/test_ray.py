"""Parsing in shards by Ray, if it is installed, with the same output as one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from induce.parsing.load import load_parser
from induce.parsing.writer import Job, parse_into
from induce.shards.batch import engine_called, parse_in_shards
from tests.support.calls import Caller, toy_text
from treebank.base.errors import SynparseError
from treebank.io.read import InputOptions

try:
    import ray
except ImportError:
    ray = None

needs_ray = pytest.mark.skipif(ray is None, reason="Ray is not installed: pip install 'synparse[scale]'")


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "a.txt"
    path.write_text(toy_text(100) * 100, encoding="utf-8")
    return str(path)


@pytest.fixture
def job(model: Path) -> Job:
    return Job(load_parser(model, device="cpu"), "brackets", InputOptions())


@pytest.fixture
def expected(text: str, job: Job, tmp_path: Path) -> bytes:
    """Output of a single process."""
    parse_into(str(tmp_path / "one"), [text], job)
    return (tmp_path / "one/a.txt.trees").read_bytes()


def test_missing_package_is_reported(model: Path, text: str, tmp_path: Path, call: Caller, monkeypatch: Any) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    arguments = ("parse", "-m", model, text, "--output-dir", tmp_path / "out", "--engine", "ray")
    assert "pip install 'synparse[scale]'" in call.refusal(*arguments)
    assert "requires --engine ray" in call.usage(*arguments[:6], "--address", "a:1")


@needs_ray
def test_output_equals_that_of_one_process(text: str, job: Job, expected: bytes, tmp_path: Path) -> None:
    make = engine_called("ray", 2)
    assert parse_in_shards(str(tmp_path / "out"), [text], job, make, shard_bytes=20_000) == 10_000
    assert (tmp_path / "out/a.txt.trees").read_bytes() == expected
    with pytest.raises(SynparseError, match="no Ray cluster answers here"):
        parse_in_shards(str(tmp_path / "other"), [text], job, engine_called("ray", 2, "auto"))
