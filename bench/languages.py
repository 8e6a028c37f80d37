"""Scores of heads learned from raw text in many languages, next to the baselines `next` and `previous`.

``python bench/languages.py`` trains the preset on the text of each treebank (its training part or, without one, its
test part), scores it under `udgn`, and prints a table. Each score is stored in ``bench/results/languages.json``
immediately: the same command continues where it was stopped, and ``--fresh`` starts from scratch. The tables are in
``docs/results/dependencies.md``. Treebanks come from ``--data`` (folders ``ud/UD_…`` as in Universal Dependencies,
``gum/dep``, ``craft/dep``, the zip of nltk's dependency_treebank). A missing treebank is left out with a message.
``--only``, ``--seeds``, ``--model``, ``--preset`` and ``--set`` select. Seconds are CPU time of one thread.

``--comparators`` adds columns of other models: plain DMV and eleven minutes of UDGN.

``--student biaffine`` also trains that model as a student on the heads of each run, and scores the student and the
ensemble of both.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "languages.json"
sys.path.insert(0, str(HERE.parent))

from treebank.base.atomic_write import write_whole  # noqa: E402
from treebank.io.read import read_sentences  # noqa: E402


@dataclass(frozen=True)
class Language:
    """A treebank, with the paths of its text and its gold heads in the data folder."""

    name: str
    text: str
    gold: tuple[str, ...]


UD = "ud/UD_{0}/{1}-ud-{2}.conllu"
BASE = ("next", "previous")
COMPARATORS: dict[str, dict[str, Any]] = {
    "plain DMV": {"model": "dmv", "preset": "dmv-plain", "set": []},
    "UDGN, 11 minutes": {"model": "udgn", "preset": "", "set": [], "minutes": 11.0},
}
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


def plain_text(path: Path, folder: Path) -> Path:
    """Write the words of a treebank with one sentence per line, and return the path. A text stays as it is."""
    if ".txt" in path.suffixes:
        return path
    target = folder / "text.txt"
    lines = (
        " ".join(word.replace(" ", "\u00a0") for word in sentence.words) for sentence in read_sentences([str(path)])
    )
    target.write_text("\n".join(lines) + "\n")
    return target


def synparse(arguments: Sequence[str], *, all_cores: bool = False) -> tuple[str, float]:
    """Standard output and CPU seconds of a command, run with one thread unless ``all_cores``.

    Raises SystemExit if the command fails.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    environment |= {} if all_cores else {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "synparse", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"synparse {' '.join(arguments)}: {done.stderr.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(
    language: Language, settings: Mapping[str, Any], seeds: int, data: Path, done: Collection[int] = ()
) -> Iterator[list[dict[str, Any]]]:
    """Scores of the model and the baselines on each gold file of a treebank, for each seed that is not ``done``."""
    if set(range(1, seeds + 1)) <= set(done):
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        golds = [unpacked(data / path, folder) for path in language.gold]
        text = plain_text(golds[0] if language.text == language.gold[0] else data / language.text, folder)
        for seed in range(1, seeds + 1):
            if seed in done:
                continue
            rows = []
            run = str(folder / f"{seed}")
            train = ["train", str(text), "--model", settings["model"], "--seed", str(seed), "-o", run]
            train += ["--preset", settings["preset"]] if settings["preset"] else []
            train += ["--max-minutes", str(settings["minutes"])] if settings["minutes"] else []
            _, seconds = synparse([*train, *(part for change in settings["set"] for part in ("--set", change))])
            models = [run]
            if settings["student"]:
                student, vote = f"{run}-student", f"{run}-vote"
                student_command = [
                    "train",
                    str(text),
                    "--model",
                    settings["student"],
                    "--teacher",
                    run,
                    "--seed",
                    str(seed),
                ]
                seconds += synparse([*student_command, "-o", student])[1]
                synparse(["combine", run, student, "-o", vote])
                models += [student, vote]
            for gold in golds:
                scores = ["eval", "--gold", str(gold), "--convention", "udgn", "--format", "json"]
                scores += [part for model in models for part in ("-m", model)]
                printed, scoring = synparse([*scores, "--baseline", "next", "--baseline", "previous"])
                systems: dict[str, dict[str, float]] = {}
                for score in json.loads(printed)["scores"]:
                    systems.setdefault(score["system"], {})[score["metric"]] = score["value"]
                label = f"{language.name} {gold.stem.rpartition('-')[2]}"
                rows.append({"data": label, "seed": seed, "train s": seconds, "eval s": scoring, "scores": systems})
            yield rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown table with a row for each gold file: UAS / UUAS (mean and deviation over seeds) and mean seconds."""
    systems = list(dict.fromkeys((*BASE, *(system for row in rows for system in row["scores"]))))
    lines = [f"| data | {' | '.join(systems)} | seconds |", "| --- " * (len(systems) + 1) + "| ---: |"]
    for name in dict.fromkeys(row["data"] for row in rows):
        group = [row for row in rows if row["data"] == name]
        cells = []
        for system in systems:
            runs = [row["scores"][system] for row in group if system in row["scores"]]
            both = (spread([run[metric] for run in runs]) for metric in ("UAS", "UUAS"))
            cells.append(" / ".join(both) if runs else "")
        seconds = statistics.mean(row["train s"] for row in group if "train s" in row)
        lines.append(f"| {name} | {' | '.join(cells)} | {seconds:.0f} |")
    return "\n".join(lines)


def collect(settings: Mapping[str, Any], options: argparse.Namespace, results: Path) -> list[dict[str, Any]]:
    """Scores stored in ``results``, and newly measured ones for all other treebanks and seeds."""
    rows = [] if options.fresh else stored_rows(settings, results)
    if rows:
        print(f"{len(rows)} scores are stored already (--fresh discards them)", file=sys.stderr)
    for language in LANGUAGES:
        if options.only and not any(part.lower() in language.name.lower() for part in options.only):
            continue
        if missing := [path for path in (language.text, *language.gold) if not (options.data / path).exists()]:
            print(f"{language.name}: no {missing[0]} in {options.data}", file=sys.stderr)
            continue
        done = {row["seed"] for row in rows if row["data"].startswith(language.name)}
        for fresh in measure(language, settings, options.seeds, options.data, done):
            rows += fresh
            results.parent.mkdir(exist_ok=True)
            write_whole(results, (json.dumps({**settings, "rows": rows}, indent=1) + "\n").encode())
        print(table([row for row in rows if row["data"].startswith(language.name)]), flush=True)
    return rows


def results_of(name: str) -> Path:
    """Path of the stored scores, with ``name`` for a student or a comparator."""
    return RESULTS.with_stem(f"{RESULTS.stem}-{name}") if name else RESULTS


def stored_rows(settings: Mapping[str, Any], results: Path) -> list[dict[str, Any]]:
    """Scores of an earlier call with the same settings, or an empty list."""
    if not results.exists():
        return []
    content = json.loads(results.read_text())
    rows: list[dict[str, Any]] = content.pop("rows")
    return rows if {name: content.get(name) for name in settings} == settings else []


def in_order(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Scores in the order of `LANGUAGES`."""
    names = [language.name for language in LANGUAGES]
    return sorted(rows, key=lambda row: next(index for index, name in enumerate(names) if row["data"].startswith(name)))


