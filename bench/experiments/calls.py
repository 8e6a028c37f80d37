"""Calls of functions of this package, and their files, in the steps of the commands train, parse and eval.

``python -m bench.experiments.calls`` prints the table of docs/development/architecture.md. Each step runs twice, and
the second run counts, so that imports and caches do not.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from bench.common import ROOT
from bench.report import markdown
from cli.main import run
from induce.parsing.load import load_parser
from induce.training.request import RunRequest
from induce.training.run import prepare_run
from tests.support.tiny import SETTINGS, sentences

PACKAGES = tuple(f"{ROOT / package}{os.sep}" for package in ("cli", "induce", "treebank"))
SENTENCES, MODEL = 60, "npcfg"
GOLD = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (NN cat))))\n" * 2


def calls(function: Callable[[], object]) -> tuple[int, int]:
    """Number of calls of this package's functions while ``function`` runs, and of the files with these functions."""
    files: list[str] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGES):
            files.append(frame.f_code.co_filename)

    function()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return len(files), len(set(files))


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, gold, trained = folder / "text.txt", folder / "gold.ptb", str(folder / "run")
        text.write_text("".join(" ".join(each.words) + "\n" for each in sentences(SENTENCES)), encoding="utf-8")
        gold.write_text(GOLD, encoding="utf-8")
        request = RunRequest([str(text)], run=trained, model=MODEL, settings=SETTINGS[MODEL], overwrite=True)
        list(prepare_run(request).train())
        parser = load_parser(trained)
        steps: dict[str, Callable[[], object]] = {
            "`prepare_run`": lambda: prepare_run(replace(request, run=f"{trained}-again")),
            "`load_parser`": lambda: load_parser(trained),
            "parse one sentence": lambda: list(parser.parse(["the dog saw the cat"])),
            "the command `eval`": lambda: run(["eval", "--gold", str(gold), "-m", trained]),
        }
        with contextlib.redirect_stdout(sys.stderr):
            rows = [[step, *map("{:,}".format, calls(function))] for step, function in steps.items()]
    print(markdown(["step", "calls", "files"], rows))


if __name__ == "__main__":
    main()
