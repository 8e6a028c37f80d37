"""Times and memory of parsing with workers, of corpora on disk, and of training with two processes.

``python -m bench.experiments.scale [--words MILLIONS] [--minutes M]`` makes a text of MILLIONS of words (default: 1)
from the built-in sample, trains `onlstm-small` briefly, prints a table and writes ``bench/results/scale.json``. Each
figure is measured in a process of its own and includes its start. ``--part`` selects ``parse``, ``corpus`` or
``train``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.common import RESULTS, measured, write_json
from bench.report import describe
from treebank.corpora.sample import sample_treebank

MODEL = ["--set", "train.epochs=1", "--set", "data.vocabulary_size=1000", "--max-minutes", "0.2"]


def write_text(path: Path, words: int) -> int:
    """Write the sentences of the sample repeatedly until there are ``words`` words, and return their number."""
    lines = [" ".join(sentence.words) + "\n" for sentence in sample_treebank("train").sentences]
    count = sum(len(line.split(" ")) for line in lines)
    times = -(-words // count)
    with path.open("w", encoding="utf-8") as stream:
        for _ in range(times):
            stream.writelines(lines)
    return times * count


def timed(*arguments: str, program: tuple[str, ...] = ("-m", "synparse")) -> tuple[float, float]:
    """Wall-clock seconds of a call, and the peak memory (MB) of its first process."""
    usage = measured([sys.executable, *program, *arguments])
    return usage.seconds, usage.memory


def parsing(folder: Path, text: Path, words: int) -> dict[str, float]:
    """Words per second and memory of one process, one worker and two workers, and of a tenth of the text."""
    run, tenth = str(folder / "run"), folder / "tenth.txt"
    timed("train", "-o", run, *MODEL)
    less = write_text(tenth, words // 10)
    start, small = timed("parse", str(tenth), "-m", run, "--output-dir", str(folder / "tenth"), "--workers", "1")
    figures = {"words a second, with a start, of a tenth": less / start, "memory of a tenth, MB": small}
    first_seconds = 0.0
    for name, options in (("one process", []), ("1 worker", ["--workers", "1"]), ("2 workers", ["--workers", "2"])):
        seconds, memory = timed("parse", str(text), "-m", run, "--output-dir", str(folder / name), *options)
        first_seconds = first_seconds or seconds
        figures |= {f"{name}: words a second": words / seconds, f"{name}: memory, MB": memory}
        figures[f"{name}: times one process"] = first_seconds / seconds
    return figures


def corpus(folder: Path, text: Path, words: int, minutes: float) -> dict[str, float]:
    """Speed and memory of preparing a text, relative to ``wc -w``, and memory of training from the result."""
    began = time.monotonic()
    subprocess.run(["wc", "-w", text], check=True, capture_output=True)
    counting = time.monotonic() - began
    seconds, memory = timed("data", "prepare", str(text), "-o", str(folder / "corpus"))
    figures = {
        "prepare: words a second": words / seconds,
        "prepare: times wc -w": seconds / counting,
        "prepare: memory, MB": memory,
    }
    limit = ["--max-minutes", str(minutes), "--set", "train.epochs=1"]
    _, memory = timed("train", str(folder / "corpus"), "-o", str(folder / "trained"), *limit)
    figures["train CORPUS: memory, MB"] = memory
    return figures


def training(folder: Path, text: Path, words: int) -> dict[str, float]:
    """Words per second of one pass over the text by one process, and by two that share every batch."""
    figures = {}
    for count in (1, 2):
        program = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count), "-m", "synparse")
        run = str(folder / f"by {count}")
        seconds, _ = timed("train", str(text), "-o", run, "--set", "train.epochs=1", program=program)
        figures[f"train by {count}: words a second"] = words / seconds
    figures["train by 2: times train by 1"] = (
        figures["train by 2: words a second"] / figures["train by 1: words a second"]
    )
    return figures


def main() -> None:
    """Print and write the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--words", type=float, default=1.0, help="millions of words")
    options.add_argument("--minutes", type=float, default=0.5, help="minutes of training from a corpus on disk")
    options.add_argument("--part", choices=["parse", "corpus", "train"], help="measure only this part")
    options.add_argument("--folder", help="where to make texts and models, a temporary folder by default")
    arguments = options.parse_args()
    with TemporaryDirectory(dir=arguments.folder) as path:
        folder = Path(path)
        text = folder / "text.txt"
        words = write_text(text, int(arguments.words * 1e6))
        figures: dict[str, float] = {"words": float(words)}
        if arguments.part in (None, "parse"):
            figures |= parsing(folder, text, words)
        if arguments.part in (None, "corpus"):
            figures |= corpus(folder, text, words, arguments.minutes)
        if arguments.part in (None, "train"):
            figures |= training(folder, text, words)
    for name, value in figures.items():
        print(f"{name:42s} {value:14,.2f}", flush=True)
    write_json(RESULTS / "scale.json", {"machine": describe(), "figures": figures})


if __name__ == "__main__":
    main()