def spread(values: Sequence[float]) -> str:
    """Mean, and standard deviation if it is not 0."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.1f}" + (f" ± {deviation:.1f}" if deviation else "")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="treebanks whose name contains NAME"
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--model", default="dmv")
    parser.add_argument("--preset", default="")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE")
    parser.add_argument("--max-minutes", type=float, dest="minutes", help="time limit of each training in minutes")
    parser.add_argument("--comparators", action="store_true", help="plain DMV and UDGN as further columns")
    parser.add_argument("--fresh", action="store_true", help="discard the stored scores")
    parser.add_argument(
        "--student", default="", metavar="MODEL", help="student of the heads of each run: biaffine or udgn"
    )
    options = parser.parse_args()
    settings = {name: getattr(options, name) for name in ("model", "preset", "set", "student", "minutes")}
    rows = collect(settings, options, results_of(options.student))
    names = {row["data"] for row in rows}
    for name, changes in COMPARATORS.items() if options.comparators else ():
        results = results_of(name.partition(",")[0].replace(" ", "-"))
        others = collect({**settings, **changes, "student": ""}, options, results)
        columns = (dict(row, scores={name: row["scores"][changes["model"]]}) for row in others if row["data"] in names)
        rows += [{key: value for key, value in row.items() if key != "train s"} for row in columns]
    print(table(in_order(rows)))


if __name__ == "__main__":
    main()
