"""UF1 and agreement of every model that gives trees, with its small preset: one text, one budget, one convention.

``python -m bench.experiments.models --data FOLDER --out FOLDER [--only MODEL…] [--minutes 40] [--seeds 3] [--cores 2]
[--job JOB]``
trains the default preset of each model on the words of CRAFT and scores it against the gold trees (UF1, convention
``on-lstm``). Each training has one core for so many wall-clock minutes, and ``--cores`` trainings run at a time: 40
minutes on one core are 20 minutes on two. Models of heads are scored by the trees of their heads. Models that learn
from trees or heads learn those of the `npcfg` or `dmv` of the same seed, whose training is extra. The table also has
the agreement between models, without gold trees. With a JOB of ``best`` on the same words, it has the gain in
UF1 of the vote of that job if the first run of a model votes, too. Each result is stored in ``OUT/runs``, and the same
command continues after an interruption.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.common import experiment, read_json, repeated, spread, stored, synparse
from bench.experiments.directions import CORPORA, TRIVIAL, uf1, uf1_of, write_corpus
from bench.report import markdown
from induce.decoding.specification import decoder_entry, decoders_of, fitting_decoder
from induce.registry import MODELS, default_preset, model_class
from induce.settings.presets import load_preset
from induce.storage.checkpoint import read
from induce.storage.locate import BASELINE
from induce.storage.model_file import RESUME

TEACHERS = {"trees": "npcfg", "heads": "dmv"}
BASELINES = ("right", "left")  # in the table of agreement
MIN_LEFT_MINUTES = 0.01  # a training with less time left is finished


def tree_decoder(model: str) -> str | None:
    """Decoder that gives the trees of a model, "" for its default, or None if it gives no trees."""
    gives, preset = model_class(model).gives, load_preset(default_preset(model))
    by_tree = decoders_of(gives, "trees") if gives else []
    if not by_tree:
        return None
    default = fitting_decoder(model, gives, preset.parse.decoder)
    return "" if decoder_entry(default).gives == "trees" else by_tree[0]


def teacher_of(model: str) -> str:
    """Model that teaches another one that needs a teacher, or an empty string."""
    entry = MODELS.get(model)
    return TEACHERS[entry.teacher_output or "trees"] if entry.needs_teacher or entry.learns_trees else ""


def seconds_of(run: Path) -> float:
    """Training time of a run in seconds."""
    return read(run / RESUME).facts.seconds


@dataclass(frozen=True)
class Plan:
    """Text, gold trees, folder of the runs, and minutes of each training."""

    text: Path
    gold: Path
    folder: Path
    minutes: float

    def run(self, model: str, seed: int) -> Path:
        """Folder of a run."""
        return self.folder / f"{model}-{seed}"

    def spec(self, model: str, seed: int) -> str:
        """Specification of the trees of a run."""
        decoder = tree_decoder(model)
        return str(self.run(model, seed)) + (f"@decoder={decoder}" if decoder else "")

    def train(self, model: str, seed: int) -> None:
        """Train a run for the minutes that it has left."""
        run, left = self.run(model, seed), self.minutes
        options = [str(self.text), "--model", model, "--seed", str(seed)]
        if teacher := teacher_of(model):
            options += ["--teacher", str(self.run(teacher, seed))]
        if (run / RESUME).exists():
            left -= seconds_of(run) / 60
            options = ["--resume"]
        if left > MIN_LEFT_MINUTES and not (run / "done").exists():
            synparse(["train", *options, "--max-minutes", f"{left:g}", "-o", str(run)])
        (run / "done").touch()

    def measure(self, model: str, seed: int) -> dict[str, float]:
        """UF1 and training minutes of a run, which is trained before."""
        self.train(model, seed)
        return {"UF1": uf1_of(self.gold, self.spec(model, seed)), "minutes": seconds_of(self.run(model, seed)) / 60}

    def agreement(self, runs: Sequence[tuple[str, int]]) -> dict[str, Any]:
        """Agreement between runs and with baselines, in percent."""
        call = ["analyze", "agreement", str(self.gold), *repeated("-m", [self.spec(*run) for run in runs])]
        call += repeated("--baseline", BASELINES)
        return json.loads(synparse([*call, "--format", "json"], all_cores=True)[0])

    def trees(self, spec: str, name: str) -> str:
        """File with the trees of a model for the words of the gold trees."""
        path = self.folder / "trees" / f"{name}.txt"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_text(synparse(["parse", "-m", spec, str(self.gold)])[0], encoding="utf-8")
        return str(path)

    def gains(self, job: Path, models: Sequence[str]) -> dict[str, float]:
        """The gain in UF1 of the vote of a ``job`` by one run of each model."""
        vote = job / "parts" / "vote"
        members = read_json(vote / "ensemble.json")["members"]
        specs = [
            f"{vote / member['path']}" + (f"@priors={member['priors']}" if "priors" in member else "")
            for member in members
        ]
        voters = [self.trees(spec, f"voter-{number}") for number, spec in enumerate(specs, 1)]

        def voted(files: Sequence[str]) -> float:
            synparse(["combine", *files, "-o", str(self.folder / "vote"), "--overwrite"])
            return uf1_of(self.gold, self.folder / "vote")

        before = voted(voters)
        return {model: voted([*voters, self.trees(self.spec(model, 1), model)]) - before for model in models}


def stages(models: Iterable[str]) -> list[list[str]]:
    """Models without a teacher, which include all teachers, and those that learn from them."""
    students = [model for model in models if teacher_of(model)]
    others = [model for model in models if model not in students]
    return [list(dict.fromkeys([*others, *map(teacher_of, students)])), students]


def by_model(agreement: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Mean agreement of the runs of two models, in both orders, or of the runs of one model."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for pair in agreement["pairs"]:
        first, second = (_model_of(pair[key]) for key in ("first", "second"))
        for key in {(first, second), (second, first)}:
            values[key].append(pair["value"])
    return {key: fmean(numbers) for key, numbers in values.items()}


def _model_of(system: str) -> str:
    """Model of a run, or the name of a baseline."""
    name = Path(system.partition("@")[0].removeprefix(BASELINE)).name
    return name.rpartition("-")[0] or name


Runs = dict[tuple[str, int], dict[str, float]]  # by model and seed


def table(
    results: Runs, trivial: dict[str, float], agreement: dict[str, Any], gains: dict[str, float] | None = None
) -> str:
    """Table of scores, of the agreement with other models and of ``gains``, the best model first."""
    runs: dict[str, list[dict[str, float]]] = defaultdict(list)
    for (model, _), run in results.items():
        runs[model].append(run)
    order = sorted(runs, key=lambda model: -fmean(run["UF1"] for run in runs[model]))
    means = by_model(agreement)
    rows = []
    for model in order:
        others = [means[model, other] for other in order if other != model and (model, other) in means]
        agreed = [means.get((model, name)) for name in (model, *BASELINES)]
        cells = [spread([] if value is None else [value]) for value in (fmean(others) if others else None, *agreed)]
        minutes = spread([fmean(run["minutes"] for run in runs[model])])
        gain = [f"{gains[model]:+.1f}"] if gains else []
        rows.append([model, spread([run["UF1"] for run in runs[model]]), minutes, *cells, *gain])
    head = ["model", "UF1", "minutes", "others", "own", *BASELINES, *(["gain"] if gains else [])]
    rows += [[name, f"{value:.1f}", *[""] * (len(head) - 2)] for name, value in trivial.items()]
    return markdown(head, rows)


def main() -> None:
    """Measure what is missing, and print the table."""
    every = [model for model in MODELS if tree_decoder(model) is not None]
    parser = experiment(__doc__, "models")
    parser.add_argument("--only", nargs="+", default=every, choices=every, metavar="MODEL")
    parser.add_argument("--minutes", type=float, default=40.0, help="wall-clock minutes of each training on one core")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2, help="trainings at a time")
    parser.add_argument("--job", type=Path, help="of the recipe best, whose vote each model joins")
    options = parser.parse_args()
    text, gold, _ = write_corpus(CORPORA["CRAFT"], options.data, options.out)
    plan = Plan(text, gold, options.out / "runs", options.minutes)

    def measure(run: tuple[str, int]) -> dict[str, float]:
        result: dict[str, float] = stored(plan.run(*run).with_suffix(".json"), partial(plan.measure, *run))
        print(f"{plan.run(*run).name}: {result['UF1']:.1f}", file=sys.stderr, flush=True)
        return result

    results: Runs = {}
    for stage in stages(options.only):
        runs = [(model, seed) for seed in range(1, options.seeds + 1) for model in stage]
        with ThreadPoolExecutor(options.cores) as pool:
            results |= zip(runs, pool.map(measure, runs), strict=True)
    trivial = uf1(gold, *repeated("--baseline", TRIVIAL))
    gains = plan.gains(options.job, list(dict.fromkeys(model for model, _ in results))) if options.job else None
    print(table(results, trivial, plan.agreement(list(results)), gains))


if __name__ == "__main__":
    main()
