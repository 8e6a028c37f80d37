"""Minimal pairs by four kinds of model that learned from the same text: the tables of docs/pairs.md.

``python bench/pairs.py [--minutes 10] [--marvin-linzen 200] [--blimp 100] [--docs]`` trains ``lstm``, ``onlstm``,
``prpn`` and ``udgn`` as `bench.pretraining` says, scores each, beside a unigram and a 5-gram model of the text, on so
many pairs of each phenomenon, and with ``--docs`` puts the tables into the page. What is there already is not done
again: trainings, and scores of a model that was not trained on since.
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

from bench.languages import synparse, with_table  # noqa: E402
from bench.machine import processor  # noqa: E402
from bench.pretraining import DATA, MODELS, RUNS, describe, text, train  # noqa: E402
from treebank.base.atomic_write import write_whole  # noqa: E402

SCORED = MODELS[:4]
PAGE = HERE.parent / "docs" / "pairs.md"
COLLECTIONS = {"marvin-linzen": 200, "blimp": 100}  # pairs of each phenomenon
Score = dict[str, Any]


def scores(name: str, limit: int, model: str, data: Path, folder: Path) -> list[Score]:
    """The scores of a model on a collection, behind those of the n-gram models if it is the first."""
    path = folder / f"{model}-{name}-{limit}.json"
    weights = folder / model / "last" / "weights.safetensors"
    if not path.exists() or path.stat().st_mtime < weights.stat().st_mtime:
        call = ["pairs", name, "--folder", str(data / "syneval"), "--limit", str(limit), "--format", "json"]
        call += ["--ngram-text", str(text(data, folder))] if model == SCORED[0] else []
        write_whole(path, synparse([*call, "-m", str(folder / model)])[0].encode())
    found: list[Score] = json.loads(path.read_text(encoding="utf-8"))["scores"]
    return found


def table(found: Sequence[Score], title: str) -> str:
    """Markdown: a row for each phenomenon or, where these are many, each group of them; a column for each system."""
    parts = "phenomena" if len(found[0]["phenomena"]) < 30 else "groups"
    lines = [
        f"| {title} | pairs | {' | '.join(one['system'] for one in found)} |",
        "| --- |" + " ---: |" * (len(found) + 1),
    ]
    rows = {name: [one[parts][name] for one in found] for name in found[0][parts]}
    if parts == "phenomena":
        rows |= {f"**{name}**": [one["groups"][name] for one in found] for name in found[0]["groups"]}
    rows["**all pairs**"] = [one["overall"] for one in found]
    lines += [f"| {name} | {cells[0]['pairs']:,} | {' | '.join(map(shown, cells))} |" for name, cells in rows.items()]
    lines.append(f"| **mean of phenomena** | | {' | '.join(format(one['mean'], '.1f') for one in found)} |")
    lines.append(f"| without an unknown word | | {' | '.join(counted(one['known']) for one in found)} |")
    for title, key in (("own tree connects verb and subject", "connected"), ("own tree does not", "apart")):
        cells = [one["own_tree"][key] for one in found]
        if any(cells):
            lines.append(f"| {title} | | {' | '.join(map(counted, cells))} |")
    for title, key in (("% of pairs with an unknown word", "unknown_percent"), ("% of pairs tied", "tied_percent")):
        lines.append(f"| {title} | | {' | '.join(format(one[key], '.1f') for one in found)} |")
    return "\n".join(lines)


def shown(accuracy: Mapping[str, Any]) -> str:
    """An accuracy with its interval."""
    low, high = accuracy["interval"]
    return f"{accuracy['value']:.1f} [{round(low)}, {round(high)}]"


def counted(accuracy: Mapping[str, Any] | None) -> str:
    """An accuracy with its interval, and of how many pairs it is; nothing where there is none."""
    return f"{shown(accuracy)} of {accuracy['pairs']:,}" if accuracy else ""


def main() -> None:
    """Train, score, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="for every training")
    for name, limit in COLLECTIONS.items():
        parser.add_argument(f"--{name}", type=int, default=limit, metavar="N", dest=name)
    parser.add_argument("--docs", action="store_true", help=f"write the tables into {PAGE.name}")
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
    if options.docs:
        write_whole(PAGE, with_table(PAGE, f"\n{tables}\n", "bench/pairs.py").encode())


if __name__ == "__main__":
    main()
