"""Minimal pairs scored by four types of model trained on one text: docs/results/language-models.md.

``python -m bench.experiments.pairs [--minutes 10] [--marvin-linzen 200] [--blimp 100]`` trains ``lstm``, ``onlstm``,
``prpn`` and ``udgn`` as `bench.experiments.pretraining` says, and scores each, next to a unigram and a 5-gram model of
the text, on the given number of pairs of each phenomenon. Existing trainings are not repeated, and neither are scores
that are newer than the model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.common import stored, synparse, weights_of
from bench.experiments.pretraining import MODELS, describe, options_of, text, train
from bench.report import markdown, processor, with_interval

SCORED = MODELS[:4]
COLLECTIONS = {"marvin-linzen": 200, "blimp": 100}  # pairs of each phenomenon
Score = dict[str, Any]


def scores(name: str, limit: int, model: str, data: Path, folder: Path) -> list[Score]:
    """Scores of a model on a collection. Those of the n-gram models precede the scores of the first model."""
    run = folder / model

    def compute() -> Any:
        call = ["pairs", name, "--folder", str(data / "syneval"), "--limit", str(limit), "--format", "json"]
        call += ["--ngram-text", str(text(data, folder))] if model == SCORED[0] else []
        return json.loads(synparse([*call, "-m", str(run)])[0])

    results: list[Score] = stored(folder / f"{model}-{name}-{limit}.json", compute, newer_than=weights_of(run))[
        "scores"
    ]
    return results


def table(results: Sequence[Score], title: str) -> str:
    """Markdown table with a row for each phenomenon (or group, if there are many) and a column for each system."""
    parts = "phenomena" if len(results[0]["phenomena"]) < 30 else "groups"
    rows = {name: [score[parts][name] for score in results] for name in results[0][parts]}
    if parts == "phenomena":
        rows |= {f"**{name}**": [score["groups"][name] for score in results] for name in results[0]["groups"]}
    rows["**all pairs**"] = [score["overall"] for score in results]
    lines = [[name, f"{cells[0]['pairs']:,}", *map(with_interval, cells)] for name, cells in rows.items()]
    lines.append(["**mean of phenomena**", "", *(f"{score['mean']:.1f}" for score in results)])
    lines.append(["without an unknown word", "", *(counted_cell(score["known"]) for score in results)])
    for name, key in (("own tree connects verb and subject", "connected"), ("own tree does not", "apart")):
        cells = [score["own_tree"][key] for score in results]
        lines += [[name, "", *map(counted_cell, cells)]] if any(cells) else []
    for name, key in (("% of pairs with an unknown word", "unknown_percent"), ("% of pairs tied", "tied_percent")):
        lines.append([name, "", *(f"{score[key]:.1f}" for score in results)])
    return markdown([title, "pairs", *(score["system"] for score in results)], lines)


def counted_cell(accuracy: Mapping[str, Any] | None) -> str:
    """Accuracy with its interval and the number of pairs, or "" for None."""
    return f"{with_interval(accuracy)} of {accuracy['pairs']:,}" if accuracy else ""


def main() -> None:
    """Train, score, print and write."""
    parser = options_of(__doc__, 10.0)
    for name, limit in COLLECTIONS.items():
        parser.add_argument(f"--{name}", type=int, default=limit, metavar="N", dest=name)
    options = parser.parse_args()
    for model in SCORED:
        train(model, options.minutes, options.data, options.out, options.set)
    print(f"{processor()[0]}, one thread.", describe(SCORED, options.out), sep="\n\n")
    for name in COLLECTIONS:
        limit = getattr(options, name)
        rows = [row for model in SCORED for row in scores(name, limit, model, options.data, options.out)]
        print("", table(rows, name), sep="\n")


if __name__ == "__main__":
    main()
