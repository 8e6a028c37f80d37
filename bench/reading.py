"""Time the bracket reader against nltk's corpus reader on nltk's WSJ sample (3,914 trees), alternately.

``python bench/reading.py --data DIR`` (default ``$NLTK_DATA``, else ``../shared/data/nltk_data``) prints a table and
writes ``bench/results/reading.json``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from treebank.io.bracketed import read_bracketed, read_trees  # noqa: E402


def seconds(read: Callable[[], Iterable[object]]) -> tuple[float, int]:
    """CPU seconds of iterating over ``read()``, and the number of trees. No tree is kept in memory."""
    gc.collect()  # so that no reader pays for the garbage of the previous one; the collector stays on
    start = time.process_time()
    count = sum(1 for _ in read())
    return time.process_time() - start, count


def extract(data: Path, folder: str) -> list[str]:
    """Unpack the .mrg files of the sample into ``folder``, and return their paths in order."""
    with zipfile.ZipFile(data / "corpora/treebank.zip") as archive:
        names = sorted(name for name in archive.namelist() if "/combined/" in name and name.endswith(".mrg"))
        archive.extractall(folder, names)
    return [os.path.join(folder, name) for name in names]


def measure(data: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Best, median and first seconds of each reader, measured alternately, and the number of trees."""
    import nltk

    nltk.data.path.insert(0, str(data))
    treebank = nltk.corpus.treebank
    treebank.fileids()  # find the corpus before the clock starts
    with tempfile.TemporaryDirectory() as folder:
        files = extract(data, folder)
        readers: dict[str, Callable[[], Iterable[object]]] = {
            "nltk parsed_sents": lambda: treebank.parsed_sents(),
            "synparse read_trees": lambda: (tree for path in files for tree in read_trees(path)),
            "synparse read_bracketed": lambda: (sentence for path in files for sentence in read_bracketed(path)),
        }
        runs: dict[str, list[tuple[float, int]]] = {name: [] for name in readers}
        for _ in range(rounds):
            for name, read in readers.items():
                runs[name].append(seconds(read))
    return {
        name: {
            "seconds": min(taken for taken, _ in times),
            "median": statistics.median(taken for taken, _ in times),
            "first": times[0][0],
            "trees": times[0][1],
        }
        for name, times in runs.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = os.environ.get("NLTK_DATA") or HERE.parent.parent / "shared/data/nltk_data"
    parser.add_argument("--data", type=Path, default=default, help="folder with corpora/treebank.zip")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if not (options.data / "corpora/treebank.zip").is_file():
        sys.exit(f"{options.data}/corpora/treebank.zip: not found; give nltk's data folder with --data")
    results = measure(options.data, options.rounds)
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}
    base = results["nltk parsed_sents"]
    print(f"{machine['cores']} cores, Python {machine['python']}, {machine['system']}; {options.rounds} rounds")
    print(f"{'reader':26}{'trees':>7}{'best s':>9}{'median s':>10}{'first s':>9}{'ratio':>8}{'ratio of first':>16}")
    for name, row in results.items():
        row["ratio"] = base["median"] / row["median"]
        row["ratio_first"] = base["first"] / row["first"]  # without caches of earlier rounds
        print(
            f"{name:26}{row['trees']:7}{row['seconds']:9.3f}{row['median']:10.3f}{row['first']:9.3f}{row['ratio']:7.1f}x"
            f"{row['ratio_first']:15.1f}x"
        )
    target = HERE / "results/reading.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({"machine": machine, "rounds": options.rounds, "readers": results}, indent=2) + "\n")
    print(f"written to {os.path.relpath(target)}")


if __name__ == "__main__":
    main()
