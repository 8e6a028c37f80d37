"""Every allocation of a tensor in a short training fails once, in turn: is the batch taken in parts, or is it told?

    python bench/allocations.py [--models onlstm,dmv,…] [--every 1] [--seed 1] [--folder DIR]

Each model is trained at the smallest size, without dropout. At each allocation (or each of ``--every``, from one that
the seed chooses) the process is copied; the copy is told there that memory ran out, as torch tells it on a CPU, and
goes on to its end. Good ends are two: the training is finished, with the weights of the undisturbed one but for
rounding (a batch was taken in parts; of models that look at a whole batch they are not compared), or there is one line,
exit code 1, and the folder as it was before, which resumes to the same weights, bit for bit. Prints a line a model,
writes ``bench/results/allocations.json``, and exits with 1 if there was any other end.
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
WHOLE = ("prpn", "prpn-syd", "structformer")  # look at a whole batch, so that its parts give other weights
LAST = "run/last"


class Failing(TorchDispatchMode):
    """Counts what makes tensors; copies of the process fail at every ``every``-th, the first of them at ``first``."""

    def __init__(self, folder: Path, first: int, every: int) -> None:
        super().__init__()
        self.folder, self.next, self.every = folder, first, every
        self.count = 0
        self.copied = False  # whether this process is such a copy
        self.ends: list[dict[str, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The operation; a copy fails before it."""
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
        """What came of one failure; what is needed to look closer is kept beside the folder."""
        kept = self.folder.with_name(f"end-{self.count}")
        if code == 0:
            shutil.copytree(self.folder, kept, symlinks=True)
            return {"end": "finished", "halved": '"event": "halved"' in (kept / "run/log.jsonl").read_text("utf-8")}
        last = (err.strip().splitlines() or [""])[-1]
        if code != 1 or not last.startswith("synparse: ") or "Traceback" in err:
            return {"end": "bad", "why": f"exit {code}: {last}"}
        state = files(self.folder, "run")
        if state != files(before, "run"):
            return {"end": "bad", "why": f"the folder has changed; {last}"}
        name = "-".join(sorted(digest[:8] for digest in state.values())) or "nothing"
        shutil.copytree(before, self.folder.with_name(f"state-{name}"), symlinks=True, dirs_exist_ok=True)
        return {"end": "told", "line": last}


def _allocates(func: Any) -> bool:
    """Whether an operation gives new tensors, not views or what it was given."""
    returns = func._schema.returns
    return bool(returns) and all(one.alias_info is None and "Tensor" in str(one.type) for one in returns)


@contextmanager
def failing(folder: Path, first: int, every: int) -> Iterator[None]:
    """Within, allocations fail in copies of this process; what came of it goes to the file ``ends`` beside the folder.

    With 0 for ``first`` nothing fails, and the operations are the same.
    """
    with Failing(folder, first, every) as mode:
        yield
    if not mode.copied:
        text = json.dumps({"allocations": mode.count, "ends": mode.ends})
        folder.with_name("ends").write_text(text, encoding="utf-8")


def arguments(model: str, *, resume: bool) -> list[str]:
    """The call that trains the smallest ``model`` without dropout."""
    still = [f"model.{name}=0" for name in resolve(model=model).model if name.endswith("dropout")]
    settings = [*still, *([] if model in ("ccm", "dmv", "dmv-ccm") else ["optimizer.name=sgd"])]
    return [*toys.training(model, resume=resume), *(part for one in settings for part in ("--set", one))]


def measure(model: str, home: Path, every: int, draw: random.Random) -> dict[str, Any]:
    """What came of each failure."""
    work = home / model
    folder = work / "call"
    folder.mkdir(parents=True)
    toys.write(folder, SENTENCES)
    first = draw.randint(1, every)
    done = call(arguments(model, resume=False), folder, guard=partial(failing, folder, first, every), seconds=3600)
    assert done.code == 0, (model, done.err)
    found = json.loads((work / "ends").read_text("utf-8"))
    expected = run_found(folder)
    for one in found["ends"]:
        if (
            one["end"] == "finished"
            and model not in WHOLE
            and not _close(folder / LAST, work / f"end-{one['at']}" / LAST)
        ):
            one.update(end="bad", why="other weights")
    states = sorted(work.glob("state-*"))
    stuck = [problem for state in states if (problem := _resumed(model, state, expected))]
    ends = Counter("in parts" if one.get("halved") else one["end"] for one in found["ends"])
    bad = [f"{one['at']} ({one['in']}): {one['why']}" for one in found["ends"] if one["end"] == "bad"]
    return {"allocations": found["allocations"], **ends, "states": len(states), "problems": [*bad, *stuck]}


def _close(one: Path, other: Path) -> bool:
    """Whether weights are the same but for rounding; what is counted batch by batch is not compared."""
    models = [build_model(read(folder)) for folder in (one, other)]
    pairs = zip(*(model.parameters() for model in models), strict=True)
    return all(torch.allclose(first, second, rtol=1e-3, atol=1e-4) for first, second in pairs)


def _resumed(model: str, state: Path, expected: Digests) -> str:
    """What is wrong with a run that goes on from the folder ``state``; "" if it ends as it should."""
    done = call(arguments(model, resume=True), state, guard=partial(failing, state, 0, 1))
    if done.code:
        return f"resuming ended with {done.code}: {done.last}"
    found = run_found(state)
    return (
        "" if found == expected else f"resumed to other {[key for key in expected if found.get(key) != expected[key]]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(toys.SMALL))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
    given = parser.parse_args()
    load_everything()
    table, draw = {}, random.Random(given.seed)
    with tempfile.TemporaryDirectory(dir=given.folder) as home:
        for model in given.models.split(","):
            table[model] = found = measure(model, Path(home), given.every, draw)
            counts = {key: value for key, value in found.items() if key != "problems"}
            print(f"{model}: {counts}; problems {len(found['problems'])} {found['problems'][:3] or ''}", flush=True)
    total = Counter()
    for found in table.values():
        total.update({key: value for key, value in found.items() if isinstance(value, int)})
        total["problems"] += len(found["problems"])
    print(f"{dict(total)}")
    result = HERE / "results" / "allocations.json"
    result.parent.mkdir(exist_ok=True)
    result.write_text(json.dumps({"machine": describe(), "every": given.every, "models": table}, indent=1))
    if total["problems"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
