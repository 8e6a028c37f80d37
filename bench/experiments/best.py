"""UF1 of the parts, the vote and the result of plain ``synparse train``: docs/results/ensembles.md.

``python -m bench.experiments.best [--only CORPORA…] [--words N] [--minutes M…] [--seeds N] [--out FOLDER]`` trains the
recipe on the words of each corpus on all cores, once for each time limit and seed. Without ``--minutes``, there is no
limit, and the load of the machine changes no score. ``--text TEXT --gold GOLD`` name another corpus. Runs and scores
are stored in FOLDER, and the same command continues after an interruption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path

from bench.common import repeated, stored, synparse
from bench.experiments.directions import CORPORA, TEXT_WORDS, corpus_experiment, uf1, write_corpus
from bench.report import markdown

#: Column -> the folders of its runs in that of a job
RUNS = {
    "segment-edges": ("parts/segment-edges-1",),
    "chart": ("parts/chart-1",),
    "first, taught": ("parts/first-1", "parts/first-2"),
    "first, free": ("parts/first-3", "parts/first-4"),
    "second": ("parts/second-1", "parts/second-2"),
    "third": ("parts/third-1", "parts/third-2"),
    "vote": ("parts/vote",),
    "result": (".",),
}


def train(text: Path, gold: Path, job: Path, seed: int, minutes: float) -> dict[str, float]:
    """Mean UF1 of the runs of each column, UF1 of the better trivial tree, and CPU minutes. 0 minutes: no limit."""
    begin = ["--resume"] if job.exists() else [str(text), "--seed", str(seed)]
    limit = ["--max-minutes", f"{minutes:g}"] if minutes else []
    _, seconds = synparse(["train", *begin, *limit, "-o", str(job)], all_cores=True)
    folders = [job / name for names in RUNS.values() for name in names if (job / name).exists()]
    scores = uf1(gold, *repeated("-m", folders), *repeated("--baseline", ("right", "left")))
    values = iter(scores.values())
    by_folder = dict(zip(folders, values, strict=False))
    result = {"trivial": max(values)}
    for column, names in RUNS.items():
        known = [by_folder[job / name] for name in names if job / name in by_folder]
        if known:
            result[column] = sum(known) / len(known)
    return result | {"CPU minutes": seconds / 60}


def row(result: Mapping[str, float]) -> list[str]:
    """The cells of a result. A part that was not trained has an empty one."""
    return [f"{result[column]:.1f}" if column in result else "" for column in ("trivial", *RUNS, "CPU minutes")]


def jobs(only: Sequence[str], data: Path, out: Path, words: int) -> dict[str, tuple[Path, Path]]:
    """Files with the text and the gold trees of each corpus, by the name of its folder in ``out``."""
    names = {name: f"{name}-{words}" for name in only}
    return {folder: write_corpus(CORPORA[name], data, out / folder, words)[:2] for name, folder in names.items()}


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = corpus_experiment(__doc__, "best")
    parser.add_argument("--words", type=int, default=TEXT_WORDS, help="of each corpus")
    parser.add_argument("--text", type=Path)
    parser.add_argument("--gold", type=Path)
    parser.add_argument("--minutes", type=float, nargs="+", default=[0.0], help="time limits (0: none)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    options = parser.parse_args()
    if options.text:
        corpora = {options.text.name: (options.text, options.gold)}
    else:
        corpora = jobs(options.only, options.data, options.out, options.words)
    rows = []
    for (name, (text, gold)), minutes, seed in product(corpora.items(), options.minutes, options.seeds):
        job = options.out / name / f"{minutes:g}-{seed}"
        result = stored(job.with_suffix(".json"), partial(train, text, gold, job, seed, minutes))
        rows.append([name, f"{minutes:g}", str(seed), *row(result)])
        print(" ".join(rows[-1]), flush=True)
    print(markdown(["text", "minutes", "seed", "trivial", *RUNS, "CPU minutes"], rows))


if __name__ == "__main__":
    main()
