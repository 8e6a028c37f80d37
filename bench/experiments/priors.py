"""UF1 of a vote of grammars with all priors of a recipe and without some, in every language.

``python -m bench.experiments.priors [--only CORPUS…]`` trains the first grammars of the recipe `best`, and
their teacher, on the text of each treebank. Their vote is scored with each list of priors. Runs and scores are stored
in ``--out``, and the same command continues after an interruption.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.common import repeated, stored, synparse
from bench.experiments.directions import CORPORA, corpus_experiment, uf1, uf1_of, write_corpus
from bench.experiments.strengths import write_recipe
from bench.report import markdown
from induce.recipes.recipe import read_recipe

RECIPE, PART, GRAMMARS = "best", "first", 4
BASELINES = ("right", "left")


@dataclass(frozen=True)
class Bench:
    """Folders, the recipe of the first grammars, and their priors by name, as texts ``NAME:STRENGTH``."""

    data: Path
    folder: Path
    recipe: Path
    priors: Mapping[str, str]

    def scores(self, name: str, minutes: float) -> dict[str, float]:
        """UF1 of the vote with each list of priors, and of trivial trees, for one treebank."""
        folder = self.folder / name
        text, gold, _ = write_corpus(CORPORA[name], self.data, folder)
        job = folder / "job"
        begin = ["--resume"] if job.exists() else [str(text), "--recipe", str(self.recipe)]
        synparse(["train", *begin, "-o", str(job), "--max-minutes", f"{minutes:g}"], all_cores=True)
        lists = {"all": list(self.priors.values())}
        for prior in self.priors:
            lists[f"no {prior}"] = [text for other, text in self.priors.items() if other != prior]
        result: dict[str, float] = {}
        for label, listed in {**lists, "none": []}.items():
            priors, vote = "+".join(listed) or "none", folder / "vote"
            members = [f"{job}/parts/{PART}-{number}@priors={priors}" for number in range(1, GRAMMARS + 1)]
            synparse(["combine", *members, "-o", str(vote), "--overwrite"])
            result[label] = uf1_of(gold, vote)
        return result | uf1(gold, *repeated("--baseline", BASELINES))


def first_grammars(folder: Path) -> tuple[Path, dict[str, str]]:
    """File in ``folder`` with the parts of the recipe up to the first grammars, and the priors of these, by name."""
    path = folder / "first.toml"
    write_recipe(path, ("segment-edges", PART))
    part = next(part for part in read_recipe(RECIPE).parts if part.name == PART)
    listed = part.settings[0].removeprefix("parse.priors=").split(",")
    return path, {prior.partition(":")[0]: prior for prior in listed}


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = corpus_experiment(__doc__, "priors")
    parser.add_argument("--minutes", type=float, default=14.0, help="wall-clock minutes of each training")
    options = parser.parse_args()
    bench = Bench(options.data, options.out, *first_grammars(options.out))
    results = {
        name: stored(options.out / f"{name}.json", lambda name=name: bench.scores(name, options.minutes))
        for name in options.only
    }
    columns = next(iter(results.values()))
    rows = [[name, *(f"{result[column]:.1f}" for column in columns)] for name, result in results.items()]
    print(markdown(["UF1", *columns], rows))


if __name__ == "__main__":
    main()
