"""Pool of Ray workers, on the cores of this machine or of a cluster whose machines share a file system.

Scheduling, retries after a lost node and the restart of workers are Ray's. A worker keeps the work that it has loaded.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Self

from induce.workers.pool import Message, Work, WorkerDiedError, begin_worker, cores, messages_of
from treebank.base.errors import SynparseError

RETRIES = 5  # of a job whose worker or node is lost
_loaded: dict[str, Work] = {}  # work of this Ray worker, by key


class RayPool:
    """Ray cluster at ``address``, or one on this machine that runs until the pool ends.

    Raises SynparseError if Ray is missing, or no cluster answers.
    """

    def __init__(self, work: Work, count: int | None, address: str | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # disables usage statistics
        try:
            import ray
        except ImportError:
            raise SynparseError("--engine ray takes a package: pip install 'synparse[scale]'") from None
        self.work, self.ray, self.started = work, ray, not ray.is_initialized()
        if self.started:
            cluster = {"address": address} if address else {"num_cpus": count or cores(), "include_dashboard": False}
            try:
                ray.init(log_to_driver=False, logging_level=logging.ERROR, **cluster)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise SynparseError(f"--address {address}: no Ray cluster answers here ({error})") from None
        self.count = count or int(ray.cluster_resources().get("CPU", 1))
        self._running = dict[Any, Any]()  # reference -> job

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for reference in self._running:
            self.ray.cancel(reference, force=True)
        if self.started:
            self.ray.shutdown()

    def run(self, jobs: Iterable[Any]) -> Iterator[Message]:
        """The messages of all jobs, those of one job at its end."""
        work = self.ray.put(self.work)
        remote = self.ray.remote(num_cpus=1, max_retries=RETRIES)(_do)
        waiting = iter(jobs)
        while True:
            for job in islice(waiting, self.count - len(self._running)):
                self._running[remote.remote(work.hex(), [work], job)] = job
            if not self._running:
                return
            done, _ = self.ray.wait(list(self._running), num_returns=1)
            for reference in done:
                job = self._running.pop(reference)
                try:
                    messages = self.ray.get(reference)
                except self.ray.exceptions.RayError as error:
                    died = WorkerDiedError(f"Ray gave this up ({' '.join(str(error).split())[:300]})")
                    messages = [(None, died, True)]
                yield from (Message(job, *message) for message in messages)


def _do(name: str, work: list[Any], job: Any) -> list[Any]:
    """Messages of a job in a worker of Ray. ``work`` holds a reference: Ray would send its content with every job."""
    if name not in _loaded:
        import ray

        begin_worker()
        _loaded.clear()
        _loaded[name] = ray.get(work[0])
    return list(messages_of(_loaded[name], job))
