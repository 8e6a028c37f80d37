"""Scores of heads learned from raw text in many languages, next to the baselines `next` and `previous`.

``python -m bench.experiments.languages`` trains the preset on the text of each treebank (its training part or, without
one, its test part), scores it under `udgn`, and prints a table. Each score is stored in
``bench/results/languages.json`` immediately: the same command continues where it was stopped, and ``--fresh`` starts
from scratch. The tables are in ``docs/results/dependencies.md``. Treebanks come from ``--data`` (folders ``ud/UD_…`` as
in Universal Dependencies, ``gum/dep``, ``craft/dep``, the zip of nltk's dependency_treebank). A missing treebank is
left out with a message. ``--only``, ``--seeds``, ``--model``, ``--preset`` and ``--set`` select. Seconds are CPU time
of one thread.

``--student biaffine`` also trains that model as a student on the heads of each run, and scores the student and the
ensemble of both.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.common import DATA, RESULTS, model_options, read_json, set_options, spread, synparse, write_json
from bench.report import markdown
from treebank.io.read import read_sentences


@dataclass(frozen=True)
class Language:
    """A treebank, with the paths of its text and its gold heads in the data folder."""

    name: str
    text: str
    gold: tuple[str, ...]


UD = "ud/UD_{0}/{1}-ud-{2}.conllu"
BASE = ("next", "previous")
METRICS = ("UAS", "UUAS")
SCORES = RESULTS / "languages.json"
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
            _, seconds = synparse([*train, *set_options(settings["set"])])
            models = [run]
            if settings["student"]:
                student, vote = f"{run}-student", f"{run}-vote"
                command = ["train", str(text), "--model", settings["student"], "--teacher", run, "--seed", str(seed)]
                seconds += synparse([*command, "-o", student])[1]
                synparse(["combine", run, student, "-o", vote])
                models += [student, vote]
            for gold in golds:
                scores = ["eval", "--gold", str(gold), "--convention", "udgn", "--format", "json"]
                baselines = [part for name in BASE for part in ("--baseline", name)]
                printed, scoring = synparse([*scores, *model_options(models), *baselines])
                systems: dict[str, dict[str, float]] = {}
                for score in json.loads(printed)["scores"]:
                    systems.setdefault(score["system"], {})[score["metric"]] = score["value"]
                label = f"{language.name} {gold.stem.rpartition('-')[2]}"
                rows.append({"data": label, "seed": seed, "train s": seconds, "eval s": scoring, "scores": systems})
            yield rows


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
            write_json(results, {**settings, "rows": rows})
        print(table([row for row in rows if row["data"].startswith(language.name)]), flush=True)
    return rows


def results_of(name: str) -> Path:
    """Path of the stored scores, with ``name`` for a student."""
    return SCORES.with_stem(f"{SCORES.stem}-{name}") if name else SCORES


def stored_rows(settings: Mapping[str, Any], results: Path) -> list[dict[str, Any]]:
    """Scores of an earlier call with the same settings, or an empty list."""
    content = read_json(results) or {}
    return content["rows"] if settings.items() <= content.items() else []


def in_order(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Scores in the order of `LANGUAGES`."""
    names = [language.name for language in LANGUAGES]
    return sorted(rows, key=lambda row: next(index for index, name in enumerate(names) if row["data"].startswith(name)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="treebanks whose name contains NAME"
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--model", default="dmv")
    parser.add_argument("--preset", default="")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE")
    parser.add_argument("--max-minutes", type=float, dest="minutes", help="time limit of each training in minutes")
    parser.add_argument("--fresh", action="store_true", help="discard the stored scores")
    parser.add_argument(
        "--student", default="", metavar="MODEL", help="student of the heads of each run: biaffine or udgn"
    )
    options = parser.parse_args()
    settings = {name: getattr(options, name) for name in ("model", "preset", "set", "student", "minutes")}
    rows = collect(settings, options, results_of(options.student))
    print(table(in_order(rows)))


if __name__ == "__main__":
    main()
