"""Parsing in shards by a cluster of three nodes of Ray, if it is installed: the files equal those of one process.

The nodes are processes on this machine. The nodes and their first workers are started once for all tests.
"""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import induce.shards.ray_pool
from induce.parsing.load import load_parser
from induce.parsing.writer import Job
from induce.shards.batch import MakeEngine, ShardWork, engine_called, parse_into
from induce.shards.output_folder import SHARDS
from induce.shards.ray_pool import RayPool
from tests.support.calls import ENVIRONMENT, Caller, start, toy_text
from tests.support.shards import Deadly, Dying, Full, OnNodes, results, written_by_one_process
from treebank.base.errors import SynparseError
from treebank.io.read import InputOptions

ray: Any = pytest.importorskip("ray", reason="Ray is not installed: pip install 'synparse[scale]'")
cluster_utils: Any = pytest.importorskip("ray.cluster_utils")

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}
PATIENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_agent_register_timeout_ms": "300000",
    "RAY_health_check_timeout_ms": "60000",
    "RAY_worker_register_timeout_seconds": "300",
}


def add_nodes(cluster: Any, count: int, attempts: int = 5) -> None:
    """Add nodes. Retry a node that does not start within half a minute, as on a busy machine."""
    for _ in range(count * attempts):
        with suppress(Exception):
            cluster.add_node(**NODE, include_dashboard=False)
            if len(cluster.list_all_nodes()) == count:
                return
    pytest.skip("the nodes of a cluster do not start here")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three nodes with one CPU each. This process is connected to the first node."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in PATIENT.items():
            patch.setenv(name, value)
        started = cluster_utils.Cluster()
        try:
            add_nodes(started, 3)
            ray.init(address=started.address, log_to_driver=False, logging_level="ERROR")
            yield started
        finally:
            ray.shutdown()
            started.shutdown()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of about 20 shards and another file in a subfolder."""
    folder = tmp_path_factory.mktemp("corpus") / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text(toy_text(100) * 360, encoding="utf-8")
    (folder / "deep/b.txt").write_text(toy_text(100), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def job(trained: Path) -> Job:
    return Job(load_parser(trained / "run", device="cpu"), "brackets", InputOptions())


@pytest.fixture(scope="module")
def expected(source: Path, job: Job, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return written_by_one_process(source, job, tmp_path_factory.mktemp("one"))


def parse(out: Path, source: Path, job: Job, make: MakeEngine | None = None, **options: Any) -> int:
    """The sentences that three workers write in small shards."""
    return parse_into(str(out), [str(source)], job, make or engine_called("ray"), shard_bytes=4_000, **options)


def engine(work: ShardWork) -> MakeEngine:
    """A function that creates an engine whose workers run ``work``."""
    return lambda *_: RayPool(work, None, None)


def test_all_nodes_share_the_work(
    cluster: Any, source: Path, job: Job, expected: dict[str, bytes], tmp_path: Path
) -> None:
    nodes = tmp_path / "seen"
    nodes.mkdir()
    out = tmp_path / "out"
    assert parse(out, source, job, engine(OnNodes(job, str(out), nodes, ""))) == 36_100
    assert results(out) == expected
    assert {path.name for path in nodes.iterdir()} == {node.node_id for node in cluster.list_all_nodes()}
    assert parse(out, source, job, resume=True) == 0


def test_workers_die(
    cluster: Any, source: Path, job: Job, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(induce.shards.ray_pool, "RETRIES", 100)
    deaths = tmp_path / "deaths"
    deaths.mkdir()
    while len(list(deaths.iterdir())) < 20:
        out = tmp_path / str(time.monotonic_ns())
        assert parse(out, source, job, engine(Dying(job, str(out), deaths))) == 36_100
        assert results(out) == expected


def test_task_that_kills_all_workers_is_named(
    cluster: Any, source: Path, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(induce.shards.ray_pool, "RETRIES", 1)
    with pytest.raises(SynparseError, match=r"\.txt:\d+: Ray gave this up \(.*worker.*"):
        parse(tmp_path / "out", source, job, engine(Deadly(job, str(tmp_path / "out"))))


def test_a_poison_line(cluster: Any, job: Job, tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "out"
    lines = toy_text(100).encode().splitlines(keepends=True) * 120
    path.write_bytes(b"".join([*lines[:9000], b"\xff\n", *lines[9001:]]))
    with pytest.raises(SynparseError, match=r"a\.txt:9001: invalid UTF-8"):
        parse(out, path, job)
    path.write_bytes(b"".join(lines))
    assert 0 < parse(out, path, job, resume=True) < 12_000  # the other shards are kept
    parse_into(str(tmp_path / "one"), [str(path)], job)
    assert results(out) == results(tmp_path / "one")


def test_a_full_disk(cluster: Any, source: Path, job: Job, expected: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(OSError, match="No space left on device: '"):
        parse(out, source, job, engine(Full(job, str(out))))
    assert 0 < parse(out, source, job, resume=True) < 36_100
    assert results(out) == expected


def test_a_model_that_is_not_there(
    cluster: Any, model: Path, source: Path, expected: dict[str, bytes], tmp_path: Path, call: Caller
) -> None:
    arguments = ("parse", source, "--output-dir", tmp_path / "none", "--engine", "ray", "-m")
    assert "no such model" in call.refusal(*arguments, tmp_path / "model")
    gone = Path(shutil.copytree(model, tmp_path / "gone"))
    job = Job(load_parser(gone, device="cpu"), "brackets", InputOptions())
    shutil.rmtree(gone)  # workers receive the loaded model
    parse(tmp_path / "out", source, job)
    assert results(tmp_path / "out") == expected


def test_the_call_is_killed_and_started_again(cluster: Any, model: Path, job: Job, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number:02d}.txt").write_text(toy_text(100 + number) * 60, encoding="utf-8")
    parse_into(str(tmp_path / "one"), [str(folder)], job)
    arguments = ["parse", str(folder), "-m", str(model), "--output-dir", str(out), "--resume", "--engine", "ray"]
    manifest, killed = out / SHARDS, 0
    while True:
        before = manifest.stat().st_size if manifest.exists() else 0
        process = start(*arguments, "--address", cluster.address, env={**ENVIRONMENT, **PATIENT, "RAY_ADDRESS": ""})
        while process.poll() is None and killed < 2 and (not manifest.exists() or manifest.stat().st_size == before):
            time.sleep(0.01)  # until a shard is complete
        if killed == 2 or process.returncode is not None:
            _, errors = process.communicate()
            assert process.returncode == 0, errors
            break
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += 1
    assert killed == 2
    assert results(out) == results(tmp_path / "one")


def test_a_node_is_lost(cluster: Any, source: Path, job: Job, expected: dict[str, bytes], tmp_path: Path) -> None:
    nodes, out, lost = tmp_path / "seen", tmp_path / "out", next(iter(cluster.worker_nodes))
    nodes.mkdir()

    def lose() -> None:
        """Stop the node when it has started a task that never finishes."""
        while not (nodes / lost.node_id).exists():
            time.sleep(0.05)
        cluster.remove_node(lost, allow_graceful=False)

    thread = threading.Thread(target=lose)
    thread.start()
    try:
        assert parse(out, source, job, engine(OnNodes(job, str(out), nodes, lost.node_id))) == 36_100
    finally:
        (nodes / lost.node_id).touch()
        thread.join()
    assert results(out) == expected
