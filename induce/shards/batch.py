"""Parsing of many or large files in shards, in this process or by several workers, with the same output.

The output of a shard is renamed when it is complete, and then recorded with its digest. A worker or the whole call may
be killed at any moment: recorded and undamaged outputs are not computed again, and nothing is written twice.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from induce.parsing.parser import Report, block_of
from induce.parsing.writer import Job
from induce.shards.output_folder import OutputFolder, ShardResult, shard_path
from induce.shards.ray_pool import RayPool
from induce.shards.shard import SHARD_BYTES, Shard, shards_of
from induce.workers.pool import Message, Pool, WorkerDiedError, cores
from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError, TreebankError, UsageError, placed
from treebank.base.tables import quantity
from treebank.io.read import expand
from treebank.tokenize import NONE

#: format of an output file -> its suffix
SUFFIXES = {"brackets": ".trees", "jsonl": ".jsonl", "conllu": ".conllu"}
PROGRESS_SECONDS = 10.0  # between two messages about an unfinished file
ATTEMPTS = 3  # workers that may die of one shard


@dataclass(frozen=True)
class ShardTask:
    """One shard, and the output file that it is a part of."""

    shard: Shard
    file: str


@dataclass(frozen=True)
class ShardOutcome:
    """The result of a task. ``bad`` are the errors of malformed sentences that were left empty."""

    result: ShardResult
    bad: tuple[TreebankError, ...] = ()
    notes: tuple[str, ...] = ()


class ShardWork:
    """Parses shards into ``folder`` in a worker process, which may be on another machine. It loads the model once."""

    def __init__(self, job: Job, folder: str) -> None:
        self.folder, self.skip_bad, self.working_folder = os.path.abspath(folder), job.on_bad is not None, os.getcwd()
        options = replace(job.input_options, notify=ignore)  # reported before, when the files were cut
        self.job = replace(job, input_options=options, draw=None, on_bad=None, watch=None)

    def __call__(self, task: ShardTask) -> ShardOutcome:
        """Write the output of a shard. Raises SynparseError if it cannot be parsed."""
        os.chdir(self.working_folder)  # paths are relative to it
        bad, notes = list[TreebankError](), list[str]()
        job = replace(self.job, on_bad=bad.append if self.skip_bad else None, report=notes.append)
        result = write_shard(job, self.folder, task)
        return ShardOutcome(result, tuple(bad), tuple(notes))


def write_shard(job: Job, folder: str, task: ShardTask) -> ShardResult:
    """Write the output of a shard into ``folder``. Raises SynparseError if it cannot be parsed."""
    shard = task.shard
    target = shard_path(folder, task.file, shard)
    part = f"{target}.{platform.node()}-{os.getpid()}.part"  # one shard may have two workers for a while
    _, first_block = block_of(shard.line - 1)
    lines = job.lines([shard.source], first=shard.line, first_block=first_block, form="" if shard.whole else "text")
    digest, sentences, size = hashlib.sha256(), 0, 0
    with placed(part):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(part, "wb") as stream:
            for line in lines:
                data = f"{line}\n".encode("utf-8", "surrogateescape")
                stream.write(data)
                digest.update(data)
                sentences += 1
                size += len(data)
        os.replace(part, target)
    return ShardResult(sentences, size, digest.hexdigest())


class ThisProcess:
    """Engine that parses one shard after the other in this process, so that nothing has to be started."""

    def __init__(self, job: Job, folder: str) -> None:
        self.job, self.folder = replace(job, input_options=replace(job.input_options, notify=ignore)), folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, tasks: Iterable[ShardTask]) -> Iterator[Message]:
        """The outcome of each task, in order."""
        for task in tasks:
            try:
                yield Message(task, ShardOutcome(write_shard(self.job, self.folder, task)))
            except SynparseError as error:
                yield Message(task, error=error)


Engine = ThisProcess | Pool | RayPool  # does tasks; leaving its context ends all of them
MakeEngine = Callable[[Job, str], Engine]


def engine_called(name: str = "", workers: int | None = None, address: str | None = None) -> MakeEngine:
    """Factory of an engine: this process, worker ``processes``, or ``ray``.

    Processes are the default if a number of ``workers`` is given. Without a number, there is one for each core.
    ``address`` is that of a running Ray cluster; without it Ray is started on this machine.
    """

    def make(job: Job, folder: str) -> Engine:
        if name == "ray":
            return RayPool(ShardWork(job, folder), workers, address)
        if not name and not workers:
            return ThisProcess(job, folder)
        return Pool(ShardWork(job, folder), workers or cores(), attempts=ATTEMPTS, fork=job.parser.device == "cpu")

    return make


def parse_into(
    folder: str,
    paths: Sequence[str],
    job: Job,
    make_engine: MakeEngine = ThisProcess,
    *,
    resume: bool = False,
    shard_bytes: int | None = None,
    report: Report = ignore,
) -> int:
    """Write a file into ``folder`` for each file in ``paths`` and return the number of sentences written.

    The name of a file is its path below the common folder of all files, and a suffix. With ``resume``, complete files
    and shards are kept. Raises UsageError for standard input and for a format that has no files, and SynparseError for
    files of another job, input that has changed since, and the first sentence that cannot be parsed, when the shards
    that were begun are written.
    """
    if job.form not in SUFFIXES:
        raise UsageError(f"--output-dir writes {', '.join(SUFFIXES)}, not {job.form}")
    files = expand(paths, notify=job.input_options.notify)
    if "-" in files:
        raise UsageError("trees of standard input have no file name in --output-dir; use -o FILE")
    shared = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in files])
    names = {path: os.path.relpath(os.path.abspath(path), shared) + SUFFIXES[job.form] for path in files}
    with OutputFolder(folder, job.facts(), names, resume=resume) as output, make_engine(job, folder) as engine:
        if output.earlier_files:
            count = quantity(len(output.earlier_files), "file")
            job.input_options.notify(f"{folder}: keeps {count} of earlier calls, such as {output.earlier_files[0]}")
        # about ten seconds of work, also if this process divides each shard among several others
        size = SHARD_BYTES * (job.parser.processes if isinstance(engine, ThisProcess) else 1)
        return _Batch(job, output, report).run(engine, shard_bytes or size)


@dataclass
class _File:
    """Input file with the name of its output, and the shards that are known so far with their results."""

    number: int
    path: str
    name: str
    shards: dict[Shard, ShardResult | None] = field(default_factory=dict)
    is_cut: bool = False  # whether these are all shards


class _Batch:
    """The state of a job: files, shards, results and problems."""

    def __init__(self, job: Job, output: OutputFolder, report: Report) -> None:
        self.job, self.output, self.report = job, output, report
        self.files: dict[str, _File] = {}  # by the names of their outputs
        self.problems: list[tuple[int, int, Exception]] = []  # with the numbers of the file and the shard
        self.sentences = self.finished = 0
        self.began = self.reported = time.monotonic()

    def run(self, engine: Engine, shard_bytes: int) -> int:
        """Do all remaining tasks and return the number of sentences written."""
        for message in engine.run(self._tasks(shard_bytes)):
            self._take(message.job, message.content, message.error)
        if self.problems:
            raise min(self.problems, key=lambda problem: problem[:2])[2]
        return self.sentences

    def _tasks(self, shard_bytes: int) -> Iterator[ShardTask]:
        """The shards that are not written yet, up to the first problem."""
        number, name = 0, ""
        try:
            for path, name in self.output.texts():
                if self.output.is_written(name):
                    self.finished += 1
                else:
                    yield from self._tasks_of(_File(number, path, name), shard_bytes)
                if self.problems:
                    return
                number += 1
        except SynparseError as error:
            self.problems.append((number, len(self.files[name].shards) if name in self.files else 0, error))

    def _tasks_of(self, file: _File, shard_bytes: int) -> Iterator[ShardTask]:
        self.files[file.name] = file
        rule, form = self.job.input_options.tokenize, self.job.form
        counted = form == "conllu" or (form == "jsonl" and self.job.on_bad is not None)
        cut = rule in ("", NONE) or not counted  # else lines have numbers or positions that depend on the text before
        for shard in shards_of(file.path, self.job.input_options, size=shard_bytes, cut=cut):
            result = file.shards[shard] = self.output.result(file.name, shard)
            if not result:
                yield ShardTask(shard, file.name)
            if self.problems:
                return
        file.is_cut = True
        self._finish_complete(file)

    def _take(self, task: ShardTask, outcome: ShardOutcome | None, error: Exception | None) -> None:
        """Record the outcome of a task, and complete its file after the last one."""
        file, shard = self.files[task.file], task.shard
        if isinstance(error, WorkerDiedError):
            problem = f"{shard.path}:{shard.line}: {error}; is the memory enough for as many workers?"
            error = SynparseError(f"{problem} Finished shards are kept: continue with --resume")
        if error:
            self.problems.append((file.number, shard.number, error))
        if outcome:
            for note in outcome.notes:
                self.job.input_options.notify(note)
            for bad in outcome.bad:
                (self.job.on_bad or ignore)(bad)
            self.output.add_result(file.name, shard, outcome.result)
            file.shards[shard] = outcome.result
            self.sentences += outcome.result.sentences
        if not self._finish_complete(file) and time.monotonic() - self.reported > PROGRESS_SECONDS:
            self.reported = time.monotonic()
            speed = self.sentences / (self.reported - self.began)
            shards = quantity(sum(map(bool, file.shards.values())), "shard")
            self.report(f"{file.path}: {shards}; {speed:,.0f} sentences per second")

    def _finish_complete(self, file: _File) -> bool:
        """Complete a file if the outputs of all of its shards are written, and return whether they are."""
        results = {shard: result for shard, result in file.shards.items() if result}
        if not file.is_cut or len(results) < len(file.shards):
            return False
        self.finished += 1
        sentences = quantity(sum(result.sentences for result in results.values()), "sentence")
        line = f"{self.finished} of {quantity(len(self.output.names), 'file')}: {file.path}: {sentences}"
        self.output.complete(file.name, results, lambda: self.report(line))
        del self.files[file.name]
        return True
