"""Scores of heads learned from raw text in many languages, next to the baselines `next` and `previous`.

``python -m bench.experiments.languages`` trains the preset on the text of each treebank (its training part or, without
one, its test part), scores it under `udgn`, and prints a table: docs/results/dependencies.md. Each score is stored in
``--out`` immediately, and the same command continues where it was stopped. Treebanks come from ``--data`` (folders
``ud/UD_…`` as in Universal Dependencies, ``gum/dep``, ``craft/dep``, the zip of nltk's dependency_treebank). A missing
treebank is left out with a message. ``--only``, ``--seeds``, ``--model``, ``--preset`` and ``--set`` select. Seconds
are CPU time of one thread.

``--student biaffine`` also trains that model as a student on the heads of each run, and scores the student and the
ensemble of both.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.common import experiment, repeated, spread, stored, synparse
from bench.report import markdown, slug


@dataclass(frozen=True)
class Language:
    """A treebank, with the paths of its text and its gold heads in the data folder."""

    name: str
    text: str
    gold: tuple[str, ...]


UD = "ud/UD_{0}/{1}-ud-{2}.conllu"
BASE = ("next", "previous")
METRICS = ("UAS", "UUAS")
WSJ = "nltk_data/corpora/dependency_treebank.zip"


def pud(name: str, code: str) -> Language:
    """Treebank of Parallel Universal Dependencies, which has only a test part."""
    path = UD.format(f"{name}-PUD", f"{code}_pud", "test")
    return Language(name, path, (path,))


def parts(name: str, treebank: str, code: str, packed: str = "") -> Language:
    """Treebank with a training part and a development part."""
    return Language(name, UD.format(treebank, code, "train") + packed, (UD.format(treebank, code, "dev"),))


EWT = parts("English EWT", "English-EWT", "en_ewt", ".gz")
LANGUAGES = (
    Language(EWT.name, EWT.text, (*EWT.gold, UD.format("English-EWT", "en_ewt", "test"))),
    Language("English WSJ", WSJ, (WSJ,)),
    Language("English GUM", "gum/dep/gum-train.conllu.gz", ("gum/dep/gum-dev.conllu",)),
    Language("English CRAFT", "raw/craft_train.txt.gz", ("craft/dep/craft-dev.conllu",)),
    parts("Turkish", "Turkish-IMST", "tr_imst", ".gz"),
    pud("Japanese", "ja"),
    parts("Vietnamese", "Vietnamese-VTB", "vi_vtb"),
    pud("Chinese", "zh"),
    pud("German", "de"),
    parts("Tamil", "Tamil-TTB", "ta_ttb"),
    pud("Finnish", "fi"),
)


def unpacked(path: Path, folder: Path) -> Path:
    """Write the .dp files of a zip archive to one file, and return its path. Other files stay as they are."""
    if path.suffix != ".zip":
        return path
    target = folder / (path.stem + ".dp")
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".dp"))
        target.write_text("\n\n".join(archive.read(name).decode().strip("\n") for name in names) + "\n")
    return target


@dataclass(frozen=True)
class Training:
    """Settings of every training: names of the model, of its preset and of its student, changes, and a time limit."""

    model: str
    preset: str
    student: str
    changes: Sequence[str]
    minutes: float | None

    def label(self) -> str:
        """Name of the folder of results with these settings."""
        parts = [self.model, self.preset, self.student, *self.changes, self.minutes and f"{self.minutes:g}"]
        return slug("-".join(filter(None, parts)))

    def run(self, text: Path, seed: int, folder: Path) -> tuple[list[Path], float]:
        """Train the model, and its student and the ensemble of both if there is one. Returns runs and CPU seconds."""
        run = folder / str(seed)
        train = ["train", str(text), "--seed", str(seed)]
        call = [*train, "--model", self.model, *(["--preset", self.preset] if self.preset else [])]
        call += ["--max-minutes", f"{self.minutes:g}"] if self.minutes else []
        _, seconds = synparse([*call, *repeated("--set", self.changes), "-o", str(run)])
        if not self.student:
            return [run], seconds
        student, vote = folder / f"{seed}-student", folder / f"{seed}-vote"
        call = [*train, "--model", self.student, "--teacher", str(run), "-o", str(student)]
        seconds += synparse(call)[1]
        synparse(["combine", str(run), str(student), "-o", str(vote)])
        return [run, student, vote], seconds


def measure(language: Language, training: Training, seed: int, data: Path) -> list[dict[str, Any]]:
    """Scores of the model and the baselines on each gold file of a treebank."""
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), []
        golds = [unpacked(data / path, folder) for path in language.gold]
        text = golds[0] if language.text == language.gold[0] else data / language.text
        models, seconds = training.run(text, seed, folder)
        named = [f"{name}={run}" for name, run in zip((training.model, "student", "vote"), models, strict=False)]
        for gold in golds:
            scores = ["eval", "--gold", str(gold), "--convention", "udgn", "--format", "json"]
            printed, _ = synparse([*scores, *repeated("-m", named), *repeated("--baseline", BASE)])
            systems: dict[str, dict[str, float]] = {}
            for score in json.loads(printed)["scores"]:
                systems.setdefault(score["system"], {})[score["metric"]] = score["value"]
            label = f"{language.name} {gold.stem.rpartition('-')[2]}"
            rows.append({"data": label, "train s": seconds, "scores": systems})
        return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown table with a row for each gold file: UAS / UUAS (mean and deviation over seeds) and mean seconds."""
    systems = list(dict.fromkeys((*BASE, *(system for row in rows for system in row["scores"]))))
    lines = []
    for name in dict.fromkeys(row["data"] for row in rows):
        group = [row for row in rows if row["data"] == name]
        cells = []
        for system in systems:
            runs = [row["scores"][system] for row in group if system in row["scores"]]
            cells.append(" / ".join(spread([run[metric] for run in runs]) for metric in METRICS) if runs else "")
        seconds = statistics.mean(row["train s"] for row in group)
        lines.append([name, *cells, f"{seconds:.0f}"])
    return markdown(["data", *systems, "seconds"], lines)


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = experiment(__doc__, "languages")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="treebanks whose name contains NAME"
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--model", default="dmv")
    parser.add_argument("--preset", default="")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE")
    parser.add_argument("--max-minutes", type=float, help="time limit of each training in minutes")
    parser.add_argument(
        "--student", default="", metavar="MODEL", help="student of the heads of each run: biaffine or udgn"
    )
    options = parser.parse_args()
    training = Training(options.model, options.preset, options.student, options.set, options.max_minutes)
    rows = []
    for language in LANGUAGES:
        if options.only and not any(part.lower() in language.name.lower() for part in options.only):
            continue
        if missing := [path for path in (language.text, *language.gold) if not (options.data / path).exists()]:
            print(f"{language.name}: no {missing[0]} in {options.data}", file=sys.stderr)
            continue
        for seed in range(1, options.seeds + 1):
            path = options.out / training.label() / f"{slug(language.name)}-{seed}.json"
            rows += stored(path, partial(measure, language, training, seed, options.data))
            print(f"{language.name}, seed {seed}: {rows[-1]['scores']}", file=sys.stderr, flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
