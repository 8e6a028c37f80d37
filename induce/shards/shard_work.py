"""The task of a worker: parse a shard, write the lines, and return their number and digest."""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import dataclass, replace

from induce.parsing.writer import Job
from induce.shards.manifest import Result, shard_path
from induce.shards.shard import Shard, first_block
from treebank.base.atomic_write import finish
from treebank.base.errors import TreebankError, placed
from treebank.io.read import InputOptions


@dataclass(frozen=True)
class Task:
    """One shard, and the result that it is a part of."""

    shard: Shard
    file: str


@dataclass(frozen=True)
class Outcome:
    """The result of a task. ``bad`` are malformed sentences that were left empty."""

    result: Result
    bad: tuple[tuple[str, int, str], ...]  # path, line, message
    notes: tuple[str, ...]


class ShardWork:
    """Parses shards into ``folder``. It can be sent to another process, where the model is loaded once."""

    def __init__(self, job: Job, folder: str) -> None:
        self.folder, self.skip_bad, self.working_folder = folder, job.on_bad is not None, os.getcwd()
        options = replace(job.input_options, notify=_ignore)  # reported before, when the files were cut
        self.job = replace(job, input_options=options, draw=None, on_bad=None, watch=None)
        self.text_options: InputOptions = replace(options, form="text")

    def __call__(self, task: Task) -> Outcome:
        """Write the output of a shard. Raises SynparseError if it cannot be parsed."""
        os.chdir(self.working_folder)  # paths are relative to it
        bad: list[TreebankError] = []
        notes: list[str] = []
        result = self._write(task, bad, notes)
        errors = tuple((error.path, error.line, error.message) for error in bad)
        return Outcome(result, bad=errors, notes=tuple(notes))

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


def _ignore(line: str) -> None:
    pass
