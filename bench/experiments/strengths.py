"""UF1 of votes by the strength of `segment-edges`, and the strength that the text suggests, in every language.

``python -m bench.experiments.strengths [--only CORPUS…] [--words N]`` trains the grammars of the recipe `best`
on the text of each treebank, and scores their vote with each strength of their prior. The perplexity of grammars with
a teacher, relative to that of those without, gives the estimate. Runs and scores are stored in ``--out``, and the same
command continues after an interruption. Table: docs/results/ensembles.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.common import read_json, stored, synparse
from bench.experiments.directions import CORPORA, TEXT_WORDS, corpus_experiment, uf1_of, write_corpus
from bench.report import markdown
from induce.recipes.recipe import SHIPPED, read_recipe

RECIPE, PRIOR, STRENGTHS = "best", "segment-edges", (0.1, 0.25, 0.5, 1.0, 2.0)
GRAMMARS = ("first", "second")


def write_recipe(path: Path, names: Sequence[str]) -> None:
    """Write the recipe with these parts alone, whose vote is the result."""
    text, costs = (SHIPPED / f"{RECIPE}.toml").read_text(encoding="utf-8").split("\n[costs]")
    head, *parts = text.split("[[part]]")
    head = re.sub(r"^(small_text_\w+|result) .*\n", "", head, flags=re.MULTILINE)
    used = [part for part in parts if any(f'name = "{name}"' in part for name in names)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[[part]]".join([head, *used]) + f"\n[costs]{costs}", encoding="utf-8")


def members(job: Path, strength: float) -> list[str]:
    """The grammars of ``job`` with the priors of the recipe and this ``strength``."""
    result = []
    for part in (part for part in read_recipe(RECIPE).parts if part.name in GRAMMARS):
        priors = part.settings[0].removeprefix("parse.priors=").replace(",", "+")
        priors = re.sub(rf"{PRIOR}:[\d.]+", f"{PRIOR}:{strength:g}", priors)
        result += [f"{job}/parts/{part.name}-{number}@priors={priors}" for number in range(1, part.count + 1)]
    return result


def measure(name: str, data: Path, folder: Path, words: int, minutes: float) -> dict[str, Any]:
    """Estimated strength, with the line that reports it, and UF1 by strength and of the teacher, for one treebank."""
    text, gold, _ = write_corpus(CORPORA[name], data, folder, words)
    job, vote = folder / "job", folder / "vote"
    write_recipe(folder / "grammars.toml", (PRIOR, *GRAMMARS))
    begin = ["--resume"] if job.exists() else [str(text), "--recipe", str(folder / "grammars.toml")]
    synparse(["train", *begin, "-o", str(job), "--max-minutes", f"{minutes:g}"], all_cores=True)
    plan = read_json(job / "plan.json")
    scores = {PRIOR: uf1_of(gold, job / "parts" / f"{PRIOR}-1")}
    for strength in STRENGTHS:
        synparse(["combine", *members(job, strength), "-o", str(vote), "--overwrite"])
        scores[f"{strength:g}"] = uf1_of(gold, vote)
    evidence = next(line for line in plan["log"] if line.startswith("perplexity") and "without" in line)
    return {"strength": plan["strength"], "evidence": evidence, "scores": scores}


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = corpus_experiment(__doc__, "strengths")
    parser.add_argument("--words", type=int, default=TEXT_WORDS, help="of each text")
    parser.add_argument("--minutes", type=float, default=14.0, help="wall-clock minutes of each training")
    options = parser.parse_args()
    rows = []
    for name in options.only:
        folder = options.out / f"{name}-{options.words}"
        compute = partial(measure, name, options.data, folder, options.words, options.minutes)
        result = stored(folder / "result.json", compute)
        values = [f"{value:.1f}" for value in result["scores"].values()]
        rows.append([name, *values, f"{result['strength']:g}", result["evidence"]])
    print(markdown(["UF1", PRIOR, *(f"{strength:g}" for strength in STRENGTHS), "estimate", "evidence"], rows))


if __name__ == "__main__":
    main()
