"""Calls of every kind that are killed again and again, and made again: is anything lost, or stuck for ever?

    python bench/faults.py [--kills 1000] [--minutes M] [--seed 1] [--kinds onlstm,parse,…] [--resume] [--folder DIR]

Every model, three tasks and a family of seeds are trained at the smallest size and saved after each step; text is
parsed into a folder of files and in shards; models are combined, with copies and without, and packed; a text is
prepared, and learned from; every command that writes a file writes one. Each call gets SIGKILL at an operation on a
file, or at any moment, up to three times, is then made again until it ends, and what it leaves is compared with what an
unbroken call leaves, all but times. What was whole before a kill must be whole after it. Tells the count as it goes on,
and keeps it in ``bench/results/faults.json``, from where ``--resume`` goes on after Ctrl-C, SIGTERM or ``--minutes``.
Prints a line a kind, and exits with 1 if anything was lost or stuck.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench import toys  # noqa: E402
from bench.calls import Kind, kinds  # noqa: E402
from bench.forked import Done, call, load_everything  # noqa: E402
from bench.machine import describe  # noqa: E402
from treebank.base.atomic_write import write_whole  # noqa: E402

OPERATIONS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod")
MOST = 3  # kills of one call
ASKED_TO_END = 128 + signal.SIGTERM
LATE = 300.0  # seconds after which a call is stuck
COUNT = ".count"
RESULT = HERE / "results" / "faults.json"
KEPT = ("kills", "rounds", "lost", "stuck")  # of a kind


@contextmanager
def counted(folder: Path, kill_at: int = 0) -> Iterator[None]:
    """Within, operations on files below ``folder`` are counted; at the one numbered ``kill_at`` the process is killed.

    If a copy of it comes to that number first, both are. A training is saved after every step. The count goes to the
    file `COUNT` in the end.
    """
    from induce.training import loop

    loop.SAVE_SECONDS = -1.0
    count, real, home, caller = 0, os.fsync, str(folder), os.getpid()

    def another() -> None:
        nonlocal count
        count += 1
        if count == kill_at:
            if os.getppid() == caller:  # a copy, which counts from where it began
                os.kill(caller, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if event in OPERATIONS and isinstance(given[0], str | bytes | os.PathLike):
            path = os.fsdecode(given[0])
            if path.startswith(home) or not path.startswith("/"):
                another()

    def fsync(descriptor: int) -> None:
        another()
        real(descriptor)

    os.fsync = fsync
    sys.addaudithook(hook)
    yield
    total = count
    Path(home, COUNT).write_text(str(total))


def prepared(base: Path) -> None:
    """Write texts, trees and two models into ``base``, which all calls begin with."""
    toys.write(base)
    for number in (1, 2):
        (base / f"in/{number}").mkdir(parents=True)
        (base / f"in/{number}/a.txt").write_text(toys.text(150, number), encoding="utf-8")
    trainings = [
        toys.training(model, resume=False, run=name) for name, model in (("model", "onlstm"), ("heads", "udgn"))
    ]
    preparation = ["data", "prepare", "text.txt", "-o", "prepared"]
    for arguments in (*trainings, preparation, ["extract", "-m", "model", "text.txt", "-o", "lines.jsonl"]):
        done = call(arguments, base)
        assert done.code == 0, done.err


def fresh(folder: Path, base: Path) -> Path:
    """``folder`` as it is before a call."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in base.iterdir():
        (folder / path.name).symlink_to(path)
    return folder


def unbroken(kind: Kind, base: Path, folder: Path) -> None:
    """Note what an unbroken call of ``kind`` leaves, and how long it takes."""
    fresh(folder, base)
    done = call(kind.arguments(folder), folder, guard=partial(counted, folder))
    assert done.code == 0, (kind.name, done.err)
    kind.seconds, kind.operations = done.seconds, int((folder / COUNT).read_text())
    kind.expected = kind.found(folder)


