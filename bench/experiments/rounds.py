"""UF1 of the two rounds of grammars of the recipe ``best``, by first teacher and by prior: docs/results/ensembles.md.

``python -m bench.experiments.rounds TEXT --gold GOLD --out FOLDER [--share 0.7] [--minutes 7]`` trains an ON-LSTM for
so many minutes of one core, and ``segment-edges``; two first grammars with each of them as teacher, and two without;
and second grammars, each taught by a first grammar with a teacher and one without. ``--share`` is that of the sentences
which the grammars learn from, ``--strength`` that of the prior ``segment-edges`` while they teach. Each grammar and
each vote is scored, the votes with several strengths. A finished run is not trained again, so the same command
continues after an interruption.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.common import repeated, spread, synparse
from bench.experiments.directions import uf1_of
from bench.report import markdown
from induce.recipes.recipe import read_recipe

PARTS = {part.name: part for part in read_recipe("best").parts}
TEACHERS = ("onlstm", "segment-edges", "free")
SEEDS = (1, 2)
STRENGTHS = (0.1, 0.25, 0.5, 1.0)
PRIOR = "segment-edges:"


@dataclass(frozen=True)
class Corpus:
    """Text, gold trees and folder of the runs of a corpus, and the share of the text that grammars learn from."""

    text: Path
    gold: Path
    folder: Path
    share: float

    def train(self, run: str, *options: str) -> None:
        """Train a run, unless it is finished."""
        folder = self.folder / run
        if not (folder / "done").exists():
            again = ["--resume"] if folder.exists() else [str(self.text), *options]
            synparse(["train", *again, "-o", str(folder)])
            (folder / "done").touch()

    def grammar(self, part: str, run: str, seed: int, teachers: tuple[str, ...], strength: float) -> None:
        """Train a grammar as the recipe does in ``part``, with another strength of the prior in decoding."""
        preset, passes, (_, *changes) = PARTS[part].presets[0], PARTS[part].max_passes, PARTS[part].settings
        settings = [*changes, f"train.epochs={passes}", "loader.longer=3", f"data.text_share={self.share:g}"]
        settings += [f"parse.priors={priors(part, strength)}"]
        options = repeated("--set", settings) + repeated("--teacher", [self.folder / name for name in teachers])
        self.train(run, "--preset", preset, "--seed", str(seed), *options)

    def rounds(self, teacher: str, seed: int, strength: float) -> None:
        """Train a first grammar and, unless it is free, the second grammar that it teaches with a free one."""
        decoders = ("biased", "unbiased") if teacher == "onlstm" else ()
        teachers = tuple(f"{teacher}@decoder={name}" for name in decoders) or (teacher,)
        first = f"first-{teacher}-{seed}"
        self.grammar("first", first, seed, teachers if teacher != "free" else (), strength)
        if teacher != "free":
            self.grammar("second", f"second-{teacher}-{seed}", 10 + seed, (first, f"first-free-{seed}"), strength)

    def vote(self, teacher: str, strength: float) -> str:
        """Write the vote of six grammars, and return its name."""
        names = [f"first-{teacher}-{seed}" for seed in SEEDS] + [f"first-free-{seed}" for seed in SEEDS]
        names += [f"second-{teacher}-{seed}" for seed in SEEDS]
        members = [f"{self.folder / name}@priors={at(name.partition('-')[0], strength)}" for name in names]
        run = f"vote-{teacher}-{strength:g}"
        synparse(["combine", *members, "-o", str(self.folder / run), "--overwrite"])
        return run

    def score(self, *runs: str) -> str:
        """Mean UF1 of runs and its standard deviation."""
        return spread([uf1_of(self.gold, self.folder / run) for run in runs])


def priors(part: str, strength: float) -> str:
    """The priors of a part of the recipe with another ``strength`` of `PRIOR`."""
    shipped = PARTS[part].settings[0].partition("=")[2].split(",")
    return ",".join(f"{PRIOR}{strength:g}" if name.startswith(PRIOR) else name for name in shipped)


def at(part: str, strength: float) -> str:
    """The `priors` of a part, in the form that follows the path of a model."""
    return priors(part, strength).replace(",", "+")


def main() -> None:
    """Train, score and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--gold", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", type=float, default=0.7)
    parser.add_argument("--minutes", type=float, default=7.0)
    parser.add_argument("--strength", type=float, default=0.5, help="of the prior while grammars teach")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    corpus = Corpus(options.text, options.gold, options.out, options.share)
    corpus.train("onlstm", "--preset", "onlstm-small", "--max-minutes", str(options.minutes))
    corpus.train("segment-edges", "--preset", "segment-edges-small")
    with ThreadPoolExecutor(options.cores) as pool:
        for teacher in reversed(TEACHERS):
            list(pool.map(lambda seed, name=teacher: corpus.rounds(name, seed, options.strength), SEEDS))
    rows = []
    for teacher in TEACHERS:
        first, second = ([f"{part}-{teacher}-{seed}" for seed in SEEDS] for part in ("first", "second"))
        scores = [corpus.score(teacher), corpus.score(*first), corpus.score(*second)] if teacher != "free" else []
        rows.append([teacher, *(scores or ["", corpus.score(*first), ""])])
    print(markdown(["teacher", "alone", "first", "second"], rows))
    votes = [[teacher, *(corpus.score(corpus.vote(teacher, s)) for s in STRENGTHS)] for teacher in TEACHERS[:2]]
    print(markdown(["vote of six", *map(str, STRENGTHS)], votes))


if __name__ == "__main__":
    main()
