"""Sentence similarity by UDGN, StructFormer and Transformer, also fine-tuned: docs/results/language-models.md.

``python -m bench.experiments.similarity [--minutes 8] [--tuning 3]`` trains the three models of text as
`bench.experiments.pretraining` says, fine-tunes each on the rated pairs of the STS benchmark's training part, with the
parser frozen and not (the Transformer has none), and scores all of them on the test pairs of STS-B and SICK, and their
heads on EWT's development part. Existing results are not computed again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.common import repeated, stop_after, stored, synparse, weights_of
from bench.experiments.pretraining import MODELS, describe, options_of, train
from bench.report import markdown, processor

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
        stop_after([*call, *repeated("--set", changes)], 60 * minutes)
    return run


def scores(run: Path, data: Path) -> dict[str, Any]:
    """Correlations of a run and of a bag of words on each test set, and UAS and UUAS if the run has heads."""

    def compute() -> dict[str, Any]:
        tests = [str(data / name) for name in TESTS.values()]
        printed, _ = synparse(["task", "eval", "similarity", *tests, "-m", str(run), "--format", "json"])
        results = {entry["system"]: entry["groups"] for entry in json.loads(printed)["scores"]}
        if not run.name.startswith("transformer"):
            call = ["eval", "--gold", str(data / GOLD), "--convention", "udgn", "--decoder", "chu-liu-edmonds"]
            heads, _ = synparse([*call, "-m", str(run), "--format", "json"])
            results["heads"] = {entry["metric"]: entry["value"] for entry in json.loads(heads)["scores"]}
        return results

    return stored(run.with_name(f"{run.name}-similarity.json"), compute, newer_than=weights_of(run))


def row(name: str, groups: Mapping[str, Any], heads: Mapping[str, float] | None = None) -> list[str]:
    """Row of the table."""
    cells = []
    for path in TESTS.values():
        for kind in ("spearman", "pearson"):
            correlation = groups[Path(path).name][kind]
            low, high = (100 * end for end in correlation["interval"])
            cells.append(f"{100 * correlation['value']:.1f} [{low:.1f}, {high:.1f}]")
    cells.append(f"{heads['UAS']:.1f} / {heads['UUAS']:.1f}" if heads else "")
    return [name, *cells]


def table(minutes: float, data: Path, folder: Path) -> str:
    """Markdown table of correlations times 100 with 95 % intervals, and of UAS / UUAS."""
    titles = [f"{name}, {kind}" for name in TESTS for kind in ("Spearman", "Pearson")]
    lines: list[list[str]] = []
    for model in SCORED:
        before = scores(folder / model, data)
        if model == SCORED[0]:
            lines.append(row("bag of words", before["bag-of-words"]))
        lines.append(row(f"`{model}`, text alone", before[model], before.get("heads")))
        for way in WAYS:
            if not (WAYS[way] and model == "transformer"):
                after = scores(tune(model, way, minutes, data, folder), data)
                lines.append(row(f"`{model}`, {way}", after[model], after.get("heads")))
    return markdown(["", *titles, "UAS / UUAS"], lines)


def main() -> None:
    """Train, fine-tune, score, print and write."""
    parser = options_of(__doc__, 8.0)
    parser.add_argument("--tuning", type=float, default=3.0, metavar="MINUTES")
    options = parser.parse_args()
    for model in SCORED:
        train(model, options.minutes, options.data, options.out, options.set)
    tables = [f"{processor()[0]}, one thread.", describe(SCORED, options.out)]
    tables.append(f"Fine-tuned for {options.tuning:g} minutes of a processor at most:")
    tables.append(table(options.tuning, options.data, options.out))
    print("\n\n".join(tables))


if __name__ == "__main__":
    main()
