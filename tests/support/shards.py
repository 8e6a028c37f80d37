"""Files that are written in shards, and workers that fail, in a module that workers of Ray can import."""

from __future__ import annotations

import errno
import os
import random
import signal
import threading
import time
from pathlib import Path

from induce.parsing.writer import Job
from induce.shards.batch import ShardOutcome, ShardTask, ShardWork, parse_into
from induce.shards.output_folder import SHARDS, SHARDS_FOLDER, TEXTS
from treebank.io.read import BATCH_NOTE


def results(folder: Path) -> dict[str, bytes]:
    """Contents of all files except the notes on finished work."""
    contents = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in contents.items() if name not in (BATCH_NOTE, TEXTS, SHARDS)}


def written_by_one_process(source: Path, job: Job, folder: Path) -> dict[str, bytes]:
    """Contents of the files that one process writes into ``folder`` for the texts in ``source``."""
    parse_into(str(folder), [str(source)], job)
    return results(folder)


class Dying(ShardWork):
    """Work that kills its process during most tasks, at most ``limit`` times in total.

    Each dead process leaves a file in ``deaths``.
    """

    def __init__(self, job: Job, folder: str, deaths: Path, limit: int = 20) -> None:
        super().__init__(job, folder)
        self.deaths, self.limit = deaths, limit

    def __call__(self, task: ShardTask) -> ShardOutcome:
        rng = random.Random(time.monotonic_ns() ^ os.getpid())
        if rng.random() < 0.6 and len(list(self.deaths.iterdir())) < self.limit:
            (self.deaths / str(os.getpid())).touch()
            threading.Timer(0.1 * rng.random() ** 2, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return super().__call__(task)


class Deadly(ShardWork):
    """Work that kills its process immediately."""

    def __call__(self, task: ShardTask) -> ShardOutcome:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


class Full(ShardWork):
    """Work that finds the disk full after the first write."""

    def __call__(self, task: ShardTask) -> ShardOutcome:
        replace = os.replace
        os.replace = _no_space if any(Path(self.folder).glob(f"{SHARDS_FOLDER}/*")) else replace
        try:
            return super().__call__(task)
        finally:
            os.replace = replace


def _no_space(*paths: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class OnNodes(ShardWork):
    """Work that records each node in the folder ``nodes`` and never finishes a task on the node ``stuck``."""

    def __init__(self, job: Job, folder: str, nodes: Path, stuck: str) -> None:
        super().__init__(job, folder)
        self.nodes, self.stuck = nodes, stuck

    def __call__(self, task: ShardTask) -> ShardOutcome:
        import ray

        node = ray.get_runtime_context().get_node_id()
        (self.nodes / node).touch()
        if node == self.stuck:
            time.sleep(3600)
        return super().__call__(task)
