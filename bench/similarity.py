"""Sentence similarity by UDGN, StructFormer and Transformer, also fine-tuned: docs/results/language-models.md.

``python bench/similarity.py [--minutes 8] [--tuning 3]`` trains the three models of text as
`bench.pretraining` says, fine-tunes each on the rated pairs of the STS benchmark's training part, with the parser
frozen and not (the Transformer has none), and scores all of them on the test pairs of STS-B and SICK, and their heads
on EWT's development part. Existing results are not computed again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.languages import synparse  # noqa: E402
from bench.machine import processor  # noqa: E402
from bench.pretraining import DATA, MODELS, RUNS, describe, stopped, train  # noqa: E402
from treebank.base.atomic_write import write_whole  # noqa: E402

SCORED = MODELS[3:]
RATED = "sts/stsb_open_subset/sts-{}.csv"
TESTS = {"STS-B": RATED.format("test"), "SICK": "sts/sick/SICK_test_annotated.txt"}
GOLD = "ud/UD_English-EWT/en_ewt-ud-dev.conllu"
WAYS = {"fine-tuned": (), "fine-tuned, parser frozen": ("model.frozen=parser",)}


def tune(model: str, way: str, minutes: float, data: Path, folder: Path) -> Path:
    """Fine-tune ``model`` for ``minutes`` of CPU time at most, and return its run."""
    run = folder / f"{model}-{'frozen' if WAYS[way] else 'tuned'}"
    if not (run / "last").exists():
        rated = [str(data / RATED.format("train")), "--dev", str(data / RATED.format("dev"))]
        changes = (f"task.pretrained={folder / model}", *WAYS[way])
        call = ["task", "train", "similarity", *rated, "-o", str(run)]
        stopped([*call, *(part for change in changes for part in ("--set", change))], 60 * minutes)
    return run


def scores(run: Path, data: Path) -> dict[str, Any]:
    """Correlations of a run and of a bag of words on each test set, and UAS and UUAS if the run has heads."""
    path, weights = run.with_name(f"{run.name}-similarity.json"), run / "last" / "weights.safetensors"
    if not path.exists() or path.stat().st_mtime < weights.stat().st_mtime:
        tests = [str(data / name) for name in TESTS.values()]
        printed, _ = synparse(["task", "eval", "similarity", *tests, "-m", str(run), "--format", "json"])
        results = {entry["system"]: entry["groups"] for entry in json.loads(printed)["scores"]}
        if not run.name.startswith("transformer"):
            heads, _ = synparse(
                [
                    "eval",
                    "--gold",
                    str(data / GOLD),
                    "--convention",
                    "udgn",
                    "--decoder",
                    "chu-liu-edmonds",
                    "-m",
                    str(run),
                    "--format",
                    "json",
                ]
            )
            results["heads"] = {entry["metric"]: entry["value"] for entry in json.loads(heads)["scores"]}
        write_whole(path, json.dumps(results).encode())
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def row(name: str, groups: Mapping[str, Any], heads: Mapping[str, float] | None = None) -> str:
    """Row of the Markdown table."""
    cells = []
    for path in TESTS.values():
        for kind in ("spearman", "pearson"):
            correlation = groups[Path(path).name][kind]
            low, high = (100 * end for end in correlation["interval"])
            cells.append(f"{100 * correlation['value']:.1f} [{low:.1f}, {high:.1f}]")
    cells.append(f"{heads['UAS']:.1f} / {heads['UUAS']:.1f}" if heads else "")
    return f"| {name} | {' | '.join(cells)} |"


def table(minutes: float, data: Path, folder: Path) -> str:
    """Markdown table of correlations times 100 with 95 % intervals, and of UAS / UUAS."""
    titles = [f"{name}, {kind}" for name in TESTS for kind in ("Spearman", "Pearson")]
    lines = [f"| | {' | '.join(titles)} | UAS / UUAS |", "| --- |" + " --- |" * (len(titles) + 1)]
    for model in SCORED:
        before = scores(folder / model, data)
        if model == SCORED[0]:
            lines.append(row("bag of words", before["bag-of-words"]))
        lines.append(row(f"`{model}`, text alone", before[model], before.get("heads")))
        for way in WAYS:
            if not (WAYS[way] and model == "transformer"):
                after = scores(tune(model, way, minutes, data, folder), data)
                lines.append(row(f"`{model}`, {way}", after[model], after.get("heads")))
    return "\n".join(lines)


def main() -> None:
    """Train, fine-tune, score, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--tuning", type=float, default=3.0, metavar="MINUTES")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="for every training")
    options = parser.parse_args()
    for model in SCORED:
        train(model, options.minutes, options.data, options.runs, options.set)
    tables = [f"{processor()[0]}, one thread.", describe(SCORED, options.runs)]
    tables.append(f"Fine-tuned for {options.tuning:g} minutes of a processor at most:")
    tables.append(table(options.tuning, options.data, options.runs))
    print("\n\n".join(tables))


if __name__ == "__main__":
    main()
