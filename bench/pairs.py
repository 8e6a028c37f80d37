"""Minimal pairs scored by four types of model trained on one text: docs/results/language-models.md.

``python bench/pairs.py [--minutes 10] [--marvin-linzen 200] [--blimp 100]`` trains ``lstm``, ``onlstm``,
``prpn`` and ``udgn`` as `bench.pretraining` says, scores each, next to a unigram and a 5-gram model of the text, on the
given number of pairs of each phenomenon. Existing trainings are
not repeated, and neither are scores that are newer than the model.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.languages import synparse  # noqa: E402
from bench.machine import processor  # noqa: E402
from bench.pretraining import DATA, MODELS, RUNS, describe, text, train  # noqa: E402
from treebank.base.atomic_write import write_whole  # noqa: E402

SCORED = MODELS[:4]
COLLECTIONS = {"marvin-linzen": 200, "blimp": 100}  # pairs of each phenomenon
Score = dict[str, Any]


def scores(name: str, limit: int, model: str, data: Path, folder: Path) -> list[Score]:
    """Scores of a model on a collection. Those of the n-gram models precede the scores of the first model."""
    path = folder / f"{model}-{name}-{limit}.json"
    weights = folder / model / "last" / "weights.safetensors"
    if not path.exists() or path.stat().st_mtime < weights.stat().st_mtime:
        call = ["pairs", name, "--folder", str(data / "syneval"), "--limit", str(limit), "--format", "json"]
        call += ["--ngram-text", str(text(data, folder))] if model == SCORED[0] else []
        write_whole(path, synparse([*call, "-m", str(folder / model)])[0].encode())
    results: list[Score] = json.loads(path.read_text(encoding="utf-8"))["scores"]
    return results


def table(results: Sequence[Score], title: str) -> str:
    """Markdown table with a row for each phenomenon (or group, if there are many) and a column for each system."""
    parts = "phenomena" if len(results[0]["phenomena"]) < 30 else "groups"
    lines = [
        f"| {title} | pairs | {' | '.join(score['system'] for score in results)} |",
        "| --- |" + " ---: |" * (len(results) + 1),
    ]
    rows = {name: [score[parts][name] for score in results] for name in results[0][parts]}
    if parts == "phenomena":
        rows |= {f"**{name}**": [score["groups"][name] for score in results] for name in results[0]["groups"]}
    rows["**all pairs**"] = [score["overall"] for score in results]
    lines += [
        f"| {name} | {cells[0]['pairs']:,} | {' | '.join(map(accuracy_cell, cells))} |" for name, cells in rows.items()
    ]
    lines.append(f"| **mean of phenomena** | | {' | '.join(format(score['mean'], '.1f') for score in results)} |")
    lines.append(f"| without an unknown word | | {' | '.join(counted_cell(score['known']) for score in results)} |")
    for title, key in (("own tree connects verb and subject", "connected"), ("own tree does not", "apart")):
        cells = [score["own_tree"][key] for score in results]
        if any(cells):
            lines.append(f"| {title} | | {' | '.join(map(counted_cell, cells))} |")
    for title, key in (("% of pairs with an unknown word", "unknown_percent"), ("% of pairs tied", "tied_percent")):
        lines.append(f"| {title} | | {' | '.join(format(score[key], '.1f') for score in results)} |")
    return "\n".join(lines)


def accuracy_cell(accuracy: Mapping[str, Any]) -> str:
    """Accuracy with its interval."""
    low, high = accuracy["interval"]
    return f"{accuracy['value']:.1f} [{round(low)}, {round(high)}]"


def counted_cell(accuracy: Mapping[str, Any] | None) -> str:
    """Accuracy with its interval and the number of pairs, or "" for None."""
    return f"{accuracy_cell(accuracy)} of {accuracy['pairs']:,}" if accuracy else ""


def main() -> None:
    """Train, score, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="for every training")
    for name, limit in COLLECTIONS.items():
        parser.add_argument(f"--{name}", type=int, default=limit, metavar="N", dest=name)
    options = parser.parse_args()
    for model in SCORED:
        train(model, options.minutes, options.data, options.runs, options.set)
    parts = [f"{processor()[0]}, one thread.", describe(SCORED, options.runs)]
    for name in COLLECTIONS:
        limit = getattr(options, name)
        rows = [row for model in SCORED for row in scores(name, limit, model, options.data, options.runs)]
        parts.append(table(rows, name))
    tables = "\n\n".join(parts)
    print(tables)


if __name__ == "__main__":
    main()
