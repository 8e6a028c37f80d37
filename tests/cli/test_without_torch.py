"""The light installation: what works without torch, and one line for what needs it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.calls import ENVIRONMENT
from tests.support.reference import ROOT

PROGRAM = "import sys; sys.modules['torch'] = None; from cli.main import run; sys.exit(run(sys.argv[1:]))"
TREES = "(S (NP (DT the) (NN cat)) (VP (VBD sat)))\n" * 3


def call_without_torch(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A call of the program in a process in which torch cannot be imported."""
    (folder / "text.txt").write_text("the cat sat\n", encoding="utf-8")
    (folder / "trees.mrg").write_text(TREES, encoding="utf-8")
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)


@pytest.mark.parametrize(
    "arguments",
    [
        "parse -m english text.txt",
        "parse -m english-heads text.txt",
        "draw -m english text.txt",
        "eval --gold trees.mrg -m english --baseline right",
        "search NP trees.mrg",
        "phrases --min-count 1 trees.mrg",
        "info -m english",
        "info",
    ],
)
def test_command_works_without_torch(tmp_path: Path, arguments: str) -> None:
    done = call_without_torch(tmp_path, *arguments.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("arguments", ["train --model onlstm text.txt", "parse -m english-grammar text.txt"])
def test_missing_torch_is_one_line(tmp_path: Path, arguments: str) -> None:
    done = call_without_torch(tmp_path, *arguments.split())
    assert done.returncode == 1
    assert done.stderr.startswith("synparse: torch is not installed")
    assert "pip install torch" in done.stderr
    assert done.stderr.count("\n") == 1


def test_light_requirements_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    light = [line for line in (ROOT / "requirements-light.txt").read_text("utf-8").splitlines() if line[0] != "#"]
    assert light == [name for name in project["dependencies"] if not re.match(r"torch\b", name)]
