"""Skills learned from demonstrations in Craft, and their transfer to new tasks: docs/results/language-models.md.

``python bench/skills.py [--minutes 12] [--seeds 3]`` trains ``ocn``, ``moe``, ``ompn`` and ``compile`` on the
first setting of the thesis (S1: AC, CD and DA). The options then learn ADC, CAD and DCA from a sparse reward, against
primitive actions. The second setting (S2) merges the options of AB and BA with those of CD and DC, for BADC, ACBD and
CABD. Runs and scores are stored in ``bench/results/skills``, the most important first; a second call continues where
the first one stopped.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench.languages import spread, synparse  # noqa: E402
from bench.machine import processor  # noqa: E402
from bench.pretraining import stopped  # noqa: E402
from treebank.base.atomic_write import write_whole  # noqa: E402

RUNS = HERE / "results" / "skills"
FIRST = "AC CD DA"
HALVES = {"ab": "AB BA", "cd": "CD DC"}  # of the second setting, two options each
LEARNED = ("ocn", "moe", "ompn", "compile")
LATER = ("ADC", "CAD", "DCA"), ("BADC", "ACBD", "CABD")
CALL = 4  # primitive actions per call of an option, for about equal numbers of actions
MORE = "ocn of 43200"
LEAST = 10.0  # seconds, of which a start takes most


@dataclass(frozen=True)
class Job:
    """A run, with its command and the setting and system of its row in the table."""

    setting: str
    system: str
    seed: int
    call: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the folder of the run."""
        return f"{self.setting}-{self.system}-{self.seed}".replace(" ", "-")


def trained(model: str, seed: int) -> Job:
    """Training of ``model`` on the demonstrations of S1."""
    return Job("S1", model, seed, ("task", "train", "craft", "--model", model))


def of_more(seed: int) -> Job:
    """Training of OCN on three times as many demonstrations, with the same number of updates."""
    sets = (part for setting in ("task.expressions=43200", "train.epochs=4") for part in ("--set", setting))
    return Job("S1", MORE, seed, ("task", "train", "craft", *sets))


def half(name: str, seed: int) -> Job:
    """Training of one of the two models whose options are merged in S2."""
    sets = (f"task.sketches={HALVES[name]}", "task.expressions=9600", "model.tasks=2", "model.options=2")
    return Job(
        name, "ocn", seed, ("task", "train", "craft", *(part for setting in sets for part in ("--set", setting)))
    )


def transferred(sketch: str, system: str, seed: int, iterations: int) -> Job:
    """Transfer to the task ``sketch`` with the options of earlier runs, or with primitive actions (``scratch``)."""
    if system == "scratch":
        runs: tuple[str, ...] = ("--from-scratch",)
        iterations *= CALL
    elif len(sketch) == 4:
        runs = tuple(part for name in HALVES for part in ("-m", f"{name}-{system}-{seed}"))
    else:
        name = Job("S1", system.removesuffix(" unfrozen"), seed, ()).name
        runs = ("-m", name, "--unfrozen") if system.endswith("unfrozen") else ("-m", name)
    return Job(
        sketch,
        system,
        seed,
        ("task", "transfer", *runs, "--sketch", sketch, "--set", f"train.epochs={iterations}"),
    )


def jobs(seeds: int, iterations: int) -> Iterator[Job]:
    """All runs, the most important first."""
    everyone = range(1, seeds + 1)
    yield from (trained("ocn", seed) for seed in everyone)
    yield from (trained(model, 1) for model in LEARNED[1:])
    yield of_more(1)
    yield from (transferred("ADC", system, 1, iterations) for system in ("ocn", MORE, "scratch", "moe", "ocn unfrozen"))
    yield from (transferred(sketch, "ocn", 1, iterations) for sketch in LATER[0][1:])
    yield from (trained(model, seed) for seed in everyone[1:] for model in LEARNED[1:])
    yield from (transferred("ADC", "ocn", seed, iterations) for seed in everyone[1:])
    yield from (half(name, 1) for name in HALVES)
    for sketch in LATER[1]:
        yield from (transferred(sketch, system, 1, iterations) for system in ("ocn", "scratch"))


def spent(run: Path) -> tuple[float, bool]:
    """CPU seconds of a run so far, and whether it is finished."""
    file = run.with_name(f"{run.name}.seconds.json")
    if not file.exists():
        return 0.0, False
    seconds, ended = json.loads(file.read_text(encoding="utf-8"))
    return seconds, ended


