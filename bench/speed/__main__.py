"""Measure speed and memory: ``python -m bench.speed [NAME…] [--quick] [--against REVISION]``.

Every module of this folder has a function ``measure(quick)`` that returns figures, and runs in a process of its own.
Without names, all are measured, the figures are stored in ``bench/machines/PROCESSOR.json``, and a table of all
machines there is printed. ``--quick`` leaves out the papers' sizes. After 20 minutes, the rest is left out with a
message.

``--against REVISION`` measures the working tree and another revision alternately, and prints the ratio of the best
rounds for every speed, time and memory: new to old, so above 1 is better for a speed and worse for a time or memory. A
figure that is worse by more than 3 % and by more than the noise, which is the spread of the rounds of one tree, is
marked, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from statistics import median

from bench.common import ROOT, read_json, write_json
from bench.report import describe, markdown, numbers, slug

USERS = "users"  # the figures that users wait for, which come first
BENCHMARKS = sorted(
    (path.stem for path in Path(__file__).parent.glob("[a-z]*.py")), key=lambda name: (name != USERS, name)
)
MACHINES = ROOT / "bench" / "machines"
FACTS = ("features", "cores", "threads", "load", "torch", "python")
MINUTES = 20.0
TOLERANCE = 0.03
ROUNDS = 3
SPEEDS = ("/s", " a second")  # ends of the names of speeds
COSTS = (" s", "(ms)", "seconds", " MB")  # and of times and memory


def run(name: str, quick: bool, *, root: Path = ROOT, limit: float = 600.0) -> dict[str, float]:
    """Figures of a benchmark in the repository ``root``, or none if it fails or exceeds ``limit`` seconds."""
    command = [sys.executable, "-m", "bench.speed", name, "--print", *(["--quick"] if quick else [])]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"{name}: more than {limit:.0f} s", file=sys.stderr)
        return {}
    if done.returncode:
        print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return {}
    return dict(numbers(json.loads(done.stdout.splitlines()[-1])))


def measure_all(names: Sequence[str], quick: bool) -> dict[str, float]:
    """Figures of the benchmarks by name."""
    deadline = time.monotonic() + 60 * MINUTES
    figures: dict[str, float] = {}
    for name in names:
        left = deadline - time.monotonic()
        if left < 10:
            print(f"{name}: no time left", file=sys.stderr)
            continue
        for key, value in run(name, quick, limit=left).items():
            figures[f"{name}: {key}"] = value
            print(f"{name}: {key} {value:,.4g}", flush=True)
    return figures


def machine_table(folder: Path) -> str:
    """Markdown table of the files in ``folder``, with the facts of each machine and a row for each figure."""
    machines = [read_json(path) for path in sorted(folder.glob("*.json"))]
    rows = []
    for fact in FACTS:
        values = [machine["machine"][fact] for machine in machines]
        rows.append([fact, *(", ".join(value) if isinstance(value, list) else str(value) for value in values)])
    for key in dict.fromkeys(key for machine in machines for key in machine["figures"]):
        figures = [machine["figures"].get(key) for machine in machines]
        rows.append([key, *("" if value is None else f"{value:,.4g}" for value in figures)])
    return markdown(["", *(machine["machine"]["processor"] for machine in machines)], rows)


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Temporary folder with the files of ``revision``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(folder), revision], check=True)
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def goodness(key: str, value: float) -> float | None:
    """A number that is larger for a better figure, or None for a ratio or size."""
    if key.endswith(SPEEDS):
        return value
    return 1 / value if key.endswith(COSTS) else None


def verdict(old: list[float], new: list[float]) -> tuple[float, float, bool]:
    """Ratio of the best speeds (new to old), the noise (a share), and whether the new one is worse beyond the noise.

    The noise is the relative distance of the median round from the best one, the larger value of the two trees.
    """
    noise = max(1 - median(speeds) / max(speeds) for speeds in (old, new))
    ratio = max(new) / max(old)
    return ratio, noise, ratio < 1 - max(TOLERANCE, noise)


def compare(revision: str, names: Sequence[str]) -> bool:
    """Print one line per speed, time and memory, and return whether none became worse.

    Raises SystemExit if there is nothing to compare.
    """
    speeds: dict[str, tuple[list[float], list[float]]] = {}
    with checked_out(revision) as other:
        for name in names:
            for _ in range(ROUNDS):
                for side, root in enumerate((other, ROOT)):
                    for key, value in run(name, quick=True, root=root).items():
                        if (speed := goodness(key, value)) is not None:
                            speeds.setdefault(f"{name}: {key}", ([], []))[side].append(speed)
    if not any(old and new for old, new in speeds.values()):
        raise SystemExit(f"nothing was measured in both {revision} and the working tree")
    is_fine = True
    for key, (old, new) in speeds.items():
        if old and new:
            ratio, noise, is_worse = verdict(old, new)
            is_fine &= not is_worse
            comparison = f"{ratio:.2f} of the speed" if key.endswith(SPEEDS) else f"{1 / ratio:.2f} of the cost"
            print(f"{key}: {comparison} of {revision} (noise {noise:.0%}){' WORSE' if is_worse else ''}", flush=True)
    return is_fine


def main() -> None:
    """Measure, store the figures, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--against", metavar="REVISION")
    parser.add_argument("--print", action="store_true", help="print the figures of one NAME as JSON")
    options = parser.parse_args()
    if options.print:
        (name,) = options.names
        print(json.dumps(import_module(f"bench.speed.{name}").measure(options.quick)))
        return
    machine = describe()
    print(", ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    names = options.names or BENCHMARKS
    if options.against:
        sys.exit(0 if compare(options.against, names) else 1)
    figures = measure_all(names, options.quick)
    if not options.names:
        write_json(MACHINES / f"{slug(str(machine['processor']))}.json", {"machine": machine, "figures": figures})
        print(machine_table(MACHINES))


if __name__ == "__main__":
    main()
