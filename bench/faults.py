"""Check that killed commands lose nothing and can be repeated, for every type of command.

    python bench/faults.py [--kills 1000] [--minutes M] [--seed 1] [--kinds onlstm,parse,…] [--resume] [--folder DIR]

Every model, three tasks and several seeds are trained at the smallest size and saved after each step. Text is parsed
into a folder of files and in shards. Models are combined, with copies and without, and packed. A text is prepared and
used for training. Every command that writes a file writes one.

Each call receives SIGKILL at an operation on a file or at a random moment, up to three times. It is repeated until it
ends, and its files are compared with those of an undisturbed call, except times. Files that were complete before a kill
must be complete after it. The count is printed and stored in ``bench/results/faults.json``, from which ``--resume``
continues after Ctrl-C, SIGTERM or ``--minutes``. Prints one line per command, and exits with 1 if anything was lost or
stuck.
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
LATE = 300.0  # seconds after which a call counts as stuck
COUNT = ".count"
RESULT = HERE / "results" / "faults.json"
KEPT = ("kills", "rounds", "lost", "stuck")  # fields of a `Kind` that are stored


@contextmanager
def counted(folder: Path, kill_at: int = 0) -> Iterator[None]:
    """Count operations on files below ``folder``, and kill the process at operation number ``kill_at``.

    If a child process reaches that number first, both are killed. A training is saved after every step. The count is
    written to the file `COUNT` at the end.
    """
    from induce.training import loop

    loop.SAVE_SECONDS = -1.0
    count, real, home, caller = 0, os.fsync, str(folder), os.getpid()

    def another() -> None:
        nonlocal count
        count += 1
        if count == kill_at:
            if os.getppid() == caller:  # a child process, which continues the count of its parent
                os.kill(caller, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in OPERATIONS and isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.fsdecode(arguments[0])
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
    """Write the texts, trees and two models that all calls need into ``base``."""
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
    """Empty ``folder``, link the files of ``base`` into it, and return it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in base.iterdir():
        (folder / path.name).symlink_to(path)
    return folder


def unbroken(kind: Kind, base: Path, folder: Path) -> None:
    """Store the digests and the duration of an undisturbed call of ``kind``."""
    fresh(folder, base)
    done = call(kind.arguments(folder), folder, guard=partial(counted, folder))
    assert done.code == 0, (kind.name, done.err)
    kind.seconds, kind.operations = done.seconds, int((folder / COUNT).read_text())
    kind.expected = kind.outputs(folder)


def broken_off(kind: Kind, base: Path, folder: Path, most: int, draw: random.Random) -> None:
    """Kill one call up to ``most`` times, repeat it to its end, and check its files."""
    fresh(folder, base)
    kind.rounds += 1
    whole: set[str] = set()
    for number in range(100):
        arguments = kind.arguments(folder)
        if not arguments:
            break
        done = attempt(kind, arguments, folder, draw if number < most else None)
        if done.code == ASKED_TO_END:  # the signal reached the whole process group
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
    digests = kind.outputs(folder)
    names = sorted(
        name for name in kind.expected.keys() | digests.keys() if kind.expected.get(name) != digests.get(name)
    )
    kind.lost += [f"at the end: {', '.join(names)}"] if names else []


def kill(selected: Sequence[Kind], target: int, over: Callable[[], bool], base: Path, folder: Path, seed: int) -> None:
    """Kill calls of each command alternately, until ``target`` kills or ``over()``, and store the count."""
    while any(not kind.stuck for kind in selected):
        for kind in sorted(selected, key=lambda member: member.rounds):
            left = target - sum(member.kills for member in selected)
            if left <= 0 or over():
                return
            if not kind.stuck:
                broken_off(kind, base, folder, min(MOST, left), random.Random(f"{seed} {kind.name} {kind.rounds}"))
                keep(selected, seed)
                print(f"{kind.name}: {summary(selected)}", file=sys.stderr, flush=True)


def summary(selected: Sequence[Kind]) -> str:
    """Number of kills, lost files and stuck calls, in one line."""
    lost, stuck = (sum(len(getattr(kind, name)) for kind in selected) for name in ("lost", "stuck"))
    return f"{sum(kind.kills for kind in selected)} kills, lost {lost}, stuck {stuck}"


def keep(selected: Sequence[Kind], seed: int) -> None:
    """Write the counts to the file of results."""
    table = {kind.name: {name: getattr(kind, name) for name in (*KEPT, "operations")} for kind in selected}
    RESULT.parent.mkdir(exist_ok=True)
    result = {"machine": describe(), "seed": seed, "summary": summary(selected), "kinds": table}
    write_whole(RESULT, json.dumps(result, indent=1).encode())


def go_on(selected: Sequence[Kind], seed: int) -> None:
    """Read the counts of an earlier call with the same seed."""
    before = json.loads(RESULT.read_bytes())
    if before["seed"] != seed:
        raise SystemExit(f"{RESULT}; counted with --seed {before['seed']}, not {seed}")
    for kind in selected:
        for name in KEPT if kind.name in before["kinds"] else ():
            setattr(kind, name, before["kinds"][kind.name][name])


def attempt(kind: Kind, arguments: list[str], folder: Path, draw: random.Random | None) -> Done:
    """Make one call, and kill it at an operation or at a random moment if ``draw`` is given."""
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
    parser.add_argument("--minutes", type=float, default=math.inf, help="time limit in minutes")
    parser.add_argument("--kinds", help="commands to kill, separated by commas (default: all)")
    parser.add_argument("--resume", action="store_true", help="continue from the stored count")
    parser.add_argument("--folder", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
    options = parser.parse_args()
    load_everything()
    chosen = options.kinds.split(",") if options.kinds else None
    selected = [kind for kind in kinds() if chosen is None or kind.name in chosen]
    if options.resume:
        go_on(selected, options.seed)
    ends, signals = time.monotonic() + 60 * options.minutes, list[int]()
    signal.signal(signal.SIGTERM, lambda number, frame: signals.append(number))  # an exception may be lost in a fork
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(dir=options.folder) as work:
        base, folder = Path(work, "base"), Path(work, "call")
        base.mkdir()
        prepared(base)
        for kind in selected:
            unbroken(kind, base, folder)
        kill(selected, options.kills, lambda: bool(signals) or time.monotonic() > ends, base, folder, options.seed)
    for kind in selected:
        print(
            f"{kind.name}: {kind.kills} kills of {kind.rounds} calls of {kind.operations} operations on files; "
            f"lost {len(kind.lost)}, stuck {len(kind.stuck)} {[*kind.lost[:2], *kind.stuck[:2]] or ''}"
        )
    print(f"{summary(selected)}: {len(selected)} kinds of calls, seed {options.seed}")
    if any(kind.lost or kind.stuck for kind in selected):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
