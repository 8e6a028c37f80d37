"""Check that no sentence is lost or repeated when the parsing of a batch of files is killed and resumed.

    python bench/kills.py RUN TEXT… [--kills 50] [--format brackets]

Parses the files TEXT into a folder once. Then parses them repeatedly in child processes, which receive SIGKILL at a
random moment and are resumed, until ``--kills`` processes were killed. Every finished batch is compared with the first
one by SHA-256. Prints one line and writes ``bench/results/kills.json``. Without RUN and TEXT, a small model is trained
on the built-in sample first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import synparse  # noqa: E402
from induce.parsing.writer import Job, parse_into  # noqa: E402
from treebank.corpora.sample import sample_treebank  # noqa: E402
from treebank.io.read import InputOptions  # noqa: E402


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, by name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def small_case(folder: Path) -> tuple[str, list[str]]:
    """Train a model for one epoch on the built-in sample, and write six files of its sentences."""
    run = str(folder / "run")
    synparse.train(run=run, settings=["train.epochs=1", "model.hidden_size=48"], max_minutes=1)
    lines = [" ".join(sentence.words) for sentence in sample_treebank("train").sentences]
    texts = []
    for number in range(6):
        path = folder / f"{number}.txt"
        path.write_text("".join(line + "\n" for line in lines[number * 150 : (number + 1) * 150]), encoding="utf-8")
        texts.append(str(path))
    return run, texts


def killed_batch(folder: Path, texts: list[str], job: Job, kills: int, longest: float, rng: random.Random) -> int:
    """Parse one batch to its end, killed at most ``kills`` times, and return the number of kills."""
    done = 0
    while True:
        child = os.fork()
        if not child:
            try:
                parse_into(str(folder), texts, job, resume=True)
            finally:
                os._exit(0 if sys.exc_info()[0] is None else 1)
        if done < kills:
            time.sleep(rng.uniform(0, longest))
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            done += 1
        elif os.WEXITSTATUS(status):
            raise SystemExit("the batch itself failed")
        else:
            return done


def measure(work: Path, run: str, texts: list[str], form: str, kills: int) -> dict[str, Any]:
    """Counts of sentences, kills and batches, and whether all batches were equal."""
    job = Job(synparse.load(run, device="cpu"), form, InputOptions(notify=lambda text: None))
    began = time.perf_counter()
    sentences = parse_into(str(work / "whole"), texts, job)
    seconds = time.perf_counter() - began
    rng, done, batches, equal = random.Random(1), 0, 0, True
    while done < kills:
        shutil.rmtree(work / "killed", ignore_errors=True)
        done += killed_batch(work / "killed", texts, job, kills - done, seconds / 6, rng)
        equal &= digests(work / "killed") == digests(work / "whole")
        batches += 1
    return {"sentences": sentences, "seconds": seconds, "kills": done, "batches": batches, "equal": equal}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?")
    parser.add_argument("text", nargs="*")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--format", default="brackets")
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)  # a forked process must not have threads
    with tempfile.TemporaryDirectory() as folder:
        run, texts = (options.run, options.text) if options.text else small_case(Path(folder))
        figures = measure(Path(folder), run, texts, options.format, options.kills)
    print(
        f"{figures['sentences']} sentences, {figures['kills']} kills, {figures['batches']} batches, "
        f"equal: {figures['equal']}"
    )
    result = HERE / "results" / "kills.json"
    result.parent.mkdir(exist_ok=True)
    result.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    if not figures["equal"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
