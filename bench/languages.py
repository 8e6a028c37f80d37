"""Heads from raw text in many languages: a model beside the baselines `next` and `previous`.

``python bench/languages.py`` trains the preset on the text of each treebank (its training part, or where there is none
its own sentences), scores it under `udgn`, prints a table and writes ``bench/results/languages.json``. Treebanks come
from ``--data`` (folders ``ud/UD_…`` as Universal Dependencies name them, ``gum/dep``, ``craft/dep``,
``nltk_data/corpora/dependency_treebank.zip``); those that are not there are left out, with a word. ``--only``,
``--seeds``, ``--model``, ``--preset`` and ``--set`` choose. Seconds are of the processor, one thread.
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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from treebank.formats import read_sentences  # noqa: E402


@dataclass(frozen=True)
class Language:
    """A treebank: where its text and its gold heads are, below the data folder."""

    name: str
    text: str
    gold: tuple[str, ...]


UD = "ud/UD_{0}/{1}-ud-{2}.conllu"
BASE = ("next", "previous")
WSJ = "nltk_data/corpora/dependency_treebank.zip"


def pud(name: str, code: str) -> Language:
    """A treebank that has no training part."""
    own = UD.format(f"{name}-PUD", f"{code}_pud", "test")
    return Language(name, own, (own,))


def parts(name: str, treebank: str, code: str, packed: str = "") -> Language:
    """A treebank with training and development part."""
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


def synparse(arguments: Sequence[str]) -> tuple[str, float]:
    """What a command prints, and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(
        [sys.executable, "-m", "synparse", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"synparse {' '.join(arguments)}: {done.stderr.strip()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(language: Language, options: argparse.Namespace, data: Path) -> list[dict[str, Any]]:
    """Scores of the model, seed by seed, and of the baselines, on each gold file of a treebank."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        golds = [unpacked(data / one, folder) for one in language.gold]
        text = plain_text(golds[0] if language.text == language.gold[0] else data / language.text, folder)
        for seed in range(1, options.seeds + 1):
            train = ["train", str(text), "--model", options.model, "--seed", str(seed), "-o", str(folder / f"{seed}")]
            train += ["--preset", options.preset] if options.preset else []
            _, seconds = synparse([*train, *(part for change in options.set for part in ("--set", change))])
            for gold in golds:
                scores = ["eval", "--gold", str(gold), "-m", str(folder / f"{seed}"), "--convention", "udgn", "--json"]
                printed, scoring = synparse([*scores, "--baseline", "next", "--baseline", "previous"])
                systems: dict[str, dict[str, float]] = {}
                for score in json.loads(printed)["scores"]:
                    systems.setdefault(score["system"], {})[score["metric"]] = score["value"]
                label = f"{language.name} {gold.stem.rpartition('-')[2]}"
                rows.append({"data": label, "seed": seed, "train s": seconds, "eval s": scoring, "scores": systems})
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each gold file, UAS / UUAS, mean and deviation over seeds."""
    lines = ["| data | next | previous | model | seconds |", "| --- | --- | --- | --- | ---: |"]
    for name in dict.fromkeys(row["data"] for row in rows):
        own = [row for row in rows if row["data"] == name]
        cells = []
        for system in ("next", "previous", None):
            runs = [one_system(row["scores"], system) for row in own]
            cells.append(" / ".join(spread([run[metric] for run in runs]) for metric in ("UAS", "UUAS")))
        seconds = statistics.mean(row["train s"] for row in own)
        lines.append(f"| {name} | {' | '.join(cells)} | {seconds:.0f} |")
    return "\n".join(lines)


def one_system(scores: dict[str, dict[str, float]], name: str | None) -> dict[str, float]:
    """The scores of a baseline, or of the model."""
    return next(found for system, found in scores.items() if system == name or (not name and system not in BASE))


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
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for language in LANGUAGES:
        if options.only and not any(part.lower() in language.name.lower() for part in options.only):
            continue
        if missing := [one for one in (language.text, *language.gold) if not (options.data / one).exists()]:
            print(f"{language.name}: no {missing[0]} in {options.data}", file=sys.stderr)
            continue
        rows += measure(language, options, options.data)
        print(table([row for row in rows if row["data"].startswith(language.name)]), flush=True)
    (HERE / "results").mkdir(exist_ok=True)
    settings = {"model": options.model, "preset": options.preset, "set": options.set, "cores": os.cpu_count()}
    (HERE / "results" / "languages.json").write_text(json.dumps({**settings, "rows": rows}, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
