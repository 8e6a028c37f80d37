"""Check that a training survives a failed allocation of memory, for every tensor that it allocates.

    python bench/allocations.py [--models onlstm,dmv,…] [--every 1] [--seed 1] [--folder DIR]

Each model is trained at the smallest size, without dropout. At each allocation (or each of ``--every``, from one that
the seed chooses) the process is forked. In the child, torch's error for exhausted CPU memory is raised, and the
training continues to its end. Two outcomes are correct. Either the training is finished with the same weights as an
undisturbed one, up to rounding: the batch was processed in parts. (The weights of models that depend on the composition
of a batch are not compared.) Or the process ends with one line of error and exit code 1, and the folder is unchanged
and resumes to exactly the same weights. Prints one line per model, writes ``bench/results/allocations.json``, and exits
with 1 after any other outcome.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from bench import toys  # noqa: E402
from bench.calls import Digests, files, run_found  # noqa: E402
from bench.forked import call, load_everything  # noqa: E402
from bench.machine import describe  # noqa: E402
from induce.settings.presets import resolve  # noqa: E402
from induce.storage.checkpoint import build_model, read  # noqa: E402

FAILURE = "[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"
SENTENCES = 14
WHOLE = ("prpn", "prpn-syd", "structformer")  # a batch in parts gives these other weights
LAST = "run/last"


class Failing(TorchDispatchMode):
    """Counter of allocations, which fails every ``every``-th of them, from ``first`` on, in a child process."""

    def __init__(self, folder: Path, first: int, every: int) -> None:
        super().__init__()
        self.folder, self.next, self.every = folder, first, every
        self.count = 0
        self.copied = False  # whether this process is the failing child
        self.ends: list[dict[str, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, or fail before it in a child process."""
        if not self.copied and _allocates(func):
            self.count += 1
            if self.count == self.next:
                self.next += self.every
                self._fail_in_a_copy(str(func))
        return func(*args, **(kwargs or {}))

    def _fail_in_a_copy(self, name: str) -> None:
        before = self.folder.with_name("before")
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(self.folder, before, symlinks=True)
        log = self.folder.with_name("err")
        child = os.fork()
        if not child:
            self.copied = True
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            raise RuntimeError(FAILURE)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.ends.append(self._end(code, log.read_text("utf-8", "replace"), before) | {"at": self.count, "in": name})
        shutil.rmtree(self.folder)
        before.rename(self.folder)
        os.chdir(self.folder)

    def _end(self, code: int, err: str, before: Path) -> dict[str, Any]:
        """Outcome of one failure. The files for a closer look are stored next to the folder."""
        end_folder = self.folder.with_name(f"end-{self.count}")
        if code == 0:
            shutil.copytree(self.folder, end_folder, symlinks=True)
            return {
                "end": "finished",
                "halved": '"event": "halved"' in (end_folder / "run/log.jsonl").read_text("utf-8"),
            }
        last = (err.strip().splitlines() or [""])[-1]
        if code != 1 or not last.startswith("synparse: ") or "Traceback" in err:
            return {"end": "bad", "why": f"exit {code}: {last}"}
        state = files(self.folder, "run")
        if state != files(before, "run"):
            return {"end": "bad", "why": f"the folder has changed; {last}"}
        name = "-".join(sorted(digest[:8] for digest in state.values())) or "nothing"
        shutil.copytree(before, self.folder.with_name(f"state-{name}"), symlinks=True, dirs_exist_ok=True)
        return {"end": "reported", "line": last}


def _allocates(func: Any) -> bool:
    """Whether an operation returns new tensors, not views or its arguments."""
    returns = func._schema.returns
    return bool(returns) and all(result.alias_info is None and "Tensor" in str(result.type) for result in returns)


@contextmanager
def failing(folder: Path, first: int, every: int) -> Iterator[None]:
    """Fail allocations in child processes, and write the outcomes to the file ``ends`` next to ``folder``.

    If ``first`` is 0, nothing fails, and the operations are the same.
    """
    with Failing(folder, first, every) as mode:
        yield
    if not mode.copied:
        text = json.dumps({"allocations": mode.count, "ends": mode.ends})
        folder.with_name("ends").write_text(text, encoding="utf-8")


def arguments(model: str, *, resume: bool) -> list[str]:
    """Command line that trains the smallest ``model`` without dropout."""
    still = [f"model.{name}=0" for name in resolve(model=model).model if name.endswith("dropout")]
    settings = [*still, *([] if model in ("ccm", "dmv", "dmv-ccm") else ["optimizer.name=sgd"])]
    return [*toys.training(model, resume=resume), *(part for setting in settings for part in ("--set", setting))]


def measure(model: str, home: Path, every: int, draw: random.Random) -> dict[str, Any]:
    """Number of allocations and the outcomes of their failures, with the problems."""
    work = home / model
    folder = work / "call"
    folder.mkdir(parents=True)
    toys.write(folder, SENTENCES)
    first = draw.randint(1, every)
    done = call(arguments(model, resume=False), folder, guard=partial(failing, folder, first, every), seconds=3600)
    assert done.code == 0, (model, done.err)
    report = json.loads((work / "ends").read_text("utf-8"))
    expected = run_found(folder)
    for end in report["ends"]:
        if (
            end["end"] == "finished"
            and model not in WHOLE
            and not _close(folder / LAST, work / f"end-{end['at']}" / LAST)
        ):
            end.update(end="bad", why="other weights")
    states = sorted(work.glob("state-*"))
    stuck = [problem for state in states if (problem := _resumed(model, state, expected))]
    ends = Counter("in parts" if end.get("halved") else end["end"] for end in report["ends"])
    bad = [f"{end['at']} ({end['in']}): {end['why']}" for end in report["ends"] if end["end"] == "bad"]
    return {"allocations": report["allocations"], **ends, "states": len(states), "problems": [*bad, *stuck]}


def _close(expected: Path, actual: Path) -> bool:
    """Whether the weights of two models are equal up to rounding. Counts by batch are not compared."""
    models = [build_model(read(folder)) for folder in (expected, actual)]
    pairs = zip(*(model.parameters() for model in models), strict=True)
    return all(torch.allclose(first, second, rtol=1e-3, atol=1e-4) for first, second in pairs)


def _resumed(model: str, state: Path, expected: Digests) -> str:
    """Problem of a run that is resumed from the folder ``state``, or "" if it ends correctly."""
    done = call(arguments(model, resume=True), state, guard=partial(failing, state, 0, 1))
    if done.code:
        return f"resuming ended with {done.code}: {done.last}"
    digests = run_found(state)
    return (
        ""
        if digests == expected
        else f"resumed to other {[key for key in expected if digests.get(key) != expected[key]]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(toys.SMALL))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
    options = parser.parse_args()
    load_everything()
    table, draw = {}, random.Random(options.seed)
    with tempfile.TemporaryDirectory(dir=options.folder) as home:
        for model in options.models.split(","):
            table[model] = figures = measure(model, Path(home), options.every, draw)
            counts = {key: value for key, value in figures.items() if key != "problems"}
            print(f"{model}: {counts}; problems {len(figures['problems'])} {figures['problems'][:3] or ''}", flush=True)
    total = Counter()
    for figures in table.values():
        total.update({key: value for key, value in figures.items() if isinstance(value, int)})
        total["problems"] += len(figures["problems"])
    print(f"{dict(total)}")
    result = HERE / "results" / "allocations.json"
    result.parent.mkdir(exist_ok=True)
    result.write_text(json.dumps({"machine": describe(), "every": options.every, "models": table}, indent=1))
    if total["problems"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
