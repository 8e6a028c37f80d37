"""A training survives a failed allocation of memory, wherever it happens.

Each model is trained at the smallest size, without dropout. Every $SYNPARSE_EVERY-th allocation (default 97) fails in a
child process with torch's error for exhausted memory. Two outcomes are correct. Either the training is finished with
the same weights up to rounding: the batch was processed in parts. Or the process ends with one line of error, the
folder is unchanged, and it resumes to exactly the same weights.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from induce import registry
from induce.settings.presets import effective_settings, resolve
from induce.storage.checkpoint import build_model, read
from tests.stress.small_runs import digests_of_run, files, training, write_texts
from tests.support.calls import ENVIRONMENT
from tests.support.fork_server import Call
from tests.support.tiny import SETTINGS

EVERY = int(os.environ.get("SYNPARSE_EVERY", "97"))
SEED = os.environ.get("SYNPARSE_SEED", "1")
PROGRAM = "from tests.stress.test_allocations import main; main()"
FAILURE = "[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"
#: batch statistics, or random numbers, differ in parts
BY_BATCH = ("prpn", "prpn-syd", "structformer", "cpcfg", "urnng", "diora", "s-diora")
COUNTED = ("segment-edges", "ccm", "dmv", "dmv-ccm")  # models without an optimizer
MODELS = [model for model in SETTINGS if not registry.MODELS.get(model).needs_teacher]


def arguments(model: str, *, resume: bool) -> list[str]:
    """Command that trains the smallest ``model`` without dropout."""
    names = effective_settings(resolve(model=model))
    still = [f"{name}=0" for name in names if name.startswith("model.") and name.endswith("dropout")]
    return training(model, *still, *([] if model in COUNTED else ["optimizer.name=sgd"]), resume=resume)


def call(warm: str, model: str, folder: Path, first: int, *, resume: bool = False) -> None:
    """Train in ``folder``, with failures from allocation ``first`` on."""
    with pytest.MonkeyPatch.context() as patch, open(folder.parent / "log", "wb") as log:
        patch.chdir(folder)
        program = [str(first), str(EVERY), *arguments(model, resume=resume)]
        streams = (0, log.fileno(), log.fileno())
        code = Call(warm, program, program=PROGRAM, streams=streams, environment=ENVIRONMENT).wait()
    assert code == 0, (folder.parent / "log").read_text()


def are_close(expected: Path, actual: Path) -> bool:
    """Whether the weights of two models are equal up to rounding. Counts by batch are not compared."""
    import torch

    models = [build_model(read(folder / "run/resume.safetensors")) for folder in (expected, actual)]
    pairs = zip(*(model.parameters() for model in models), strict=True)
    return all(torch.allclose(first, second, rtol=1e-3, atol=1e-4) for first, second in pairs)


@pytest.mark.parametrize("model", MODELS)
def test_failed_allocation_is_survived_or_reported(model: str, tmp_path: Path, warm: str) -> None:
    folder = tmp_path / "call"
    folder.mkdir()
    write_texts(folder, 14)
    call(warm, model, folder, random.Random(f"{SEED} {model}").randint(1, EVERY))
    ends = json.loads((tmp_path / "ends").read_text("utf-8"))["ends"]
    assert ends
    assert [end for end in ends if "problem" in end] == []
    finished = [Path(end["finished"]) for end in ends if "finished" in end]
    assert model in BY_BATCH or all(are_close(folder, other) for other in finished)
    expected = digests_of_run(folder)
    for state in sorted({end["reported"] for end in ends if "reported" in end}):
        call(warm, model, Path(state), 0, resume=True)
        assert digests_of_run(Path(state)) == expected


class Failing(TorchDispatchMode):
    """Counter of allocations, which fails every ``every``-th of them, from ``first`` on, in a child process."""

    def __init__(self, folder: Path, first: int, every: int) -> None:
        super().__init__()
        self.folder, self.next, self.every = folder, first, every
        self.count = 0
        self.is_child = False  # whether this process is the failing child
        self.ends: list[dict[str, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, or fail before it in a child process."""
        if not self.is_child and _allocates(func):
            self.count += 1
            if self.count == self.next:
                self.next += self.every
                self._fail_in_a_child(str(func))
        return func(*args, **(kwargs or {}))

    def _fail_in_a_child(self, name: str) -> None:
        before, log = self.folder.with_name("before"), self.folder.with_name("err")
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(self.folder, before, symlinks=True)
        child = os.fork()
        if not child:
            self.is_child = True
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            raise RuntimeError(FAILURE)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.ends.append({"in": name, **self._end(code, log.read_text("utf-8", "replace"), before)})
        shutil.rmtree(self.folder)
        before.rename(self.folder)
        os.chdir(self.folder)

    def _end(self, code: int, err: str, before: Path) -> dict[str, Any]:
        """Outcome of one failure: a finished training in a folder, an unchanged folder to resume, or a problem."""
        last = (err.strip().splitlines() or [""])[-1]
        if code == 0:
            folder = self.folder.with_name(f"end-{self.count}")
            shutil.copytree(self.folder, folder, symlinks=True)
            return {"finished": str(folder)}
        if code != 1 or not last.startswith("synparse: ") or "Traceback" in err:
            return {"problem": f"exit {code}: {last}"}
        state = files(self.folder, "run")
        if state != files(before, "run"):
            return {"problem": f"the folder has changed; {last}"}
        name = "-".join(sorted(value[:8] for value in state.values())) or "nothing"
        folder = self.folder.with_name(f"state-{name}")
        shutil.copytree(before, folder, symlinks=True, dirs_exist_ok=True)
        return {"reported": str(folder)}


def _allocates(func: Any) -> bool:
    """Whether an operation returns new tensors, not views or its arguments."""
    returns = func._schema.returns
    return bool(returns) and all(result.alias_info is None and "Tensor" in str(result.type) for result in returns)


def main() -> None:
    """Run ``FIRST EVERY ARGUMENT…``, and write the outcomes to the file ``ends`` next to the folder.

    If FIRST is 0, nothing fails, and the operations are the same.
    """
    from cli.main import run

    torch.set_num_threads(1)
    first, every, *arguments = sys.argv[1:]
    with Failing(Path.cwd(), int(first), int(every)) as mode:
        code = run(arguments)
    if not mode.is_child:
        Path.cwd().with_name("ends").write_text(json.dumps({"count": mode.count, "ends": mode.ends}), encoding="utf-8")
    sys.exit(code)
