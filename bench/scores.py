"""Table of UF1 with intervals and training minutes, for models and baselines on several treebanks.

``python bench/scores.py NAME=RUN… --gold NAME=TREEBANK…`` scores each under ``on-lstm`` (``--convention``), prints a
table in Markdown, and writes ``bench/results/scores.json``. Without arguments, a model is trained briefly on the
built-in sample to test the program.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.languages import synparse  # noqa: E402
from bench.machine import store  # noqa: E402
from induce.parsing.load import read_trained  # noqa: E402
from treebank.base.errors import SynparseError  # noqa: E402

BASELINES = ("left", "right", "balanced", "random", "oracle")
Entry = dict[str, Any]


def named(text: str) -> tuple[str, str]:
    """Name and value of ``NAME=VALUE``. Raises ArgumentTypeError if there is no ``=``."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def minutes(run: str) -> float | None:
    """Training minutes of the stored model, without its teachers, or None for an ensemble."""
    try:
        return read_trained(run).facts.seconds / 60
    except SynparseError:
        return None


def score(gold: str, runs: Sequence[str], convention: str) -> dict[str, Entry]:
    """Output of ``synparse eval`` for the baselines and runs, by name or folder."""
    systems = [part for name in BASELINES for part in ("--baseline", name)] + [
        part for run in runs for part in ("-m", run)
    ]
    printed, _ = synparse(["eval", "--gold", gold, "--convention", convention, "--format", "json", *systems])
    return {entry.get("model") or entry["system"]: entry for entry in json.loads(printed)["scores"]}


def table(
    models: Sequence[tuple[str, str]], scores: dict[str, dict[str, Entry]], spent: dict[str, float | None]
) -> str:
    """Markdown table with a row for each system and a column for each treebank."""
    lines = ["| UF1 | minutes | " + " | ".join(scores) + " |", "| --- |" + " --- |" * (1 + len(scores))]
    for name, key in [*((name, name) for name in BASELINES), *models]:
        cells = [
            "{value:.1f} [{interval[0]:.1f}, {interval[1]:.1f}]".format(**by_system[key])
            for by_system in scores.values()
        ]
        time = spent.get(key)
        lines.append(f"| {name} | {'' if time is None else f'{time:.0f}'} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Score the models, and print and write the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model", nargs="*", type=named, metavar="NAME=RUN")
    options.add_argument("--gold", action="append", type=named, metavar="NAME=TREEBANK")
    options.add_argument("--convention", default="on-lstm")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = arguments.model or [("onlstm", f"{folder}/run")]
        if not arguments.model:
            synparse(["train", "-o", f"{folder}/run", "--max-minutes", "0.1"])
        runs = [run for _, run in models]
        scores = {
            name: score(gold, runs, arguments.convention) for name, gold in arguments.gold or [("sample", "sample")]
        }
        spent = {run: minutes(run) for run in runs}
    print(table(models, scores, spent))
    store("scores", minutes=spent, scores=scores)


if __name__ == "__main__":
    main()
