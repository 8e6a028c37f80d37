"""Speed of ``synparse eval`` against only reading its files."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.common import DATA, ROOT, best_seconds
from treebank.corpora.catalog import load_whole
from treebank.io.bracketed import read_bracketed

ROUNDS = 3
TREES, QUICK_TREES = 40_000, 4_000
READ = "import sys; from treebank.io.bracketed import read_bracketed as r; [list(r(p)) for p in sys.argv[1:]]"
EVAL = (
    "import sys; from cli.main import run; code = run(['eval', '--gold', sys.argv[1], sys.argv[2]]); "
    "assert 'torch' not in sys.modules; sys.exit(code)"
)
os.environ.setdefault("NLTK_DATA", str(DATA / "nltk_data"))  # for the sample of the WSJ


def command(count: int) -> dict[str, float]:
    """Seconds of ``synparse eval`` on two files of ``count`` trees, and of only reading both."""
    trees = [str(sentence.tree) for sentence in load_whole("wsj").sentences]
    with tempfile.TemporaryDirectory() as name:
        paths = [str(Path(name) / "gold.mrg"), str(Path(name) / "predicted.mrg")]
        for path in paths:
            lines = (trees * (count // len(trees) + 1))[:count]
            Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
        assert sum(1 for _ in read_bracketed(paths[0])) == count
        runs = {kind: lambda text=text: call(text, paths) for kind, text in (("read s", READ), ("eval s", EVAL))}
        seconds = best_seconds(runs, ROUNDS, clock=time.perf_counter)
    return {**seconds, "ratio": seconds["eval s"] / seconds["read s"]}


def call(program: str, arguments: list[str]) -> None:
    """Run a short program in its own process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """Figures of the command."""
    return {"command": command(QUICK_TREES if quick else TREES)}
