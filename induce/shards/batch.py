"""Parsing of many or large files in shards by several workers, with the same output as one process.

Every result is renamed when it is complete, and then recorded in the manifest with its digest. A worker or the whole
call may be killed at any moment: recorded and undamaged results are not computed again, and nothing is written twice.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from induce.parsing.output_batch import FinishedFiles, batches, remove_shards, report_finished
from induce.parsing.output_lock import OutputFolder
from induce.parsing.parser import block_of
from induce.parsing.writer import PART_SUFFIX, Job, output_folder
from induce.shards.manifest import Manifest, Result, join, shard_path
from induce.shards.shard import SHARD_BYTES, Shard, shards_of
from induce.workers.pool import Pool, WorkerDiedError, cores
from induce.workers.ray import RayPool
from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError, TreebankError, placed
from treebank.base.terminal_text import quantity
from treebank.io.read import InputOptions
from treebank.tokenize import NONE


@dataclass(frozen=True)
class Task:
    """One shard, and the result that it is a part of."""

    shard: Shard
    file: str


@dataclass(frozen=True)
class Outcome:
    """The result of a task. ``bad`` are the errors of malformed sentences that were left empty."""

    result: Result
    bad: tuple[TreebankError, ...]
    notes: tuple[str, ...]


class ShardWork:
    """Parses shards into ``folder``. It can be sent to another process, where the model is loaded once."""

    def __init__(self, job: Job, folder: str) -> None:
        self.folder, self.skip_bad, self.working_folder = folder, job.on_bad is not None, os.getcwd()
        options = replace(job.input_options, notify=ignore)  # reported before, when the files were cut
        self.job = replace(job, input_options=options, draw=None, on_bad=None, watch=None)
        self.text_options: InputOptions = replace(options, form="text")

    def __call__(self, task: Task) -> Outcome:
        """Write the output of a shard. Raises SynparseError if it cannot be parsed."""
        os.chdir(self.working_folder)  # paths are relative to it
        bad: list[TreebankError] = []
        notes: list[str] = []
        result = self._write(task, bad, notes)
        return Outcome(result, bad=tuple(bad), notes=tuple(notes))

    def _write(self, task: Task, bad: list[TreebankError], notes: list[str]) -> Result:
        shard = task.shard
        job = replace(self.job, on_bad=bad.append if self.skip_bad else None)
        job.parser.tell = notes.append
        _, job.parser.first_block = block_of(shard.line - 1)
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
        os.replace(part, target)
        return Result(sentences, size, digest.hexdigest())


PAUSE = 10.0  # seconds between two progress messages
ATTEMPTS = 3  # workers that may die of one shard

Tell = Callable[[str], None]
Engine = Pool | RayPool  # does several jobs at a time; leaving its context ends all jobs
MakeEngine = Callable[[ShardWork], Engine]


def engine_called(name: str, workers: int | None = None, address: str | None = None) -> MakeEngine:
    """Factory of an engine, ``processes`` or ``ray``, by default with one worker for each core.

    ``address`` is the address of a running Ray cluster; without it Ray is started on this machine.
    """

    def make(work: ShardWork) -> Engine:
        if name == "ray":
            return RayPool(work, workers, address)
        return Pool(work, workers or cores(), attempts=ATTEMPTS, fork=work.job.parser.device == "cpu")

    return make


@dataclass
class _File:
    """Input file with its result and the shards that are known so far."""

    path: str
    name: str  # of the result, below the folder
    shards: list[Shard] = field(default_factory=list)
    results: dict[int, Result] = field(default_factory=dict)
    cut: bool = False  # whether these are all shards

    @property
    def is_done(self) -> bool:
        """Whether all shards are written."""
        return self.cut and len(self.results) == len(self.shards)


def parse_in_shards(
    folder: str,
    paths: Sequence[str],
    job: Job,
    make_engine: MakeEngine,
    *,
    resume: bool = False,
    shard_bytes: int = SHARD_BYTES,
    tell: Tell = lambda text: None,
) -> int:
    """Write a file into ``folder`` for each file in ``paths``, as `parse_into` does. Returns the number of sentences.

    Raises SynparseError for files of another batch, input that has changed since, and the first sentence that cannot
    be parsed, when the shards that were begun are written.
    """
    with output_folder(folder, paths, job, resume) as (claim, names), FinishedFiles() as finished:
        batch = _Batch(folder, job, names, claim, finished, tell)
        with make_engine(ShardWork(job, os.path.abspath(folder))) as engine:
            return batch.run(engine, shard_bytes)


class _Batch:
    """The state of a job: shards, results and problems."""

    def __init__(
        self,
        folder: str,
        job: Job,
        names: dict[str, str],
        claim: OutputFolder,
        finished_files: FinishedFiles,
        tell: Tell,
    ) -> None:
        self.folder, self.job, self.names, self.claim, self.tell = folder, job, names, claim, tell
        self.finished_files = finished_files
        self.files = [_File(path, name) for path, name in names.items()]
        self.by_name = {file.name: file for file in self.files}
        self.manifest = Manifest(folder)
        self.problems: list[tuple[int, int, Exception]] = []
        self.sentences = self.finished = 0
        self.began = self.reported = time.monotonic()

    def run(self, engine: Engine, shard_bytes: int) -> int:
        """Do all remaining tasks and return the number of sentences written."""
        for message in engine.run(self._tasks(shard_bytes)):
            self._take(message.job, message.content, message.error)
        if self.problems:
            raise min(self.problems, key=lambda problem: problem[:2])[2]
        return self.sentences

    def _tasks(self, shard_bytes: int) -> Iterator[Task]:
        """The shards that are not written yet, up to the first problem."""
        count = 0
        try:
            for file in self._recorded_files():
                if self._is_written(file.name):
                    remove_shards(self.folder, file.name)
                    self.finished += 1
                else:
                    yield from self._tasks_of(file, shard_bytes)
                if self.problems:
                    return
                count += 1
        except SynparseError as error:
            self.problems.append((count, len(self.files[count].shards), error))

    def _recorded_files(self) -> Iterator[_File]:
        """The files, each after the texts of its batch are recorded."""
        for batch in batches(self.names):
            self.claim.check(batch, self._is_written)
            yield from (self.by_name[name] for name in batch.values())

    def _is_written(self, name: str) -> bool:
        """Whether an output file is complete, and renamed after its last shard."""
        return os.path.exists(os.path.join(self.folder, name))

    def _tasks_of(self, file: _File, shard_bytes: int) -> Iterator[Task]:
        with suppress(FileNotFoundError):  # of one process, perhaps for an earlier version of the text
            os.unlink(os.path.join(self.folder, file.name + PART_SUFFIX))
        rule, form = self.job.input_options.tokenize, self.job.form
        counted = form == "conllu" or (form == "jsonl" and self.job.on_bad is not None)
        cut = rule in ("", NONE) or not counted  # else it takes all before to number a sentence, or its characters
        for shard in shards_of(file.path, self.job.input_options, size=shard_bytes, cut=cut):
            file.shards.append(shard)
            result = self.manifest.result(file.name, shard)
            if result:
                file.results[shard.number] = result
            else:
                yield Task(shard, file.name)
            if self.problems:
                return
        file.cut = True
        if file.is_done:
            self._finish(file)

    def _take(self, task: Task, outcome: Outcome | None, error: Exception | None) -> None:
        """Record the outcome of a task, and join its file after the last one."""
        file, shard = self.by_name[task.file], task.shard
        if error:
            self.problems.append((self.files.index(file), shard.number, _located(error, shard)))
        if outcome:
            for note in outcome.notes:
                self.job.input_options.notify(note)
            for bad in outcome.bad:
                (self.job.on_bad or ignore)(bad)
            self.manifest.add(file.name, shard, outcome.result)
            file.results[shard.number] = outcome.result
            self.sentences += outcome.result.sentences
        if file.is_done:
            self._finish(file)
        elif time.monotonic() - self.reported > PAUSE:
            self.reported = time.monotonic()
            speed = self.sentences / (self.reported - self.began)
            self.tell(f"{file.path}: {quantity(len(file.results), 'shard')}; {speed:,.0f} sentences per second")

    def _finish(self, file: _File) -> None:
        """Join the shards of a file, which gets its name with the other files of its batch."""
        results = [file.results[shard.number] for shard in file.shards]
        target = os.path.join(self.folder, file.name)
        join(self.folder, file.name, file.shards, results, target + PART_SUFFIX)
        self.finished += 1
        sentences = sum(result.sentences for result in results)
        line = f"{self.finished} of {quantity(len(self.files), 'file')}: {file.path}: {quantity(sentences, 'sentence')}"
        report = partial(report_finished, self.folder, file.name, self.tell, line)
        self.finished_files.add(target + PART_SUFFIX, target, report)


def _located(error: Exception, shard: Shard) -> Exception:
    """The error of a shard. If its workers died, with its position and a remedy."""
    if not isinstance(error, WorkerDiedError):
        return error
    return SynparseError(
        f"{shard.path}:{shard.line}: {error}; is the memory enough for as many workers? Finished shards are kept: "
        "continue with --resume"
    )
