"""The task of a worker: parse a shard, write the lines, and return their number and digest."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import traceback
from dataclasses import dataclass, replace

from induce.parsing.writer import Job
from induce.workers.manifest import Result, shard_path
from induce.workers.shards import Shard, first_block
from treebank.base.atomic_write import finish
from treebank.base.errors import SynparseError, TreebankError, out_of_memory, placed
from treebank.io.read import InputOptions


@dataclass(frozen=True)
class Task:
    """One shard, and the result that it is a part of."""

    shard: Shard
    file: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task: a result or a problem. ``bad`` are malformed sentences that were left empty."""

    task: Task
    result: Result | None = None
    problem: Exception | None = None
    bad: tuple[tuple[str, int, str], ...] = ()  # path, line, message
    notes: tuple[str, ...] = ()


class ShardWork:
    """Parses shards into ``folder``. It can be sent to another process, where the model is loaded once."""

    def __init__(self, job: Job, folder: str) -> None:
        self.folder, self.skip_bad, self.working_folder = folder, job.on_bad is not None, os.getcwd()
        options = replace(job.input_options, notify=_quiet)  # reported before, when the files were cut
        self.job = replace(job, input_options=options, draw=None, on_bad=None, watch=None)
        self.text_options: InputOptions = replace(options, form="text")

    def begin(self) -> None:
        """Set up a worker, which computes in one thread because there are other workers."""
        import torch

        os.chdir(self.working_folder)  # paths are relative to it
        torch.set_num_threads(1)
        self.job.parser.workers = 1

    def __call__(self, task: Task) -> Outcome:
        """Outcome of a task. Errors are returned instead of raised, so that they do not end a worker."""
        bad: list[TreebankError] = []
        notes: list[str] = []
        try:
            result = self._write(task, bad, notes)
        except Exception as error:
            return Outcome(task, problem=_sendable(error))
        errors = tuple((error.path, error.line, error.message) for error in bad)
        return Outcome(task, result, bad=errors, notes=tuple(notes))

    def _write(self, task: Task, bad: list[TreebankError], notes: list[str]) -> Result:
        shard = task.shard
        job = replace(self.job, on_bad=bad.append if self.skip_bad else None)
        job.parser.tell = notes.append
        job.parser.first_block = first_block(shard.line)
        if not shard.whole:
            job = replace(job, input_options=self.text_options)
        target = shard_path(self.folder, task.file, shard)
        part = f"{target}.{platform.node()}-{os.getpid()}.part"  # one shard may have two workers for a while
        os.makedirs(os.path.dirname(target), exist_ok=True)
        digest, sentences, size = hashlib.sha256(), 0, 0
        with placed(part), open(part, "wb") as stream:
            for line in job.lines([shard.source], first=shard.line):
                data = f"{line}\n".encode("utf-8", "surrogateescape")
                stream.write(data)
                digest.update(data)
                sentences += 1
                size += len(data)
        finish(part, target)
        return Result(sentences, size, digest.hexdigest())


def _quiet(line: str) -> None:
    pass


def _sendable(error: Exception) -> Exception:
    """The error as an exception that can be sent to another process, a bug with its traceback."""
    if isinstance(error, SynparseError):
        return SynparseError(str(error))
    if isinstance(error, OSError):
        return OSError(error.errno or errno.EIO, error.strerror or str(error), error.filename)
    if out_of_memory(error):
        return MemoryError()
    return RuntimeError("".join(traceback.format_exception(error)))
