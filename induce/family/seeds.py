"""A family: one model trained from several seeds, with one text in memory, on all cores.

``RUN/family.json`` stores the request; ``RUN/seed-N`` are ordinary runs. Each seed gives the same weights as a run of
its own with as many threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from induce.storage.locate import FAMILY, PathType
from induce.storage.outputs import RunLock, check_type, remove_leftovers
from induce.training.events import Event
from induce.training.parallel import StoredJob, Training, part_request, train_all
from induce.training.prepare import load_data
from induce.training.request import RunRequest, Stop
from induce.workers.pool import cores, worker_count
from treebank.base.arguments import ignore
from treebank.base.errors import SynparseError, UsageError
from treebank.base.metadata import FileFormat, read_metadata, write_metadata

FORMAT = FileFormat(2, "the description of a family", "train again with --overwrite")
MAX_SEEDS = 1000


@dataclass(kw_only=True)
class StoredFamily(StoredJob):
    """The content of family.json."""

    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        """Raises ValueError for seeds that are missing or out of range."""
        if not self.seeds or not 0 <= min(self.seeds) <= max(self.seeds) < 2**32:
            raise ValueError("seeds are missing, or not between 0 and 2^32 - 1")


def parse_seeds(text: str) -> list[int]:
    """The seeds in ``1-5`` or ``1,3,7``. Raises UsageError for anything else, and for more than 1,000 seeds."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True)):
            raise UsageError(f"--seeds {text!r}: give them as 1-5 or 1,3,7")
        seeds += range(int(first), min(int(last or first), int(first) + MAX_SEEDS) + 1)  # no list of billions
    if not seeds or max(seeds) >= 2**32 or len(set(seeds)) < len(seeds) or len(seeds) > MAX_SEEDS:
        raise UsageError(f"--seeds {text!r}: give 1 to 1,000 different seeds below 2^32, the smaller first")
    return seeds


def train_family(
    request: RunRequest,
    seeds: str | Sequence[int] | None,
    *,
    max_minutes: float | None = None,
    stop: Stop = lambda: False,
    report: Callable[[str], None] = ignore,
) -> Iterator[tuple[str, Event]]:
    """Train the runs of all ``seeds``, such as ``1-5``, each for at most ``max_minutes``.

    Yields the name of a run, such as ``seed 3``, and an event. With ``request.resume`` the runs are resumed, and new
    seeds join the family; without seeds, all runs of the family in ``request.run`` are. Raises SynparseError as
    `prepare_run` does, for seeds that would join another training, and if a training process dies.
    """
    if request.seed is not None:
        raise UsageError("--seed is for one model or a recipe; the models of several seeds are named by --seeds")
    seeds = parse_seeds(seeds) if isinstance(seeds, str) else seeds or ()
    folder, changes = Path(request.run), request.settings
    check_type(folder, PathType.FAMILY)
    stored = _family_to_resume(folder, request, seeds)
    if stored:
        request, seeds = stored.request.resumed_by(request), seeds or stored.seeds
    new = [replace(request, run=str(folder / f"seed-{seed}"), seed=seed) for seed in seeds]
    runs = [part_request(run, changes) for run in new]
    data = load_data(runs[0], report, stop)
    if stored:
        stored.check_texts(folder, data)
    if not data.config.purpose_name:
        data.encode()
    for line in data.notes:
        report(line)
    with ExitStack() as stack:
        stack.callback(RunLock(folder).release)
        remove_leftovers(folder)
        stored = _family_to_resume(folder, request, seeds)  # again: another call may have begun meanwhile
        family = StoredFamily(
            request=request.stored(),
            seeds=tuple(dict.fromkeys([*(stored.seeds if stored else ()), *seeds])),
            text_sha256=data.training.sha256,
            dev_sha256=data.development.sha256,
        )
        write_metadata(folder / FAMILY, family, FORMAT)
        count = min(len(runs), worker_count(data.device))
        threads = (
            1 if request.trees or request.teachers else max(1, cores() // count)
        )  # forks of used threads would hang
        trainings = [Training(f"seed {seed}", run, data, max_minutes) for seed, run in zip(seeds, runs, strict=True)]
        yield from train_all(trainings, count, stop, threads=threads)


def _family_to_resume(folder: Path, request: RunRequest, seeds: Sequence[int]) -> StoredFamily | None:
    """The family in ``folder`` if it is to be resumed, or None for a new one.

    Raises SynparseError if there is nothing to resume, or if the folder holds seeds that a new family does not replace.
    """
    if request.resume and os.path.lexists(folder / FAMILY):
        return read_metadata(folder / FAMILY, StoredFamily, FORMAT)
    if request.resume and not request.text:
        raise SynparseError(f"{folder}: there is no family of seeds to resume; to begin one, leave out --resume")
    replaced = {f"seed-{seed}" for seed in seeds} if request.overwrite or request.resume else set()
    kept_names = sorted(path.name for path in folder.glob("seed-*") if path.name not in replaced)
    if kept_names:
        raise SynparseError(
            f"{folder}: holds {', '.join(kept_names)}; continue or add seeds with --resume, name all of them with "
            "--overwrite, or name another folder with -o"
        )
    return None
