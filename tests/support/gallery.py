"""The pictures of docs/how-to/draw-and-report.md: its commands, run one after another, and their output.

``python -m tests.support.gallery`` runs them and stores the pictures in ``docs/pictures``.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import tempfile

from cli.main import run
from tests.support.pages import fences
from tests.support.reference import ROOT

PAGE = "docs/how-to/draw-and-report.md"
PICTURES = ROOT / "docs" / "pictures"


def make() -> dict[str, str]:
    """Run every command in the current folder: command -> its output. Raises AssertionError if one fails."""
    printed = {}
    for command in "".join(fences(PAGE)).splitlines():
        if command.startswith("printf "):
            subprocess.run(["bash", "-c", command], check=True)
            continue
        program, *arguments = shlex.split(command)
        assert program == "synparse", command
        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert run(arguments) == 0, command
        printed[command] = out.getvalue()
    return printed


def picture_names() -> list[str]:
    """The names of the pictures on the page."""
    return re.findall(r"\]\(\.\./pictures/([\w.-]+)\)", (ROOT / PAGE).read_text(encoding="utf-8"))


def terminal() -> str:
    """The terminal output on the page."""
    (text,) = fences(PAGE, "text")
    return text


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        printed = make()
        for name in picture_names():
            shutil.copy(name, PICTURES / name)
    print(next(text for command, text in printed.items() if "--width" in command))
