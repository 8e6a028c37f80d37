"""The command line in a process in which allocations of memory fail, each in a child process."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.stress.small_runs import files

FAILURE = "[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"


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
