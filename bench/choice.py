"""Correlation of UF1 with numbers that need no gold trees, for docs/results/ensembles.md.

``python bench/choice.py RUN… --gold NAME=TREEBANK… [--sentences 1000]`` scores each run on the first sentences
of each treebank, measures on their words the criteria that need no trees, and correlates the two over all runs, and
over the runs of one type if there are four or more. With ten runs of three types, the intervals are wide.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.languages import synparse  # noqa: E402
from bench.machine import store  # noqa: E402
from bench.scores import named  # noqa: E402
from induce.analysis.correlation import spearman  # noqa: E402
from treebank.corpora.catalog import load_whole  # noqa: E402

FEWEST = 4  # runs of a correlation; three runs give no interval
CRITERIA = {
    "others": "agreement with other kinds",
    "same": "with its own kind",
    "all": "with all",
    "right": "with right branching",
    "left": "with left branching",
    "likelihood": "log-likelihood a word",
}


class Measured(NamedTuple):
    """Score and criteria of a run on one treebank."""

    run: str
    kind: str
    score: float  # UF1
    criteria: Mapping[str, float]  # without those that do not apply to its type


def first(gold: str, count: int, folder: str) -> str:
    """Write the first ``count`` trees of a treebank to a file, and return its path."""
    path = Path(folder) / f"{Path(gold).stem}-{count}.ptb"
    trees = [str(sentence.tree) for sentence in load_whole(gold).sentences[:count]]
    path.write_text("\n".join(trees) + "\n", encoding="utf-8")
    return str(path)


def measure(runs: Sequence[str], gold: str) -> list[Measured]:
    """Score and criteria of each run on a file of trees."""
    chosen = [part for run in runs for part in ("-m", run)]
    scored = json.loads(synparse(["eval", "--gold", gold, "--convention", "on-lstm", "--format", "json", *chosen])[0])[
        "scores"
    ]
    scores = {name["model"]: name["value"] for name in scored}
    sides = [part for side in ("right", "left") for part in ("--baseline", side)]
    report = json.loads(synparse(["analyze", "agreement", gold, "--format", "json", *chosen, *sides])[0])
    agreed: dict[str, dict[str, float]] = {}
    for pair in report["pairs"]:
        for name, partner in ((pair["first"], pair["second"]), (pair["second"], pair["first"])):
            agreed.setdefault(name, {})[partner] = pair["value"]
    systems = report["systems"]
    models, baselines = systems[: len(runs)], [entry["name"] for entry in systems[len(runs) :]]
    measured = []
    for run, system in zip(runs, models, strict=True):
        partners = agreed[system["name"]]
        among = [value for name, value in partners.items() if name not in baselines]
        values = {key: system[key] for key in ("others", "same") if system[key] is not None}
        values["all"] = sum(among) / len(among)
        values |= dict(zip(("right", "left"), (partners[name] for name in baselines), strict=True))
        if system["type"].endswith("pcfg"):
            perplexity = json.loads(synparse(["perplexity", gold, "-m", run, "--format", "json"])[0])["scores"][0]
            values["likelihood"] = -perplexity["nats"]
        measured.append(Measured(run, system["type"], scores[run], values))
    return measured


def correlations(runs: Sequence[Measured]) -> dict[str, dict[str, str]]:
    """Spearman's correlation with UF1, its interval and the number of runs, by criterion and by type or ``all``."""
    groups = {"all": list(runs)}
    for kind in dict.fromkeys(entry.kind for entry in runs):
        groups[kind] = [entry for entry in runs if entry.kind == kind]
    table: dict[str, dict[str, str]] = {}
    for key in CRITERIA:
        for name, group in groups.items():
            having = [entry for entry in group if key in entry.criteria]
            if len(having) >= FEWEST and not (key == "likelihood" and name == "all"):  # types count words differently
                value, low, high = spearman(
                    [entry.criteria[key] for entry in having], [entry.score for entry in having]
                )
                interval = f" [{low:.2f}, {high:.2f}]" if low < high else ""  # a perfect correlation has none
                table.setdefault(key, {})[name] = f"{value:.2f}{interval}, {len(having)}"
    return table


def tables(measured: Mapping[str, Sequence[Measured]], names: Mapping[str, str]) -> str:
    """Markdown tables of the runs on each treebank and of the correlations."""
    parts = []
    for treebank, runs in measured.items():
        rows = [
            f"| {treebank} | kind | UF1 | {' | '.join(CRITERIA.values())} |",
            "| --- | --- |" + " ---: |" * (1 + len(CRITERIA)),
        ]
        for entry in sorted(runs, key=lambda entry: -entry.score):
            cells = [f"{entry.criteria[key]:.1f}" if key in entry.criteria else "" for key in CRITERIA]
            rows.append(f"| {names[entry.run]} | `{entry.kind}` | {entry.score:.1f} | {' | '.join(cells)} |")
        parts.append("\n".join(rows))
    by_treebank = {treebank: correlations(runs) for treebank, runs in measured.items()}
    groups = list(
        dict.fromkeys(name for by_criterion in by_treebank.values() for row in by_criterion.values() for name in row)
    )
    rows = [f"| Spearman with UF1 | treebank | {' | '.join(groups)} |", "| --- | --- |" + " --- |" * len(groups)]
    for key, title in CRITERIA.items():
        for treebank, by_criterion in by_treebank.items():
            if key in by_criterion:
                rows.append(
                    f"| {title} | {treebank} | {' | '.join(by_criterion[key].get(name, '') for name in groups)} |"
                )
    return "\n\n".join([*parts, "\n".join(rows)])


def main() -> None:
    """Measure the runs, and print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="+", type=named, metavar="NAME=RUN")
    parser.add_argument("--gold", action="append", type=named, metavar="NAME=TREEBANK", required=True)
    parser.add_argument("--sentences", type=int, default=1000)
    options = parser.parse_args()
    names = {run: name for name, run in options.model}
    with tempfile.TemporaryDirectory() as folder:
        measured = {name: measure(list(names), first(gold, options.sentences, folder)) for name, gold in options.gold}
    written = tables(measured, names)
    print(written)
    store("choice", **{name: [entry._asdict() for entry in runs] for name, runs in measured.items()})


if __name__ == "__main__":
    main()
