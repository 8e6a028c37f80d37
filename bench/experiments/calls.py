"""Code of this package that a warm call of the commands train, parse and eval enters.

``python -m bench.experiments.calls`` prints the table of docs/development/architecture.md: files with functions that
are called, their lines, calls, and the number of functions from that of the command to the method of the model. Each
call runs twice, and the second run counts, so that imports and caches do not. ``--files`` lists the files.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from bench.common import ROOT
from bench.report import markdown
from cli.main import run
from tests.support.tiny import SETTINGS, sentences

PACKAGES = tuple(f"{ROOT / package}{os.sep}" for package in ("cli", "induce", "treebank"))
MODELS, COMMANDS = f"{ROOT / 'induce' / 'models'}{os.sep}", f"{ROOT / 'cli' / 'commands'}{os.sep}"
METHODS = ("loss", "structure")  # of a model
SENTENCES, MODEL = 60, "onlstm"
GOLD = "(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (NN cat))))\n" * 2


@dataclass
class Entered:
    """Functions of this package that a call enters."""

    files: list[str] = field(default_factory=list)  # of each call of a function
    frames: int = 0  # functions from that of the command to the method of the model

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        """Count a call, as a function for `sys.setprofile`."""
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(PACKAGES):
            return
        self.files.append(file)
        if file.startswith(MODELS) and frame.f_code.co_name in METHODS:
            self.frames = max(self.frames, len(frames_to_command(frame)))

    @property
    def lines(self) -> int:
        """Lines of all files."""
        return sum(len(Path(file).read_text(encoding="utf-8").splitlines()) for file in set(self.files))


def frames_to_command(frame: FrameType | None) -> list[str]:
    """The files of the functions of this package on the stack, from ``frame`` to the function of the command."""
    files: list[str] = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGES):
            files.append(frame.f_code.co_filename)
        frame = frame.f_back
    first = max((index for index, file in enumerate(files) if file.startswith(COMMANDS)), default=len(files) - 1)
    return files[: first + 1]


def entered(arguments: list[str]) -> Entered:
    """Functions that the second call of a command line enters."""
    result = Entered()
    for profile in (None, result.note):
        sys.setprofile(profile)
        try:
            assert run(arguments) == 0, arguments
        finally:
            sys.setprofile(None)
    return result


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, gold, model = folder / "text.txt", folder / "gold.ptb", str(folder / "run")
        text.write_text("".join(" ".join(each.words) + "\n" for each in sentences(SENTENCES)), encoding="utf-8")
        gold.write_text(GOLD, encoding="utf-8")
        settings = [part for change in SETTINGS[MODEL] for part in ("--set", change)]
        commands = {
            "train": ["train", str(text), "--model", MODEL, "-o", model, "--overwrite", *settings],
            "parse": ["parse", str(text), "-m", "english"],
            "parse -m": ["parse", str(text), "-m", model],
            "eval": ["eval", "--gold", str(gold), "-m", model],
        }
        with contextlib.redirect_stdout(sys.stderr):
            results = {name: entered(arguments) for name, arguments in commands.items()}
    header = ["command", "files", "lines", "calls", "functions to the model"]
    columns = [[len(set(each.files)), each.lines, len(each.files), each.frames] for each in results.values()]
    rows = [[f"`{name}`", *map("{:,}".format, column)] for name, column in zip(results, columns, strict=True)]
    print(markdown(header, rows))
    for name, each in results.items() if "--files" in sys.argv else ():
        print(f"\n{name}:", *sorted(os.path.relpath(file, ROOT) for file in set(each.files)), sep="\n    ")


if __name__ == "__main__":
    main()