def work(job: Job, minutes: float, folder: Path) -> None:
    """Train a run to its end, or up to ``minutes`` of CPU time, and score it."""
    run = folder / job.name
    seconds, ended = spent(run)
    left = 60 * minutes - seconds
    if not ended and left > LEAST:
        call = [str(folder / part) if (folder / part).is_dir() else part for part in job.call]
        command = call[:2] if call[1] == "transfer" else call[:3]  # without or with the name of a task
        call = [*command, "--resume"] if (run / "last").exists() else [*call, "--seed", str(job.seed)]
        had = stopped([*call, "-o", str(run)], left)
        text = json.dumps([round(seconds + had, 1), had < left]) + "\n"
        write_whole(run.with_name(f"{run.name}.seconds.json"), text.encode())
    scores = run.with_name(f"{run.name}.scores.json")
    weights = run / "last" / "weights.safetensors"
    if not scores.exists() or scores.stat().st_mtime < weights.stat().st_mtime:
        write_whole(scores, synparse(["task", "eval", "craft", "-m", str(run), "--format", "json"])[0].encode())


def values(job: Job, folder: Path) -> dict[str, float]:
    """Scores of a run in percent, with the means over tasks."""
    text = (folder / f"{job.name}.scores.json").read_text(encoding="utf-8")
    scores: dict[str, float] = json.loads(text)["scores"][0]["values"]
    for kind in ("success", "calls"):
        tasks = [value for name, value in scores.items() if name.startswith(f"{kind} ")]
        scores |= {kind: statistics.mean(tasks)} if tasks else {}
    return scores


def rows_of(done: Sequence[Job]) -> dict[tuple[str, str], list[Job]]:
    """Runs grouped by setting and system, so that the runs of a group differ only in their seed."""
    groups: dict[tuple[str, str], list[Job]] = {}
    for job in done:
        groups.setdefault((job.setting, job.system), []).append(job)
    return groups


def cells(rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> list[str]:
    """Mean and deviation of each value over several runs, or "" if a run lacks the value."""
    return [spread([row[name] for row in rows]) if all(name in row for row in rows) else "" for name in names]


def minutes_of(part: Sequence[Job], folder: Path) -> str:
    """Mean CPU minutes of the runs, and the number of runs that were cut off."""
    had = [spent(folder / job.name) for job in part]
    cut = sum(not ended for _, ended in had)
    return f"{statistics.mean(seconds for seconds, _ in had) / 60:.1f}" + (f" ({cut} cut off)" if cut else "")


def tables(done: Sequence[Job], folder: Path) -> str:
    """Markdown tables of learning from demonstrations, of the options of OCN, and of new tasks."""
    names = ["actions", "F1 tol 0", "F1 tol 1", "F1 own", "align", "NMI", "success", "calls"]
    demonstration_rows = [
        f"| learned from demonstrations | seeds | minutes | {' | '.join(names)} |",
        "| --- |" + " ---: |" * 10,
    ]
    later = [
        "| new task | options | seeds | minutes | actions, millions | solved by calls | by most probable actions |"
    ]
    later += ["| --- | --- |" + " ---: |" * 5]
    single = [
        "| an option by itself | " + " | ".join(f"{letter}, option 1 to 3" for letter in "ACD") + " |",
        "| --- |" + " ---: |" * 3,
    ]
    for (setting, system), part in rows_of(done).items():
        numbers, start = [values(job, folder) for job in part], f"{len(part)} | {minutes_of(part, folder)}"
        if len(setting) == 2:
            title = f"`{system}`, {FIRST if setting == 'S1' else HALVES[setting]}"
            demonstration_rows.append(f"| {title} | {start} | {' | '.join(cells(numbers, names))} |")
        else:
            logs = [(folder / job.name / "log.jsonl").read_text(encoding="utf-8").splitlines() for job in part]
            actions = statistics.mean(json.loads(lines[-1])["actions"] for lines in logs) / 1e6
            both = " | ".join(cells(numbers, ["calls", "success"]))
            title = "single actions" if system == "scratch" else f"of `{system}`"
            later.append(f"| {setting} | {title} | {start} | {actions:.2f} | {both} |")
        for job in part if setting == "S1" and system in ("ocn", MORE) else ():
            text = (folder / f"{job.name}.scores.json").read_text(encoding="utf-8")
            parts = [
                ", ".join(f"{value:.0f}" for value in row) for row in json.loads(text)["scores"][0]["options"].values()
            ]
            single.append(f"| `{system}`, seed {job.seed} | {' | '.join(parts)} |")
    return "\n\n".join("\n".join(table) for table in (demonstration_rows, single, later) if len(table) > 2)


def main() -> None:
    """Train, transfer, score, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--minutes", type=float, default=12.0, help="limit of CPU minutes for each run")
    parser.add_argument("--iterations", type=int, default=40, help="of each transfer")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", metavar="SETTING", help="such as S1, ADC or ab")
    options = parser.parse_args()
    options.runs.mkdir(parents=True, exist_ok=True)
    todo = list(jobs(options.seeds, options.iterations))
    for job in [job for job in todo if job.setting in (options.only or [job.setting])]:
        work(job, options.minutes, options.runs)
        print(job.name, *spent(options.runs / job.name), flush=True)
    done = [job for job in todo if (options.runs / f"{job.name}.scores.json").exists()]
    text = f"{processor()[0]}, one thread.\n\n{tables(done, options.runs)}"
    print(text)


if __name__ == "__main__":
    main()
