"""Which number that needs no gold trees tells good models from bad ones: the table of docs/ensembles.md.

``python bench/choice.py RUN… --gold NAME=TREEBANK… [--sentences 1000] [--docs]`` scores each run on the first sentences
of each treebank, measures on their words what can be measured without trees, and correlates the two over all runs, and
over those of one kind where there are four or more. Ten runs of three kinds are few; the intervals say so.
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

from bench.languages import synparse, with_table  # noqa: E402
from bench.machine import store  # noqa: E402
from bench.scores import named  # noqa: E402
from induce.analysis.correlation import spearman  # noqa: E402
from treebank.base.atomic_write import write_whole  # noqa: E402
from treebank.corpora.catalog import load_whole  # noqa: E402

PAGE = HERE.parent / "docs" / "ensembles.md"
FEWEST = 4  # runs of a correlation; of three there is no interval
CRITERIA = {
    "others": "agreement with other kinds",
    "same": "with its own kind",
    "all": "with all",
    "right": "with right branching",
    "left": "with left branching",
    "likelihood": "log-likelihood a word",
}


class Measured(NamedTuple):
    """A run on one treebank."""

    run: str
    kind: str
    score: float  # UF1
    criteria: Mapping[str, float]  # those that it has


def first(gold: str, count: int, folder: str) -> str:
    """A file of the first ``count`` trees of a treebank."""
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
    scores = {one["model"]: one["value"] for one in scored}
    sides = [part for side in ("right", "left") for part in ("--baseline", side)]
    found = json.loads(synparse(["analyze", "agreement", gold, "--format", "json", *chosen, *sides])[0])
    agreed: dict[str, dict[str, float]] = {}
    for pair in found["pairs"]:
        for one, other in ((pair["first"], pair["second"]), (pair["second"], pair["first"])):
            agreed.setdefault(one, {})[other] = pair["value"]
    systems = found["systems"]
    models, baselines = systems[: len(runs)], [one["name"] for one in systems[len(runs) :]]
    measured = []
    for run, system in zip(runs, models, strict=True):
        partners = agreed[system["name"]]
        among = [value for name, value in partners.items() if name not in baselines]
        values = {key: system[key] for key in ("others", "same") if system[key] is not None}
        values["all"] = sum(among) / len(among)
        values |= dict(zip(("right", "left"), (partners[name] for name in baselines), strict=True))
        if system["type"].endswith("pcfg"):
            told = json.loads(synparse(["perplexity", gold, "-m", run, "--format", "json"])[0])["scores"][0]
            values["likelihood"] = -told["nats"]
        measured.append(Measured(run, system["type"], scores[run], values))
    return measured


def correlations(found: Sequence[Measured]) -> dict[str, dict[str, str]]:
    """Criterion -> all runs, or a kind -> Spearman's correlation with UF1, its interval and the number of runs."""
    groups = {"all": list(found)}
    for kind in dict.fromkeys(one.kind for one in found):
        groups[kind] = [one for one in found if one.kind == kind]
    table: dict[str, dict[str, str]] = {}
    for key in CRITERIA:
        for name, group in groups.items():
            having = [one for one in group if key in one.criteria]
            if len(having) >= FEWEST and not (key == "likelihood" and name == "all"):  # kinds count words in other ways
                value, low, high = spearman([one.criteria[key] for one in having], [one.score for one in having])
                interval = f" [{low:.2f}, {high:.2f}]" if low < high else ""  # a perfect correlation has none
                table.setdefault(key, {})[name] = f"{value:.2f}{interval}, {len(having)}"
    return table


def tables(measured: Mapping[str, Sequence[Measured]], names: Mapping[str, str]) -> str:
    """Markdown: the runs on each treebank, then the correlations."""
    parts = []
    for treebank, found in measured.items():
        rows = [
            f"| {treebank} | kind | UF1 | {' | '.join(CRITERIA.values())} |",
            "| --- | --- |" + " ---: |" * (1 + len(CRITERIA)),
        ]
        for one in sorted(found, key=lambda one: -one.score):
            cells = [f"{one.criteria[key]:.1f}" if key in one.criteria else "" for key in CRITERIA]
            rows.append(f"| {names[one.run]} | `{one.kind}` | {one.score:.1f} | {' | '.join(cells)} |")
        parts.append("\n".join(rows))
    found_all = {treebank: correlations(found) for treebank, found in measured.items()}
    groups = list(dict.fromkeys(name for one in found_all.values() for row in one.values() for name in row))
    rows = [f"| Spearman with UF1 | treebank | {' | '.join(groups)} |", "| --- | --- |" + " --- |" * len(groups)]
    for key, title in CRITERIA.items():
        for treebank, own in found_all.items():
            if key in own:
                rows.append(f"| {title} | {treebank} | {' | '.join(own[key].get(name, '') for name in groups)} |")
    return "\n\n".join([*parts, "\n".join(rows)])


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="+", type=named, metavar="NAME=RUN")
    parser.add_argument("--gold", action="append", type=named, metavar="NAME=TREEBANK", required=True)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--docs", action="store_true", help=f"write the tables into {PAGE.name}")
    options = parser.parse_args()
    names = {run: name for name, run in options.model}
    with tempfile.TemporaryDirectory() as folder:
        measured = {name: measure(list(names), first(gold, options.sentences, folder)) for name, gold in options.gold}
    written = tables(measured, names)
    print(written)
    store("choice", **{name: [one._asdict() for one in found] for name, found in measured.items()})
    if options.docs:
        write_whole(PAGE, with_table(PAGE, f"\n{written}\n", "bench/choice.py").encode())


if __name__ == "__main__":
    main()
