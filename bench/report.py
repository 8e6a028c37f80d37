"""Description of the machine, Markdown tables, and figures by name."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

FEATURES = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "neon", "sve", "bf16")  # for matrix products


def processor() -> tuple[str, list[str]]:
    """Name of the processor and its `FEATURES`, or only its type on systems without /proc/cpuinfo."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine(), []
    name = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
    known = set(flags.group(1).split()) if flags else set()
    return (name.group(1) if name else platform.machine()), [feature for feature in FEATURES if feature in known]


def describe() -> dict[str, str | int | float | list[str]]:
    """Facts about the machine by name. ``load`` is the mean number of running programs in the last minute."""
    import torch

    name, features = processor()
    return {
        "processor": name,
        "features": features,
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "load": round(os.getloadavg()[0], 1),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def slug(name: str) -> str:
    """A file name for a processor's name."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)|@.*", "", name.lower())).strip("-")


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown table whose columns are aligned to the right, except the first."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_interval(score: Any) -> str:
    """Value with its interval."""
    low, high = score["interval"]
    return f"{score['value']:.1f} [{low:.1f}, {high:.1f}]"


def numbers(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, float]]:
    """Measured numbers in nested tables, with paths such as "train small / onlstm words/s"."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from numbers(below, (*path, str(key)))
    else:
        yield " / ".join(path), float(value)
