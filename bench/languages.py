"""Heads from raw text in many languages: a model beside the baselines `next` and `previous`.

``python bench/languages.py`` trains the preset on the text of each treebank (its training part, or where there is none
its own sentences), scores it under `udgn`, and prints a table. Each score is kept in ``bench/results/languages.json``
as soon as it is there: the same command goes on where it was stopped, ``--fresh`` begins anew. ``--docs`` writes the
table into ``docs/models/dmv.md``, between the comments that name this program. Treebanks come from ``--data`` (folders
``ud/UD_…`` as Universal Dependencies name them, ``gum/dep``, ``craft/dep``, the zip of nltk's dependency_treebank);
those that are not there are left out, with a word. ``--only``, ``--seeds``, ``--model``, ``--preset`` and ``--set``
choose. Seconds are of the processor, one thread.

``--comparators`` adds columns of others: plain DMV and eleven minutes of UDGN.

``--pupil biaffine`` also trains that model on the heads of each run, and scores it and the vote of both; ``--docs``
then writes into ``docs/models/biaffine.md``.
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
    """A treebank: where its text and its gold heads are, below the data folder."""

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
    """A treebank that has no training part."""
    own = UD.format(f"{name}-PUD", f"{code}_pud", "test")
    return Language(name, own, (own,))


def parts(name: str, treebank: str, code: str, packed: str = "") -> Language:
    """A treebank with training and development part."""
    return Language(name, UD.format(treebank, code, "train") + packed, (UD.format(treebank, code, "dev"),))


PAGES = HERE.parent / "docs" / "models"

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
    """A zip of .dp files as one file."""
    if path.suffix != ".zip":
        return path
    target = folder / (path.stem + ".dp")
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".dp"))
        target.write_text("\n\n".join(archive.read(name).decode().strip("\n") for name in names) + "\n")
    return target


def plain_text(path: Path, folder: Path) -> Path:
    """The words of a treebank, a sentence a line; a text stays as it is."""
    if ".txt" in path.suffixes:
        return path
    target = folder / "text.txt"
    lines = (" ".join(word.replace(" ", "\u00a0") for word in one.words) for one in read_sentences([str(path)]))
    target.write_text("\n".join(lines) + "\n")
    return target


def synparse(arguments: Sequence[str], *, all_cores: bool = False) -> tuple[str, float]:
    """What a command prints, and its processor seconds; it has one thread, unless it shall use ``all_cores``."""
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
    """Scores of the model and of the baselines on each gold file of a treebank, seed by seed but for those ``done``."""
    if set(range(1, seeds + 1)) <= set(done):
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        golds = [unpacked(data / one, folder) for one in language.gold]
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
            if settings["pupil"]:
                pupil, vote = f"{run}-pupil", f"{run}-vote"
                taught = ["train", str(text), "--model", settings["pupil"], "--teacher", run, "--seed", str(seed)]
                seconds += synparse([*taught, "-o", pupil])[1]
                synparse(["combine", run, pupil, "-o", vote])
                models += [pupil, vote]
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
    """Markdown: a line for each gold file, UAS / UUAS, mean and deviation over seeds; seconds of the rows that have
    them."""
    systems = list(dict.fromkeys((*BASE, *(system for row in rows for system in row["scores"]))))
    lines = [f"| data | {' | '.join(systems)} | seconds |", "| --- " * (len(systems) + 1) + "| ---: |"]
    for name in dict.fromkeys(row["data"] for row in rows):
        own = [row for row in rows if row["data"] == name]
        cells = []
        for system in systems:
            runs = [row["scores"][system] for row in own if system in row["scores"]]
            both = (spread([run[metric] for run in runs]) for metric in ("UAS", "UUAS"))
            cells.append(" / ".join(both) if runs else "")
        seconds = statistics.mean(row["train s"] for row in own if "train s" in row)
        lines.append(f"| {name} | {' | '.join(cells)} | {seconds:.0f} |")
    return "\n".join(lines)


def collect(settings: Mapping[str, Any], options: argparse.Namespace, results: Path) -> list[dict[str, Any]]:
    """The scores that are kept in ``results``, and those that are not there yet."""
    rows = [] if options.fresh else kept(settings, results)
    if rows:
        print(f"{len(rows)} scores were there already (--fresh forgets them)", file=sys.stderr)
    for language in LANGUAGES:
        if options.only and not any(part.lower() in language.name.lower() for part in options.only):
            continue
        if missing := [one for one in (language.text, *language.gold) if not (options.data / one).exists()]:
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
    """Where scores are kept; those of a pupil and of a comparator by themselves."""
    return RESULTS.with_stem(f"{RESULTS.stem}-{name}") if name else RESULTS


def kept(settings: Mapping[str, Any], results: Path) -> list[dict[str, Any]]:
    """The scores of an earlier call with these settings; none if there was none."""
    if not results.exists():
        return []
    content = json.loads(results.read_text())
    rows: list[dict[str, Any]] = content.pop("rows")
    return rows if {name: content.get(name) for name in settings} == settings else []


def with_table(page: Path, lines: str, program: str) -> str:
    """What is in ``page``, with these ``lines`` where the table of ``program`` stands."""
    begin, end = f"<!-- {program} -->", "<!-- end -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, last, after = rest.partition(end)
    if not (found and last):
        raise SystemExit(f"{page}: the table stands between {begin} and {end}, which are not there")
    return f"{before}{begin}\n{lines}\n{end}{after}"


def in_order(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Scores in the order of `LANGUAGES`."""
    names = [language.name for language in LANGUAGES]
    return sorted(rows, key=lambda row: next(place for place, name in enumerate(names) if row["data"].startswith(name)))


def spread(values: Sequence[float]) -> str:
    """Mean, and deviation where there is one."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.1f}" + (f" ± {deviation:.1f}" if deviation else "")


def main() -> None:
    """Print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="treebanks whose name holds this")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--model", default="dmv")
    parser.add_argument("--preset", default="")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE")
    parser.add_argument("--max-minutes", type=float, dest="minutes", help="of each training")
    parser.add_argument("--comparators", action="store_true", help="plain DMV and UDGN as further columns")
    parser.add_argument("--fresh", action="store_true", help="forget the scores that are there")
    parser.add_argument("--docs", action="store_true", help="write the table into the model's page")
    parser.add_argument(
        "--pupil", default="", metavar="MODEL", help="that learns the heads of each run: biaffine, udgn"
    )
    options = parser.parse_args()
    settings = {name: getattr(options, name) for name in ("model", "preset", "set", "pupil", "minutes")}
    rows = collect(settings, options, results_of(options.pupil))
    names = {row["data"] for row in rows}
    for name, changes in COMPARATORS.items() if options.comparators else ():
        results = results_of(name.partition(",")[0].replace(" ", "-"))
        others = collect({**settings, **changes, "pupil": ""}, options, results)
        found = (dict(row, scores={name: row["scores"][changes["model"]]}) for row in others if row["data"] in names)
        rows += [{key: value for key, value in row.items() if key != "train s"} for row in found]
    print(table(in_order(rows)))
    if options.docs:
        page = PAGES / ("biaffine.md" if options.pupil else "dmv.md")
        write_whole(page, with_table(page, table(in_order(rows)), "bench/languages.py").encode())


if __name__ == "__main__":
    main()
