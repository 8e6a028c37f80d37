"""Engine for Ray, on the cores of this machine or of a cluster whose machines share a file system.

Scheduling, retries after a lost node and the restart of workers are Ray's; the tasks, what they write and the manifest
are those of every engine. A worker keeps the parser that it has loaded, however many tasks it does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from induce.workers.job import Outcome, ShardWork, Task
from induce.workers.pool import cores
from treebank.base.errors import SynparseError

RETRIES = 5  # of a task whose worker or node is lost
_loaded: dict[str, ShardWork] = {}  # work of this Ray worker, by key


class RayEngine:
    """Ray cluster at ``address``, or one that runs on this machine while there are tasks.

    Raises SynparseError if Ray is missing, or no cluster answers.
    """

    def __init__(self, work: ShardWork, count: int | None, address: str | None) -> None:
        self.work, self.address = work, address
        self.ray = _ray()
        self.started = not self.ray.is_initialized()
        if self.started:
            self._start(None if address else count or cores())
        self.count = count or int(self.ray.cluster_resources().get("CPU", 1))

    def _start(self, processors: int | None) -> None:
        import logging

        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.address:
            options["address"] = self.address
        else:
            options |= {"num_cpus": processors, "include_dashboard": False}
        try:
            self.ray.init(**options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise SynparseError(f"--address {self.address}: no Ray cluster answers here ({error})") from None

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Yield the outcome of each task when it is done. Raises SynparseError if a task fails repeatedly."""
        parser = self.ray.put(self.work)
        name = parser.hex()
        remote = self.ray.remote(num_cpus=1, max_retries=RETRIES)(_work)
        tasks, running = iter(tasks), dict[Any, Task]()
        try:
            while True:
                for task in islice(tasks, self.count - len(running)):
                    running[remote.remote(name, [parser], task)] = task
                if not running:
                    return
                done, _ = self.ray.wait(list(running), num_returns=1)
                for reference in done:
                    yield self._outcome(reference, running.pop(reference))
        finally:
            for reference in running:
                self.ray.cancel(reference, force=True)
            if self.started:
                self.ray.shutdown()

    def _outcome(self, reference: Any, task: Task) -> Outcome:
        try:
            outcome: Outcome = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            where = f"{task.shard.path}:{task.shard.line}"
            raise SynparseError(f"{where}: Ray gave this up ({' '.join(str(error).split())[:300]})") from None
        return outcome


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # disables usage statistics
    try:
        import ray
    except ImportError:
        raise SynparseError("--engine ray takes a package: pip install 'synparse[scale]'") from None
    return ray


def _work(name: str, parser: list[Any], task: Task) -> Outcome:
    """Do a task in a worker of Ray. ``parser`` holds a reference: Ray would send its content with every task."""
    if name not in _loaded:
        import ray

        work: ShardWork = ray.get(parser[0])
        work.begin()
        _loaded.clear()
        _loaded[name] = work
    return _loaded[name](task)
