"""Run all benchmarks, and store the figures of this machine next to those of others.

``make bench`` or ``python bench/all.py`` writes ``bench/machines/PROCESSOR.json`` and prints a
table of all machines there; docs/results/speed.md discusses it. ``--quick`` leaves out the papers' sizes. After 20
minutes, the remaining benchmarks are left out with a message.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.figures import FULL, QUICK, benchmarks, run  # noqa: E402
from bench.machine import describe, slug  # noqa: E402

MACHINES = HERE / "machines"
MINUTES = 20.0


def measure(options: dict[str, list[str]]) -> dict[str, float]:
    """Figures of all benchmarks, by name."""
    deadline = time.monotonic() + 60 * MINUTES
    figures: dict[str, float] = {}
    for name in benchmarks():
        left = deadline - time.monotonic()
        if left < 10:
            print(f"{name}: no time left", file=sys.stderr)
            continue
        for key, value in run(name, options.get(name, []), limit=left).items():
            figures[f"{name}: {key}"] = value
            print(f"{name}: {key} {value:,.4g}", flush=True)
    return figures


def table(folder: Path) -> str:
    """Markdown table of the files in ``folder``, with the facts of each machine and a row for each figure."""
    machines = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    heads = [machine["machine"]["processor"] for machine in machines]
    rows = [["", *heads], ["---"] * (len(heads) + 1)]
    for fact in ("features", "cores", "threads", "load", "torch", "python"):
        values = [machine["machine"][fact] for machine in machines]
        rows.append([fact, *(", ".join(value) if isinstance(value, list) else str(value) for value in values)])
    keys = dict.fromkeys(key for machine in machines for key in machine["figures"])
    for key in keys:
        values = [machine["figures"].get(key) for machine in machines]
        rows.append([key, *("" if value is None else f"{value:,.4g}" for value in values)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    """Run the benchmarks, store the figures, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    machine = describe()
    print(", ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    figures = measure(QUICK if options.quick else FULL)
    MACHINES.mkdir(exist_ok=True)
    path = MACHINES / f"{slug(str(machine['processor']))}.json"
    path.write_text(json.dumps({"machine": machine, "figures": figures}, indent=1) + "\n", encoding="utf-8")
    print(table(MACHINES))


if __name__ == "__main__":
    main()
