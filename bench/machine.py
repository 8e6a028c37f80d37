"""Description of the machine, stored with the results: processor, cores, threads, load and versions."""

from __future__ import annotations

import json
import os
import platform
import re
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
FEATURES = (
    "avx2",
    "avx512f",
    "avx512_bf16",
    "amx_bf16",
    "neon",
    "sve",
    "bf16",
)  # for matrix products


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


def store(name: str, **content: Any) -> None:
    """Write the machine and ``content`` as ``bench/results/NAME.json``."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"machine": describe(), **content}, indent=1) + "\n"
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")


def slug(name: str) -> str:
    """A file name for a processor's name."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)|@.*", "", name.lower())).strip("-")
