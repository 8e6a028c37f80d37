"""Differences of the weights of every model between training with one, two and four processes.

``python bench/copies.py [--case "MODEL SETTING …"] [--steps N] [--single]`` lets ``torchrun`` train the smallest
model of each type on generated sentences, without random numbers within a step, in float64 or with ``--single`` in
float32. It prints the largest difference of a weight or a table from those of one process, and writes
``bench/results/copies.json``. With ``--killed`` the last of two processes is killed in the middle of each training,
``torchrun`` starts both again, and their weights are compared with those of two processes that were not killed. All
random numbers are then drawn as usual.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import fields
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import torch  # noqa: E402

from bench import toys  # noqa: E402
from bench.machine import store  # noqa: E402
from induce.models.base import FittedModel  # noqa: E402
from induce.models.em import ccm, dmv  # noqa: E402
from induce.models.grammars import cpcfg  # noqa: E402
from induce.registry import MODELS, model_class  # noqa: E402
from induce.storage import checkpoint  # noqa: E402
from induce.training import loop  # noqa: E402
from induce.training.distributed import ProcessGroup, join  # noqa: E402
from induce.training.position import Position  # noqa: E402
from induce.training.request import RunRequest  # noqa: E402
from induce.training.run import prepare_run  # noqa: E402

SIZES = (1, 2, 4)
CASES = [name for name in MODELS if name not in ("prpn", "prpn-syd", "onlstm-syd")]  # these need whole batches
DRAWN = ("dropout", "unknown_rate")  # endings of the settings of dropout within a step
#: published rates; with the rate of the toys, a change of 1e-16 at the start has as large an effect as more processes
RATES = {"ordered-memory": 0.001, "prpn": 0.003, "prpn-syd": 0.003}
COUNTED = ("growth", "edges")  # of grammars, for their decoder: means of counts over the part of each process


def request(case: str, folder: Path, run: Path, *, drawn: bool) -> RunRequest:
    """Request for the smallest training of a model. ``case`` is its name, followed by settings.

    ``drawn`` keeps dropout and other random numbers.
    """
    model, *settings = case.split()
    drawn_settings = [setting.name for setting in fields(model_class(model).Config) if setting.name.endswith(DRAWN)]
    quiet = [] if drawn else [f"model.{name}=0" for name in drawn_settings]
    changes = [
        f"optimizer.learning_rate={RATES.get(model, 0.01)}",
        "train.epochs=999",
        f"loader.batch_size={2 * max(SIZES)}",
    ]
    focus = {"chart": "focus.mrg", "biaffine": "focus.conllu"}.get(model)
    return RunRequest(
        run=str(run),
        text=[str(folder / "text.txt")],
        trees=str(folder / "trees.mrg") if model.endswith("-syd") else None,
        teachers=[str(folder / focus)] if focus else [],
        model=model,
        settings=[*toys.SMALL[model], *toys.TEXT_ONLY, *quiet, *changes, *settings],
        device="cpu",
        resume=True,
    )


def write(folder: Path) -> None:
    """Write the texts, and a tree and a chain of heads for each sentence of the first text."""
    toys.write(folder, 200)
    with (folder / "focus.conllu").open("w", encoding="utf-8") as stream:
        for line in toys.text(200).splitlines():
            words = line.split()
            rows = [f"{i}\t{word}\t_\t_\t_\t_\t{i % len(words) + (i < len(words))}" for i, word in enumerate(words, 1)]
            stream.write("".join(f"{row}\t_\t_\t_\n" for row in rows) + "\n")


def train(
    cases: Sequence[str], folder: Path, run_folder: Path, arguments: argparse.Namespace, group: ProcessGroup
) -> None:
    """Train each unfinished case for ``arguments.steps`` steps, or a fitted model to its end."""
    numbers = torch.float32 if arguments.single else torch.float64
    torch.set_default_dtype(numbers)
    dmv.TABLE, ccm.TABLE = 200, 20_000  # small, so that there are several blocks of sentences to share
    loop.SAVE_SECONDS = 0.1
    if not arguments.killed:
        cpcfg.torch.randn_like = torch.zeros_like  # each sentence's vector is its mean
    for case in cases:
        done, killed = run_folder / f"{case} is done", run_folder / f"{case} was killed"
        if done.exists():
            continue
        trainer = prepare_run(request(case, folder, run_folder / case, drawn=arguments.killed), group=group)
        trainer.run.model.to(numbers)
        at = trainer.run.position
        deadly = run_folder.name == "killed" and group.rank == group.size - 1 and not killed.exists()
        middle = 1 if isinstance(trainer.run.model, FittedModel) else arguments.steps // 2

        def stop(at: Position = at, deadly: bool = deadly, middle: int = middle, killed: Path = killed) -> bool:
            if deadly and at.step == middle:
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return at.step >= arguments.steps

        for _ in trainer.train(stop=stop):
            pass
        if group.first:
            done.touch()


def difference(reference: Path, compared: Path) -> float:
    """Largest difference of a weight or table, relative to its largest value if that is above 1."""
    first, second = (dict(checkpoint.read(run / "last").weights()) for run in (reference, compared))
    return max(
        float((first[key].double() - second[key].double()).abs().max() / max(1.0, float(first[key].abs().max())))
        for key in first
        if first[key].numel() and key not in COUNTED
    )


def main() -> None:
    """Start the processes, and print and write the table, or train as one of the processes."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--case", action="append", help="measure only this case (repeatable)")
    options.add_argument("--steps", type=int, default=50)
    options.add_argument("--single", action="store_true", help="float32, as in training")
    options.add_argument(
        "--killed", action="store_true", help="compare a training that is killed once with one that is not"
    )
    options.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    cases = arguments.case or CASES
    if arguments.folder:
        run_folder = Path(arguments.folder)
        return train(cases, run_folder.parent, run_folder, arguments, join("cpu"))
    runs = {"whole": 2, "killed": 2} if arguments.killed else {f"{size} processes": size for size in SIZES}
    figures: dict[str, float] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        for run, size in runs.items():
            (folder / run).mkdir()
            restarts = ["--max-restarts", str(len(cases) if run == "killed" else 0)]
            torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size), *restarts]
            command = [sys.executable, *torchrun, __file__, "--folder", str(folder / run)]
            subprocess.run([*command, *sys.argv[1:]], env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
        first, *others = runs
        for case, run in product(cases, others):
            figures[f"{case}, {run}"] = difference(folder / first / case, folder / run / case)
            was = (folder / run / f"{case} was killed").exists()
            print(f"{case:40s} {run} {figures[f'{case}, {run}']:12.2e}{' (was killed)' * was}", flush=True)
    store("copies", steps=arguments.steps, figures=figures)


if __name__ == "__main__":
    main()
