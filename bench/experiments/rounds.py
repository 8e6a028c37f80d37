"""UF1 of the two rounds of grammars of the recipe ``best``, by teacher: docs/results/ensembles.md.

``python -m bench.experiments.rounds --data FOLDER --out FOLDER [--only CORPUS…] [--passes ON-LSTM FIRST SECOND]``
trains with a fixed number of passes over the words of each corpus: ON-LSTMs, first grammars with and without them as
teachers, and second grammars taught by one first grammar, by one of each kind, or by the vote of four. It scores each,
the votes that one may choose, and a student. A finished run is not trained again, so the same command continues after
an interruption.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.common import DATA, RESULTS, set_options, spread, synparse, write_json
from bench.experiments.directions import CORPORA, TRIVIAL, uf1, write_corpus
from bench.report import markdown
from induce.recipes.recipe import read_recipe

PRIORS = {part.name: part.settings[0] for part in read_recipe("best").parts if part.settings}
ONLSTMS, TAUGHT, FREE = (1, 2), (1, 2), (3, 4, 5)  # seeds
SECOND = ("npcfg", "simple-pcfg")
VOTERS = {  # by vote: its members
    "vote of four first": ["first-taught-1", "first-taught-2", "first-free-3", "first-free-4"],
    "vote of second by one": ["second-by-one-npcfg", "second-by-one-simple-pcfg"],
    "vote of second by vote": ["second-by-vote-npcfg", "second-by-vote-simple-pcfg"],
}
VOTERS["vote of both rounds"] = [*VOTERS["vote of four first"], "second-by-two-simple-pcfg"]


@dataclass(frozen=True)
class Corpus:
    """Text, gold trees and folder of the runs of a corpus."""

    text: Path
    gold: Path
    folder: Path

    def train(self, run: str, preset: str, seed: int, passes: int, prior: str, *teachers: str) -> None:
        """Train a run, unless it is finished. Teachers are names of runs."""
        folder = self.folder / run
        if not (folder / "done").exists():
            settings = set_options([f"train.epochs={passes}", *([PRIORS[prior]] if prior else [])])
            options = [part for name in teachers for part in ("--teacher", str(self.folder / name))]
            begin = [str(self.text), "--preset", preset, "--seed", str(seed), *settings, *options]
            again = ["--resume"] if folder.exists() else begin
            synparse(["train", *again, "-o", str(folder)])
            (folder / "done").touch()

    def first(self, seed: int, passes: tuple[int, int, int]) -> None:
        """Train a first grammar, with an ON-LSTM if it has the seed of one."""
        if seed not in ONLSTMS:
            return self.train(f"first-free-{seed}", "npcfg-small", seed, passes[1], "first")
        teacher = f"onlstm-{seed}"
        self.train(teacher, "onlstm-small", seed, passes[0], "")
        by = [f"{teacher}@decoder=biased", f"{teacher}@decoder=unbiased"]
        return self.train(f"first-taught-{seed}", "npcfg-small", seed, passes[1], "first", *by)

    def vote(self, name: str) -> str:
        """Write a vote, and return the name of its run."""
        run = name.replace(" ", "-")
        synparse(["combine", *(str(self.folder / member) for member in VOTERS[name]), "-o", str(self.folder / run),
                  "--overwrite"])  # fmt: skip
        return run

    def score(self, *runs: str) -> str:
        """Mean UF1 of runs and its standard deviation."""
        return spread([next(iter(uf1(self.gold, "-m", str(self.folder / run)).values())) for run in runs])


def measure(corpus: Corpus, passes: tuple[int, int, int], cores: int) -> dict[str, str]:
    """Train all runs of a corpus, ``cores`` at a time, and return UF1 by row of the table."""
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(lambda seed: corpus.first(seed, passes), (*ONLSTMS, *FREE)))
        two = ["first-taught-1", "first-free-3"]
        teachers = {"one": two[:1], "two": two, "vote": [corpus.vote("vote of four first")]}

        def second(by: str, preset: str) -> None:
            corpus.train(f"second-by-{by}-{preset}", f"{preset}-small", 11, passes[2], "second", *teachers[by])

        list(pool.map(second, *zip(*((by, preset) for by in teachers for preset in SECOND), strict=True)))
    trivial = uf1(corpus.gold, *(part for name in TRIVIAL[:-1] for part in ("--baseline", name)))
    best = max(trivial, key=trivial.__getitem__)
    rows = {
        "best trivial": f"{trivial[best]:.1f} ({best})",
        "onlstm": corpus.score(*(f"onlstm-{seed}" for seed in ONLSTMS)),
        "first, taught": corpus.score(*(f"first-taught-{seed}" for seed in TAUGHT)),
        "first, not taught": corpus.score(*(f"first-free-{seed}" for seed in FREE)),
        **{run: corpus.score(run) for by in teachers for run in (f"second-by-{by}-{preset}" for preset in SECOND)},
        **{name: corpus.score(corpus.vote(name)) for name in VOTERS},
    }
    corpus.train("student", "chart-small", 1, 24, "", corpus.vote("vote of both rounds"))
    return rows | {"student of the vote": corpus.score("student")}


def main() -> None:
    """Measure, print and store the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=RESULTS / "rounds")
    parser.add_argument("--only", nargs="+", default=["CRAFT", "WSJ", "CESS", "Sinica"], choices=CORPORA)
    parser.add_argument("--passes", type=int, nargs=3, default=(8, 7, 8))
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    table: dict[str, dict[str, str]] = {}
    for name in options.only:
        text, gold, _ = write_corpus(CORPORA[name], options.data, options.out / name)
        table[name] = measure(Corpus(text, gold, options.out / name), tuple(options.passes), options.cores)
        write_json(options.out / "rounds.json", table)
    rows = next(iter(table.values()))
    print(markdown(["UF1", *table], [[row, *(scores[row] for scores in table.values())] for row in rows]))


if __name__ == "__main__":
    main()
