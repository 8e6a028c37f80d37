"""UF1 by minutes of training: each type of model, grammars that learn from trees, and their ensemble.

``python -m bench.experiments.trees [TEXT --gold GOLD] [--minutes 5 20 60 180] [--seeds 3] [--only KIND…] [--out
FOLDER]`` goes from a text to scores in one run. Every KIND of model is trained from each seed, and scored (UF1,
convention ``on-lstm``) after each number of minutes:

- ``focused`` is a grammar that starts from the trees of the ON-LSTM of the same seed; ``second`` and ``second-simple``
  are grammars that start from the trees of ``focused``; ``vote`` is the ensemble of these three.
- ``chart`` is a chart parser that learns the trees of ``second``.
- ``best`` is the result of ``synparse train --best`` with the same number of minutes.

``--only`` selects some of these; students and ensembles need their teachers and members. Without TEXT, the program is
tested briefly on the built-in sample. It prints a table and stores it in ``OUT/trees.json``. Runs stay in FOLDER, and a
second call continues where the first one stopped. Each training has one core, but ``best`` has all cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.common import RESULTS, read_json, set_options, spread, synparse, write_json
from bench.report import describe, markdown
from induce.recipes.recipe import read_recipe

MINUTES = (5.0, 20.0, 60.0, 180.0)
KINDS = {"onlstm": "onlstm-small", "prpn": "prpn-small", "npcfg": "npcfg-small", "simple-pcfg": "simple-pcfg-small"}
STUDENTS = {  # by name: preset and teachers
    "focused": ("npcfg-small", ("onlstm-{seed}@decoder=biased", "onlstm-{seed}@decoder=unbiased")),
    "second": ("npcfg-small", ("focused-{seed}",)),
    "second-simple": ("simple-pcfg-small", ("focused-{seed}",)),
    "chart": ("chart-small", ("second-{seed}",)),
}
VOTERS = ("focused", "second", "second-simple")
PRIORS = read_recipe("best").parts[2].settings[0].partition("=")[2]  # of the grammars that vote
SIDE = "right"  # branching direction of the text; `synparse train --best` determines it
VOTE, BEST = "vote", "best"
BASELINES = ("right", "left", "balanced", "oracle")
Row = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """Text, gold trees, minutes, seeds and models to measure, with the folder of the runs."""

    text: Sequence[str]
    gold: str
    minutes: Sequence[float]
    seeds: Sequence[int]
    out: Path
    settings: Sequence[str]  # of every training
    kinds: Sequence[str]  # models to train; an ensemble needs all its members

    def run(self, kind: str, seed: int) -> Path:
        return self.out / f"{kind}-{seed}"


def train(plan: Plan, kind: str, seed: int, minutes: float) -> float:
    """Train a run up to ``minutes`` in total, and return the CPU seconds of this call."""
    run = plan.run(kind, seed)
    if (run / "last").exists():
        left = minutes - seconds_of(run) / 60
        return synparse(["train", "--resume", "-o", str(run), "--max-minutes", f"{left:g}"])[1] if left > 0 else 0.0
    preset, teachers = STUDENTS.get(kind) or (KINDS[kind], ())
    begin = ["train", *plan.text, "--preset", preset, "--seed", str(seed), "-o", str(run)]
    begin += [part for name in teachers for part in ("--teacher", str(plan.out / name.format(seed=seed)))]
    prefix = "prefix-symbols:2," if kind == "focused" else ""
    priors = [f"parse.branching={SIDE}", f"parse.priors={prefix}{PRIORS}"] if kind in VOTERS else []
    begin += set_options([*priors, *plan.settings])
    return synparse([*begin, "--max-minutes", f"{minutes:g}"])[1]


def seconds_of(run: Path) -> float:
    """Training time of a run in seconds."""
    return float(read_json(run / "last" / "checkpoint.json").get("seconds", 0.0))


def score(plan: Plan, *systems: str) -> dict[str, float]:
    """UF1 of baselines and runs, by name."""
    options = [part for name in systems for part in (("-m", name) if Path(name).is_dir() else ("--baseline", name))]
    command = ["eval", "--gold", plan.gold, "--convention", "on-lstm", "--format", "json", *options]
    printed, _ = synparse(command, all_cores=True)
    return {entry.get("model") or entry["system"]: entry["value"] for entry in json.loads(printed)["scores"]}


def measure(plan: Plan, rows: list[Row]) -> None:
    """Add a row for every missing score, and write the results after each."""
    done = {(row["kind"], row["seed"], row["minutes"]) for row in rows}

    def note(kind: str, seed: int, minutes: float, value: float, processor: float) -> None:
        rows.append({"kind": kind, "seed": seed, "minutes": minutes, "UF1": value, "processor s": processor})
        print(f"{kind} {seed}, {minutes:g} minutes: {value:.1f}", file=sys.stderr, flush=True)
        write(plan, rows)

    if (BASELINES[0], 0, 0.0) not in done:
        for name, value in score(plan, *BASELINES).items():
            note(name, 0, 0.0, value, 0.0)
    for minutes in plan.minutes:
        for seed in plan.seeds:
            for kind in (*KINDS, *STUDENTS):
                if kind in plan.kinds and (kind, seed, minutes) not in done:
                    processor = train(plan, kind, seed, minutes)
                    note(kind, seed, minutes, score(plan, run := str(plan.run(kind, seed)))[run], processor)
            if VOTE in plan.kinds and (VOTE, seed, minutes) not in done:
                run = str(plan.run(VOTE, seed))
                members = [str(plan.run(kind, seed)) for kind in VOTERS]
                synparse(["combine", *members, "-o", run, "--overwrite"])
                note(VOTE, seed, minutes, score(plan, run)[run], 0.0)
            if BEST in plan.kinds and (BEST, seed, minutes) not in done and not plan.settings:
                run = str(plan.out / f"{BEST}-{minutes:g}-{seed}")
                again = ["--resume"] if Path(run).exists() else [*plan.text, "--seed", str(seed)]
                command = ["train", *again, "--best", "--max-minutes", f"{minutes:g}", "-o", run]
                _, processor = synparse(command, all_cores=True)
                note(BEST, seed, minutes, score(plan, run)[run], processor)


def table(rows: Sequence[Row]) -> str:
    """Markdown table by model and minutes: mean ± deviation over seeds."""
    columns = sorted({row["minutes"] for row in rows if row["minutes"]})
    lines = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        scores: dict[float, list[float]] = {minutes: [] for minutes in (0.0, *columns)}
        for row in rows:
            if row["kind"] == kind:
                scores[row["minutes"]].append(row["UF1"])
        lines.append([kind, *(spread(scores[0.0] or scores[minutes]) for minutes in columns)])
    return markdown(["UF1", *(f"{minutes:g} min" for minutes in columns)], lines)


def write(plan: Plan, rows: Sequence[Row]) -> None:
    """Write the results so far."""
    content = {"machine": describe(), "text": list(plan.text), "gold": plan.gold, "rows": rows}
    write_json(plan.out / "trees.json", content)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="*")
    parser.add_argument("--gold", default="sample")
    parser.add_argument("--minutes", type=float, nargs="+", default=None)
    parser.add_argument("--seeds", type=int, default=0, help="3, or 1 without TEXT")
    parser.add_argument("--only", nargs="+", choices=(*KINDS, *STUDENTS, VOTE, BEST), metavar="KIND")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    settings = () if options.text else ("train.epochs=1",)
    with tempfile.TemporaryDirectory() as empty:
        out = options.out or (Path(f"{RESULTS}/trees") if options.text else Path(empty))
        out.mkdir(parents=True, exist_ok=True)
        minutes = options.minutes or (MINUTES if options.text else (0.1,))
        seeds = range(1, 1 + (options.seeds or (3 if options.text else 1)))
        kinds = options.only or (*KINDS, *STUDENTS, VOTE, BEST)
        plan = Plan(options.text, options.gold, sorted(minutes), seeds, out, settings, kinds)
        rows: list[Row] = (read_json(out / "trees.json") or {"rows": []})["rows"]
        measure(plan, rows)
        write(plan, rows)
    print(table(rows))


if __name__ == "__main__":
    main()
