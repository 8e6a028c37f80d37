"""Parsing in shards by Ray, if it is installed, with the same output as one process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from induce.parsing.load import load_parser
from induce.parsing.writer import Job
from induce.shards.batch import engine_called, parse_into
from induce.shards.ray_pool import RayPool
from induce.workers.pool import WorkerDiedError
from tests.support.calls import Caller, toy_text
from treebank.base.errors import SynparseError
from treebank.io.read import InputOptions

try:
    import ray
except ImportError:
    ray = None

needs_ray = pytest.mark.skipif(ray is None, reason="Ray is not installed: pip install 'synparse[scale]'")


class NodeLostError(BaseException):
    """Error of Ray, which ends a job without a message from it."""


def work(job: int) -> Iterator[int]:
    if job == 3:
        raise NodeLostError
    yield from range(job)


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


class Reference:
    """Result of a call that is still to be made."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call, self.hex = call, lambda: "key"


class FakeRay(ModuleType):
    """The functions of Ray that the pool calls, in this process. Calls without a result are counted."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.calls: list[str] = []
        self.exceptions = SimpleNamespace(RayError=NodeLostError)
        self.put = lambda value: Reference(lambda: value)
        self.get = lambda reference: reference.call()
        self.wait = lambda references, num_returns: (references[-num_returns:], references[:-num_returns])
        self.cluster_resources = lambda: {"CPU": 2.0}
        for name in ("is_initialized", "init", "shutdown"):
            setattr(self, name, lambda name=name, **_: self.calls.append(name))

    def remote(self, **_: Any) -> Any:
        return lambda do: SimpleNamespace(remote=lambda *values: Reference(partial(do, *values)))


def test_pool_gives_the_messages_of_all_jobs_and_ends_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr("induce.shards.ray_pool.begin_worker", lambda: None)
    monkeypatch.setattr("induce.shards.ray_pool._loaded", {})
    with RayPool(work, 2, None) as engine:
        messages = list(engine.run([1, 2, 3]))
    assert [message.content for message in messages if message.job == 2] == [0, 1, None]
    ends = {message.job: type(message.error) for message in messages if message.last}
    assert ends == {1: type(None), 2: type(None), 3: WorkerDiedError}
    assert fake.calls == ["is_initialized", "init", "shutdown"]


@needs_ray
def test_output_equals_that_of_one_process(text: str, job: Job, expected: bytes, tmp_path: Path) -> None:
    make = engine_called("ray", 2)
    assert parse_into(str(tmp_path / "out"), [text], job, make, shard_bytes=20_000) == 10_000
    assert (tmp_path / "out/a.txt.trees").read_bytes() == expected
    with pytest.raises(SynparseError, match="no Ray cluster answers here"):
        parse_into(str(tmp_path / "other"), [text], job, engine_called("ray", 2, "auto"))