def broken_off(kind: Kind, base: Path, folder: Path, most: int, draw: random.Random) -> None:
    """One call that is killed up to ``most`` times, and what it leaves in the end."""
    fresh(folder, base)
    kind.rounds += 1
    whole: set[str] = set()
    for number in range(100):
        arguments = kind.arguments(folder)
        if not arguments:
            break
        done = attempt(kind, arguments, folder, draw if number < most else None)
        if done.code == ASKED_TO_END:  # as we were, by a signal to the whole group
            continue
        if done.code == 0 or done.late or done.code != -signal.SIGKILL:
            if done.code:
                kind.stuck.append(f"exit {done.code}{' too late' if done.late else ''}: {done.last}")
                return
            break
        kind.kills += 1
        try:
            now = kind.whole(folder)
        except Exception as error:
            kind.lost.append(f"after a kill: {type(error).__name__}: {error}")
            return
        kind.lost += [f"after a kill: {name} is gone" for name in whole - now]
        whole = now
    found = kind.found(folder)
    names = sorted(name for name in kind.expected.keys() | found.keys() if kind.expected.get(name) != found.get(name))
    kind.lost += [f"at the end: {', '.join(names)}"] if names else []


def kill(some: Sequence[Kind], wanted: int, over: Callable[[], bool], base: Path, folder: Path, seed: int) -> None:
    """Kill calls of each kind in turn until that many are killed, or it is ``over``; keep the count."""
    while any(not kind.stuck for kind in some):
        for kind in sorted(some, key=lambda one: one.rounds):
            left = wanted - sum(one.kills for one in some)
            if left <= 0 or over():
                return
            if not kind.stuck:
                broken_off(kind, base, folder, min(MOST, left), random.Random(f"{seed} {kind.name} {kind.rounds}"))
                keep(some, seed)
                print(f"{kind.name}: {told(some)}", file=sys.stderr, flush=True)


def told(some: Sequence[Kind]) -> str:
    """Kills so far, and what came of them."""
    lost, stuck = (sum(len(getattr(kind, name)) for kind in some) for name in ("lost", "stuck"))
    return f"{sum(kind.kills for kind in some)} kills, lost {lost}, stuck {stuck}"


def keep(some: Sequence[Kind], seed: int) -> None:
    """Write what was counted so far."""
    table = {kind.name: {name: getattr(kind, name) for name in (*KEPT, "operations")} for kind in some}
    RESULT.parent.mkdir(exist_ok=True)
    result = {"machine": describe(), "seed": seed, "told": told(some), "kinds": table}
    write_whole(RESULT, json.dumps(result, indent=1).encode())


def go_on(some: Sequence[Kind], seed: int) -> None:
    """Take what was counted before with this seed."""
    before = json.loads(RESULT.read_bytes())
    if before["seed"] != seed:
        raise SystemExit(f"{RESULT} was counted with --seed {before['seed']}")
    for kind in some:
        for name in KEPT if kind.name in before["kinds"] else ():
            setattr(kind, name, before["kinds"][kind.name][name])


def attempt(kind: Kind, arguments: list[str], folder: Path, draw: random.Random | None) -> Done:
    """One call, killed at an operation or at any moment; not at all without ``draw``."""
    guard: Callable[[], AbstractContextManager[object]] = partial(counted, folder)
    if draw is None:
        return call(arguments, folder, guard=guard, seconds=LATE)
    if draw.random() < 0.7:
        guard = partial(counted, folder, draw.randint(1, kind.operations))
        return call(arguments, folder, guard=guard, seconds=LATE)
    return call(arguments, folder, guard=guard, kill_after=draw.uniform(0, kind.seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf, help="end earlier, after so many")
    parser.add_argument("--kinds", help="only these, with commas between them")
    parser.add_argument("--resume", action="store_true", help="go on from the count that was kept")
    parser.add_argument("--folder", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
    given = parser.parse_args()
    load_everything()
    chosen = given.kinds.split(",") if given.kinds else None
    some = [kind for kind in kinds() if chosen is None or kind.name in chosen]
    if given.resume:
        go_on(some, given.seed)
    ends, asked = time.monotonic() + 60 * given.minutes, list[int]()
    signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))  # an exception may be lost in a fork
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(dir=given.folder) as work:
        base, folder = Path(work, "base"), Path(work, "call")
        base.mkdir()
        prepared(base)
        for kind in some:
            unbroken(kind, base, folder)
        kill(some, given.kills, lambda: bool(asked) or time.monotonic() > ends, base, folder, given.seed)
    for kind in some:
        print(
            f"{kind.name}: {kind.kills} kills of {kind.rounds} calls of {kind.operations} operations on files; "
            f"lost {len(kind.lost)}, stuck {len(kind.stuck)} {[*kind.lost[:2], *kind.stuck[:2]] or ''}"
        )
    print(f"{told(some)}: {len(some)} kinds of calls, seed {given.seed}")
    if any(kind.lost or kind.stuck for kind in some):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
