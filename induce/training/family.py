"""A family: one model trained from several seeds, with one text in memory, on all cores.

``RUN/family.json`` stores the request; ``RUN/seed-N`` are ordinary runs. Each seed gives the same weights as a run of
its own with as many threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from induce.storage.checkpoint import find, read
from induce.storage.locate import FAMILY, PathType
from induce.storage.run_folder import check_type, has_begun, resumable
from induce.training.events import Event
from induce.training.parallel import Task, train_tasks
from induce.training.request import RunRequest, Stop, StoredRequest, is_changeable
from induce.training.run import RunData, load_data
from induce.training.state import check_text
from induce.workers.pool import cores, worker_count
from treebank.base.callbacks import ignore
from treebank.base.errors import SynparseError
from treebank.base.metadata import FileFormat, MetadataError, read_metadata, write_metadata

FORMAT = FileFormat(1, "the description of a family", "train again with --overwrite")
MAX_SEEDS = 1000


@dataclass(frozen=True, kw_only=True)
class FamilyDescription:
    """The content of family.json: the request that the family began with, and all seeds."""

    request: StoredRequest
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        """Raises ValueError for seeds that are repeated or out of range."""
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds are missing or repeated")
        if not 0 <= min(self.seeds) <= max(self.seeds) < 2**32:
            raise ValueError("a seed is not between 0 and 2^32 - 1")


def parse_seeds(text: str) -> list[int]:
    """The seeds in ``1-5`` or ``1,3,7``. Raises SynparseError for anything else, and for more than 1,000 seeds."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True)):
            raise SynparseError(f"seeds {text!r}: give them as 1-5 or 1,3,7")
        seeds += range(int(first), min(int(last or first), int(first) + MAX_SEEDS) + 1)  # no list of billions
    if not seeds or max(seeds) >= 2**32 or len(set(seeds)) < len(seeds) or len(seeds) > MAX_SEEDS:
        raise SynparseError(f"seeds {text!r}: give 1 to 1,000 different seeds below 2^32, the smaller first")
    return seeds


def train_family(
    request: RunRequest,
    seeds: Sequence[int],
    *,
    max_minutes: float | None = None,
    stop: Stop = lambda: False,
    report: Callable[[str], None] = ignore,
) -> Iterator[tuple[str, Event]]:
    """Train the runs of all ``seeds``, each for at most ``max_minutes``.

    Yields the name of a run, such as ``seed 3``, and an event. With ``request.resume`` the runs are resumed; without
    seeds, all runs of the family in ``request.run`` are. Other seeds in the folder stay members of the family. Raises
    SynparseError as `prepare_run` does, for seeds that would join another training, and if a training process dies.
    """
    folder = Path(request.run)
    check_type(folder, PathType.FAMILY)
    changes = request.settings
    request, seeds, all_seeds = _joined(folder, request, list(seeds))
    runs = [_of_seed(request, seed, changes) for seed in seeds]
    data = load_data(runs[0], report, stop)
    if not data.config.task_name:
        data.encode()
    for line in data.notes:
        report(line)
    _check_text(folder, [seed for seed in all_seeds if request.resume or seed not in seeds], data)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, request, all_seeds)
    count = min(len(runs), worker_count(data.device))
    threads = 1 if request.trees or request.teachers else max(1, cores() // count)  # forks of used threads would hang
    tasks = [Task(f"seed {seed}", run, data, max_minutes) for seed, run in zip(seeds, runs, strict=True)]
    yield from train_tasks(tasks, count, stop, threads=threads)


def _check_text(folder: Path, seeds: Sequence[int], data: RunData) -> None:
    """Raises SynparseError if one of the trained ``seeds`` learned from another text than ``data``."""
    for run in (folder / f"seed-{seed}" for seed in seeds):
        if resumable(run):
            facts = read(find(run, ("last",))).facts
            source = data.facts.learned_from
            check_text(run, "training", data.training.sha256, facts.training.sha256, source)
            check_text(run, "development", data.development.sha256, facts.development.sha256, source)


def _of_seed(request: RunRequest, seed: int, changes: Sequence[str]) -> RunRequest:
    """The request of one run. A run that has begun keeps its settings, except for the ``changes`` that it can take."""
    run = str(Path(request.run) / f"seed-{seed}")
    if request.resume and has_begun(Path(run)):
        paths = {name: getattr(request, name) for name in ("text", "dev", "device")}
        return RunRequest(run=run, resume=True, settings=tuple(filter(is_changeable, changes)), **paths)
    return replace(request, run=run, seed=seed, resume=False)


def _joined(folder: Path, request: RunRequest, seeds: list[int]) -> tuple[RunRequest, list[int], list[int]]:
    """The request (on resume the stored one), the seeds to train, and all seeds of the family.

    Raises SynparseError for seeds that would join those of another training.
    """
    stored = _stored(folder / FAMILY, request)
    if stored is None:
        if not seeds:
            raise SynparseError(f"{folder}: there is no family of seeds to resume; name seeds with --seeds")
        if request.resume and not request.text:
            raise SynparseError(f"{folder}: there is no family of seeds to resume; to begin one, leave out --resume")
        return request, seeds, seeds
    before, known = stored.request, list(stored.seeds)
    now = StoredRequest.of(request)
    all_seeds = list(dict.fromkeys([*known, *seeds]))
    if request.resume:
        equal = list(request.settings) == list(before.settings)
        changes = () if equal else tuple(request.settings)
        before.check_unchanged(replace(request, settings=()) if all(map(is_changeable, changes)) else request)
        restored = before.restore(request)
        return replace(restored, settings=(*restored.settings, *changes)), seeds or known, all_seeds
    others = ", ".join(str(seed) for seed in known if seed not in seeds)
    names = [item.name for item in fields(now) if getattr(now, item.name) != getattr(before, item.name)]
    if others and names:
        values = f"{names[0]} {getattr(before, names[0])!r}, not {getattr(now, names[0])!r}"
        problem = f"was trained with {values}; name another folder with -o"
        raise SynparseError(f"{folder}: holds seed {others}, which {problem}")
    return request, seeds, all_seeds


def _stored(path: Path, request: RunRequest) -> FamilyDescription | None:
    """The description of the family at ``path``.

    None without a family, and for a damaged file that is to be overwritten.
    """
    if not path.exists():
        return None
    try:
        return read_metadata(path, FamilyDescription, FORMAT)
    except MetadataError:
        if request.overwrite:
            return None
        raise


def _write(folder: Path, request: RunRequest, seeds: Sequence[int]) -> None:
    description = FamilyDescription(request=StoredRequest.of(request), seeds=tuple(seeds))
    write_metadata(folder / FAMILY, description, FORMAT)
