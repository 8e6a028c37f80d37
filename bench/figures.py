"""Run benchmarks in processes of their own, and collect the numbers that they write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

TOOLS = (  # programs and modules that are not part of `make bench`
    *("all", "allocations", "builtin", "calls", "choice", "compare", "copies", "decoders", "faults"),
    *("figures", "forked", "hostile", "kills", "languages", "machine", "pairs", "votes"),
    *("pretraining", "rounding", "scale", "scores", "similarity", "skills", "tables", "tokenizing", "toys", "trees"),
)
QUICK = {  # options for a run of one or two minutes; other benchmarks have none
    "reading": ["--rounds", "2"],
    "pcfg": ["--rounds", "2"],
    "ordered_memory": ["--size", "small", "--count", "96", "--rounds", "2"],
    "prpn": ["--size", "small", "--rounds", "3"],
    "udgn": ["--size", "small", "--rounds", "3"],
    "onlstm": ["--size", "small", "--part", "train", "--part", "parse", "--rounds", "3"],
}
FULL = {  # also at the sizes of the papers
    **QUICK,
    "ordered_memory": ["--rounds", "2"],
    "prpn": ["--rounds", "2"],
    "udgn": ["--rounds", "2"],
    "onlstm": ["--part", "train", "--part", "parse", "--rounds", "2"],
}


def benchmarks(root: Path = ROOT) -> list[str]:
    """Names of the benchmarks in the repository ``root``."""
    return [path.stem for path in sorted((root / "bench").glob("*.py")) if path.stem not in TOOLS]


def numbers(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, float]]:
    """Measured numbers in nested tables and lists, with paths such as "train small / onlstm words/s".

    An entry of a list is named by its integers and strings, such as "words 20", or by its index if it has none.
    """
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield " / ".join(path), float(value)
    elif isinstance(value, dict):
        for key, below in value.items():
            yield from numbers(below, (*path, str(key)))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            if isinstance(below, dict):
                sizes = [f"{key} {item}" for key, item in below.items() if isinstance(item, int | str)]
                measured = {key: item for key, item in below.items() if not isinstance(item, int | str)}
                yield from numbers(measured, (*path, ", ".join(sizes) or str(index)))
            else:
                yield from numbers(below, (*path, str(index)))


def run(name: str, options: list[str], *, root: Path = ROOT, limit: float = 600.0) -> dict[str, float]:
    """Numbers of benchmark ``name`` in the repository ``root``, or none if it fails or exceeds ``limit`` seconds."""
    result = root / "bench" / "results" / f"{name}.json"
    result.unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, str(root / "bench" / f"{name}.py"), *options]
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"{name}: more than {limit:.0f} s", file=sys.stderr)
        return {}
    if done.returncode or not result.exists():
        print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return {}
    return dict(numbers(json.loads(result.read_text(encoding="utf-8"))))
