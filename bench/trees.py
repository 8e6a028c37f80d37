"""UF1 by minutes of training: each type of model, grammars that learn from trees, and their ensemble.

``python bench/trees.py [TEXT --gold GOLD] [--minutes 5 20 60 180] [--seeds 3] [--only KIND…] [--out FOLDER]`` goes from
a text to scores in one run. Every KIND of model is trained from each seed, and scored (UF1, convention ``on-lstm``)
after each number of minutes:

- ``focused`` is a grammar that starts from the trees of the ON-LSTM of the same seed; ``second`` and ``second-simple``
  are grammars that start from the trees of ``focused``; ``vote`` is the ensemble of these three.
- ``chart`` is a chart parser that learns the trees of ``second``.
- ``best`` is the ensemble of ``synparse train --best`` with the same number of minutes, and ``best/…`` the first model
  of each type in it.

``--only`` selects some of these; students and ensembles need their teachers and members. Without TEXT, the program is
tested briefly on the built-in sample. It prints a table, and writes ``bench/results/trees.json`` and ``trees.svg``.
Runs stay in FOLDER, and a second call continues where the first one stopped. Each training has one core, but ``best``
has all cores.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.languages import synparse  # noqa: E402
from bench.machine import describe  # noqa: E402
from induce.recipes.recipe import read_recipe  # noqa: E402

RESULTS = HERE / "results"
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
ON_THE_WAY = {  # of `synparse train --best`, by name: a folder in RUN/parts
    "best/onlstm": "onlstm-1",
    "best/first": "first-1",
    "best/second": "second-1",
    "best/second-simple": "second-3",
    "best/vote": "vote",
    "best/chart": "student-1",
}
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
    begin += [part for change in priors for part in ("--set", change)]
    begin += [part for change in plan.settings for part in ("--set", change)]
    return synparse([*begin, "--max-minutes", f"{minutes:g}"])[1]


def seconds_of(run: Path) -> float:
    """Training time of a run in seconds."""
    return float(json.loads((run / "last" / "checkpoint.json").read_text(encoding="utf-8"))["seconds"])


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
                parts = {name: f"{run}/parts/{part}" for name, part in ON_THE_WAY.items()}
                scores = score(plan, run, *parts.values())
                for name, part in parts.items():
                    note(name, seed, minutes, scores[part], 0.0)
                note(BEST, seed, minutes, scores[run], processor)


def table(rows: Sequence[Row]) -> str:
    """Markdown table by model and minutes: mean ± deviation (maximum) over seeds."""
    columns = sorted({row["minutes"] for row in rows if row["minutes"]})
    lines = [
        "| UF1 | " + " | ".join(f"{minutes:g} min" for minutes in columns) + " |",
        "| --- |" + " --- |" * len(columns),
    ]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        kind_rows = [row for row in rows if row["kind"] == kind]
        if not kind_rows[0]["minutes"]:
            lines.append(f"| {kind} | " + " | ".join([f"{kind_rows[0]['UF1']:.1f}"] * len(columns)) + " |")
        else:
            cells = [[row["UF1"] for row in kind_rows if row["minutes"] == minutes] for minutes in columns]
            lines.append(f"| {kind} | " + " | ".join(map(spread, cells)) + " |")
    return "\n".join(lines)


def spread(values: Sequence[float]) -> str:
    """Mean, with deviation and maximum if there are several values."""
    if len(values) < 2:
        return f"{values[0]:.1f}" if values else ""
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f} ({max(values):.1f})"


def write(plan: Plan, rows: Sequence[Row]) -> None:
    """Write the results so far."""
    RESULTS.mkdir(exist_ok=True)
    content = {"machine": describe(), "text": list(plan.text), "gold": plan.gold, "rows": rows}
    for path in (plan.out / "trees.json", RESULTS / "trees.json"):
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw mean UF1 by minutes for each model, with bars of one deviation, and the baselines."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.0))
    for kind in dict.fromkeys(row["kind"] for row in rows):
        scores_by_minutes: dict[float, list[float]] = {}
        for row in rows:
            if row["kind"] == kind:
                scores_by_minutes.setdefault(row["minutes"], []).append(row["UF1"])
        means = [statistics.mean(values) for values in scores_by_minutes.values()]
        if 0.0 in scores_by_minutes:
            if kind != "oracle":
                axes.axhline(means[0], linewidth=0.8, linestyle=":", color="gray")
                axes.annotate(f" {kind}", (1, means[0]), xycoords=("axes fraction", "data"), fontsize=8, va="center")
            continue
        errors = [statistics.stdev(values) if len(values) > 1 else 0.0 for values in scores_by_minutes.values()]
        axes.errorbar(list(scores_by_minutes), means, yerr=errors, marker="o", markersize=4, capsize=3, label=kind)
    minutes = sorted({row["minutes"] for row in rows if row["minutes"]})
    axes.set(xscale="log", xlabel="minutes", ylabel="UF1")
    axes.set_xticks(minutes, [f"{value:g}" for value in minutes])
    axes.minorticks_off()
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.15, 0.5), frameon=False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


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
        path = out / "trees.json"
        rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
        measure(plan, rows)
        write(plan, rows)
    print(table(rows))
    if find_spec("matplotlib"):
        draw(rows, RESULTS / "trees.svg")
    else:
        print("no picture without matplotlib; run: pip install 'synparse[draw]'", file=sys.stderr)


if __name__ == "__main__":
    main()
