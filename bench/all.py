"""Run all benchmarks, and store the figures of this machine next to those of others.

``make bench`` or ``python bench/all.py`` writes ``bench/machines/PROCESSOR.json`` and the table in
``docs/results/speed.md``, one column per machine. ``--quick`` leaves out the papers' sizes. At most 20 minutes:
the remaining benchmarks are left out with a message.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.figures import FULL, QUICK, benchmarks, run  # noqa: E402
from bench.machine import describe, slug  # noqa: E402

MACHINES = HERE / "machines"
PAGE = HERE.parent / "docs" / "results" / "speed.md"
BEGIN, END = "<!-- table of machines -->", "<!-- end of the table -->"
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


def table(machines: list[dict[str, Any]]) -> str:
    """Markdown table with the facts of the machines and a row for each figure."""
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


def write_page(page: Path, machines: Path) -> None:
    """Write the table of all files in ``machines`` between the two comments of ``page``."""
    files = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(machines.glob("*.json"))]
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n{table(files)}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    """Run the benchmarks, store the figures, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    machine = describe()
    print(", ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    figures = measure(QUICK if options.quick else FULL)
    MACHINES.mkdir(exist_ok=True)
    path = MACHINES / f"{slug(str(machine['processor']))}.json"
    path.write_text(json.dumps({"machine": machine, "figures": figures}, indent=1) + "\n", encoding="utf-8")
    write_page(PAGE, MACHINES)


if __name__ == "__main__":
    main()
