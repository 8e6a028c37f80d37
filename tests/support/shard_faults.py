"""What may go wrong in a worker that parses shards: a module that workers of Ray can import."""

from __future__ import annotations

import errno
import os
import random
import signal
import threading
import time
from pathlib import Path

from induce.parsing.writer import Job
from induce.workers.job import Outcome, ShardWork, Task


class Dying(ShardWork):
    """Kills its process at some moment of most tasks, until that happened ``limit`` times in all.

    Each dead process leaves a file in ``deaths``.
    """

    def __init__(self, job: Job, folder: str, deaths: Path, limit: int = 20) -> None:
        super().__init__(job, folder)
        self.deaths, self.limit = deaths, limit

    def __call__(self, task: Task) -> Outcome:
        rng = random.Random(time.monotonic_ns() ^ os.getpid())
        if rng.random() < 0.6 and len(list(self.deaths.iterdir())) < self.limit:
            (self.deaths / str(os.getpid())).touch()
            threading.Timer(0.1 * rng.random() ** 2, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return super().__call__(task)


class Deadly(ShardWork):
    """Kills its process at once."""

    def __call__(self, task: Task) -> Outcome:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


class Full(ShardWork):
    """Finds the disk full as soon as something was written."""

    def __call__(self, task: Task) -> Outcome:
        fsync = os.fsync
        os.fsync = _no_space if any(Path(self.folder).rglob("*.shards/*")) else fsync
        try:
            return super().__call__(task)
        finally:
            os.fsync = fsync


def _no_space(descriptor: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class OnNodes(ShardWork):
    """Says in the folder ``seen`` which nodes of a cluster work; on the node ``stuck`` no task comes to an end."""

    def __init__(self, job: Job, folder: str, seen: Path, stuck: str) -> None:
        super().__init__(job, folder)
        self.seen, self.stuck = seen, stuck

    def __call__(self, task: Task) -> Outcome:
        import ray

        node = ray.get_runtime_context().get_node_id()
        (self.seen / node).touch()
        if node == self.stuck:
            time.sleep(3600)
        return super().__call__(task)
