"""A family: one model trained from several seeds, with one text in memory, on as many cores as there are.

``RUN/family.json`` says what was asked for, ``RUN/seed-N`` are runs like any other. Each seed gives the weights that it
would give by itself with as many threads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from induce.storage.locate import FAMILY, PathType
from induce.storage.run_folder import check_type, resumable
from induce.training.events import Event
from induce.training.parallel import ParallelTraining, Task
from induce.training.request import RunRequest, Stop, UnchangeableError
from induce.training.run import load_data, prepare_run
from induce.workers.pool import can_copy, cores
from treebank.base.atomic_write import write_whole
from treebank.base.errors import SynparseError
from treebank.base.json_text import parse_json

KEPT = ("text", "dev", "trees", "teachers", "model", "preset", "settings", "task")  # of a request
READING = ("tokenize", "paragraphs", "form", "encoding")  # of how its input is read


@dataclass(frozen=True)
class FamilyEvent:
    """Something that happened to the run of one seed."""

    seed: int
    event: Event


def parse_seeds(text: str) -> list[int]:
    """The seeds in ``1-5`` or ``1,3,7``. Raises SynparseError where there are none."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True)):
            raise SynparseError(f"seeds {text!r}: give them as 1-5 or 1,3,7")
        seeds += range(int(first), int(last or first) + 1)
    if not seeds or max(seeds) >= 2**32 or len(set(seeds)) < len(seeds) or len(seeds) > 1000:
        raise SynparseError(f"seeds {text!r}: one to a thousand different ones below 2^32, the smaller first")
    return seeds


def is_family(run: str) -> bool:
    """Whether the folder ``run`` holds the runs of several seeds."""
    return (Path(run) / FAMILY).exists()


def train_family(
    request: RunRequest,
    seeds: Sequence[int],
    *,
    max_minutes: float | None = None,
    stop: Stop = lambda: False,
    tell: Callable[[str], None] = lambda line: None,
) -> Iterator[FamilyEvent]:
    """Train the runs of all ``seeds``, each for at most ``max_minutes``; what happens to them, as it happens.

    With ``request.resume`` they go on; without seeds they are those of the family in ``request.run``. Seeds that are
    there already, and not named, stay members of it. Raises SynparseError as `prepare_run` does, for seeds that would
    join another training, and if a training comes to an end that is none.
    """
    folder = Path(request.run)
    check_type(folder, PathType.FAMILY)
    request, seeds, everyone = _joined(folder, request, list(seeds))
    runs = [_of_seed(request, seed) for seed in seeds]
    data = load_data(runs[0], tell, stop)
    if not data.config.data.task:
        data.encode()
    for line in data.notes:
        tell(line)
    folder.mkdir(parents=True, exist_ok=True)
    _remember(folder, request, everyone)
    trained = zip(seeds, runs, strict=True)
    count = min(len(runs), cores()) if data.device == "cpu" and can_copy() else 1
    if count == 1:
        for seed, run in trained:
            for event in prepare_run(run, data=data).train(max_minutes=max_minutes, stop=stop):
                yield FamilyEvent(seed, event)
            if stop():
                return
        return
    threads = 1 if request.trees or request.teachers else max(1, cores() // count)  # copies of used threads would hang
    tasks = [Task(f"seed {seed}", run, data, max_minutes) for seed, run in trained]
    for name, event in ParallelTraining(threads, stop).train(tasks, count):
        yield FamilyEvent(int(name.removeprefix("seed ")), event)


def _of_seed(request: RunRequest, seed: int) -> RunRequest:
    """The request of one run; one that has begun keeps what it began with."""
    run = str(Path(request.run) / f"seed-{seed}")
    if request.resume and resumable(Path(run)):
        return RunRequest(run=run, resume=True, text=request.text, device=request.device)
    return replace(request, run=run, seed=seed, resume=False)


def _joined(folder: Path, request: RunRequest, seeds: list[int]) -> tuple[RunRequest, list[int], list[int]]:
    """The request, on resume that which the family began with; the seeds to train; all seeds of the family.

    Raises SynparseError for seeds that would join those of another training.
    """
    found = _stored(folder / FAMILY, request)
    if found is None:
        if not seeds:
            raise SynparseError(f"{folder}: there is no family of seeds to go on with; name them with --seeds")
        return request, seeds, seeds
    old, known = found
    everyone = list(dict.fromkeys([*known, *seeds]))
    if request.resume:
        for key in KEPT:
            if getattr(request, key) and getattr(request, key) != getattr(old, key):
                raise UnchangeableError(f"--{key} cannot change on --resume: the family keeps its settings")
        return old, seeds or known, everyone
    others = ", ".join(str(seed) for seed in known if seed not in seeds)
    before, asked = _values(old), _values(request)
    differing = [key for key in asked if asked[key] != before[key]]
    if others and differing:
        name = differing[0]
        problem = f"was trained with {name} {before[name]!r}, not {asked[name]!r}; name another folder with -o"
        raise SynparseError(f"{folder}: holds seed {others}, which {problem}")
    return request, seeds, everyone


def _stored(path: Path, request: RunRequest) -> tuple[RunRequest, list[int]] | None:
    """``request`` as the family at ``path`` began with it, and its seeds; None without one, or for a damaged one
    that is overwritten."""
    if not path.exists():
        return None
    try:
        stored = parse_json(path.read_bytes())
        asked: dict[str, Any] = stored["request"]
        values: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in asked.items()}
        reading = replace(request.input_options, **{key: values[key] for key in READING})
        old = replace(request, input_options=reading, **{key: values[key] for key in KEPT})
        return old, [int(seed) for seed in stored["seeds"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if request.overwrite:
            return None
        raise SynparseError(f"{path}: not the description of a family ({error}); train anew with --overwrite") from None


def _values(request: RunRequest) -> dict[str, Any]:
    """What of a request its family keeps, as JSON."""
    values = {key: getattr(request, key) for key in KEPT}
    values["text"] = [one for one in request.text if isinstance(one, str)]  # a program gives its sentences again
    values |= {key: getattr(request.input_options, key) for key in READING}
    found: dict[str, Any] = json.loads(json.dumps(values, default=str))
    return found


def _remember(folder: Path, request: RunRequest, seeds: Sequence[int]) -> None:
    text = json.dumps({"seeds": list(seeds), "request": _values(request)}, indent=1) + "\n"
    write_whole(folder / FAMILY, text.encode())
