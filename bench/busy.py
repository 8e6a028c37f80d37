"""Training beside another program: the number of threads that is chosen, against all cores and one.

``python bench/busy.py [--seconds S] [--rounds R]`` trains ``onlstm-small`` on the built-in sample for some seconds by
turns, alone and beside programs that keep every core but one busy, and prints steps a second, medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.machine import store  # noqa: E402
from induce.workers.pool import cores  # noqa: E402

BUSY = "while True: pass"


@contextmanager
def beside(count: int) -> Iterator[None]:
    """With ``count`` programs that never wait."""
    with ExitStack() as stack:
        for _ in range(count):
            stack.callback(stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY])).kill)
        yield


def speed(seconds: float, threads: str) -> float:
    """Steps a second of a training."""
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    environment |= {"PYTHONPATH": str(HERE.parent)} | ({"OMP_NUM_THREADS": threads} if threads else {})
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        limit = ["--max-minutes", str(seconds / 60)]
        program = [sys.executable, "-m", "synparse", "train", "--model", "onlstm", "-o", str(run), *limit]
        subprocess.run(program, env=environment, check=True, capture_output=True)
        events = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    last = events[-1]
    return float(last["step"] / last["seconds"])


def main() -> None:
    """Print and write the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=30.0, help="of each training, its start and end included")
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    ways = {"all cores": str(cores()), "one": "1", "chosen": ""}
    figures = {}
    for place, programs in (("alone", 0), ("beside busy programs", cores() - 1)):
        found: dict[str, list[float]] = {way: [] for way in ways}
        with beside(programs):
            for _ in range(given.rounds):
                for way, threads in ways.items():
                    found[way].append(speed(given.seconds, threads))
        for way, speeds in found.items():
            figures[f"{place}: {way}, steps a second"] = median(speeds)
        figures[f"{place}: chosen : all cores"] = median(found["chosen"]) / median(found["all cores"])
    for name, value in figures.items():
        print(f"{name:50s} {value:10,.2f}", flush=True)
    store("busy", figures=figures)


if __name__ == "__main__":
    main()
