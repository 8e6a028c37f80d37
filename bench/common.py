"""Parts that all benchmarks share: folders, timing, calls of the command line, and stored results."""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from treebank.base.files import write_whole

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
DATA = ROOT.parent / "shared" / "data"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def best_seconds(
    runs: Mapping[str, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Seconds of the best round of each of ``runs``, measured alternately after a warm-up."""
    for run in runs.values():
        run()
    seconds = dict.fromkeys(runs, math.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            start = clock()
            run()
            seconds[name] = min(seconds[name], clock() - start)
    return seconds


def repeated(option: str, values: Iterable[object]) -> list[str]:
    """``option`` before each of ``values``."""
    return [part for value in values for part in (option, str(value))]


def experiment(text: str | None, out: str = "") -> argparse.ArgumentParser:
    """Parser of the options of an experiment: ``--data`` and, if it stores results, ``--out`` (in bench/results)."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    if out:
        parser.add_argument("--out", type=Path, default=RESULTS / out)
    return parser


def _environment(changes: Mapping[str, str] = ONE_THREAD) -> dict[str, str]:
    """The environment of a command with ``changes``. The command may store bytecode, as it does for users."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPATH": str(ROOT), **changes}


class Usage(NamedTuple):
    """Wall-clock seconds and CPU seconds (user) of a process, and the peak memory of its largest process in MB."""

    seconds: float
    cpu: float
    memory: float


def measured(
    command: Sequence[str], *, environment: Mapping[str, str] = ONE_THREAD, output: int | IO[str] = subprocess.DEVNULL
) -> Usage:
    """Usage of a command whose standard output goes to ``output``. Raises SystemExit if it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=output, env=_environment(environment))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{shlex.join(command)}: ended with {process.returncode}")
    return Usage(time.perf_counter() - began, usage.ru_utime, usage.ru_maxrss / 1024)


def synparse(arguments: Sequence[str], *, all_cores: bool = False) -> tuple[str, float]:
    """Standard output and CPU seconds of a command, run with one thread unless ``all_cores``.

    Raises SystemExit if the command fails.
    """
    before, command = _children_seconds(), [sys.executable, "-m", "synparse", *arguments]
    done = subprocess.run(
        command, env=_environment({} if all_cores else ONE_THREAD), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"synparse {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout, _children_seconds() - before


def stop_after(arguments: Sequence[str], seconds: float) -> float:
    """Run a command for at most ``seconds`` of CPU time, and return the CPU seconds that it used.

    ``--max-minutes`` limits wall-clock time, which trains a model less on a busy machine. Needs /proc of Linux.
    """
    before, command = _children_seconds(), [sys.executable, "-m", "synparse", *arguments]
    process = subprocess.Popen(command, env=_environment(), stderr=subprocess.PIPE, text=True)
    while process.poll() is None:
        ticks = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        if sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") >= seconds:
            process.send_signal(signal.SIGTERM)
            break
        time.sleep(0.2)
    messages = process.communicate()[1]
    if process.returncode not in (0, 128 + signal.SIGTERM):
        raise SystemExit(f"synparse {' '.join(arguments)}: {messages.strip()}")
    return _children_seconds() - before


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def read_json(path: Path) -> Any:
    """Content of a JSON file, or None if there is no such file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def write_json(path: Path, content: object) -> None:
    """Write a JSON file, completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode())


def stored(path: Path, compute: Callable[[], Any]) -> Any:
    """Content of the JSON file ``path``, computed if it does not exist."""
    if not path.exists():
        write_json(path, compute())
    return read_json(path)


def spread(values: Sequence[float]) -> str:
    """Mean, and standard deviation if it is not 0. Empty without values."""
    if not values:
        return ""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.1f}" + (f" ± {deviation:.1f}" if deviation else "")
