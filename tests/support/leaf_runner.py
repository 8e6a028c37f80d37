"""Runs command lines on copies of the source in which one folder is missing.

``python -IS leaf_runner.py`` reads a JSON object from standard input: ``packages`` (folders of installed packages),
``source`` (the checkout), ``calls`` (copy name -> list of command lines) and ``deleted`` (copy name -> folder). It
prints an object that maps each copy name to the error of its first failing call, or to "". torch is loaded once, and
each copy runs in a forked process.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

PARTS = ("cli", "induce", "treebank", "synparse.py")


def copy_without(source: Path, deleted: str, target: Path) -> None:
    """Copy the packages of ``source`` to ``target`` without the folder ``deleted``."""
    ignore = shutil.ignore_patterns("__pycache__")
    for part in PARTS:
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part, ignore=ignore, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(source / part, target / part)
    shutil.rmtree(target / deleted)


def first_error(root: Path, calls: list[list[str]]) -> str:
    """Last lines of the output of the first call that fails with the packages in ``root``, or ""."""
    sys.path.insert(0, str(root))
    from cli.main import run

    for call in calls:
        output = io.StringIO()
        with redirect_stdout(io.StringIO()), redirect_stderr(output):
            try:
                code = run(call)
            except BaseException:
                traceback.print_exc()
                code = 1
        if code:
            return f"{' '.join(call)}: " + " | ".join(output.getvalue().splitlines()[-3:])
    return ""


def main() -> None:
    """Run the calls of every copy, one forked process each, and print the errors."""
    request = json.load(sys.stdin)
    sys.path[:0] = request["packages"]
    import numpy  # noqa: F401
    import torch  # noqa: F401

    errors = {}
    for name, deleted in request["deleted"].items():
        root = Path(name).resolve()
        copy_without(Path(request["source"]), deleted, root)
        receiving, sending = os.pipe()
        if os.fork() == 0:
            os.write(sending, first_error(root, request["calls"][name]).encode()[-2000:])
            os._exit(0)
        os.close(sending)
        with os.fdopen(receiving) as stream:
            errors[name] = stream.read()
        os.wait()
        shutil.rmtree(root)
    print(json.dumps(errors))


if __name__ == "__main__":
    main()
