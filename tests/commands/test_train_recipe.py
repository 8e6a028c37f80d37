"""Plain ``synparse train``: its result in every command, and the direction that a user states."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.main import run
from tests.support.calls import Caller, toy_text
from treebank.corpora.sample import sample_treebank

COMMANDS = """
info -m RUN
cite -m RUN
parse -m RUN text.txt --min-confidence 0.3
draw -m RUN text.txt
extract -m RUN text.txt
eval --gold gold.mrg -m RUN
analyze agreement -m RUN text.txt --baseline right
analyze sharpness -m RUN text.txt
report --gold gold.mrg -m RUN -o report.html
combine RUN baseline:right -o vote
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Result of plain ``train`` on a small text."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "text.txt").write_text(toy_text(), encoding="utf-8")
    assert run(["train", str(folder / "text.txt"), "-o", str(folder / "run"), "--branching", "right"]) == 0
    return folder / "run"


@pytest.mark.usefixtures("working_folder")
@pytest.mark.parametrize("command", COMMANDS.strip().splitlines())
def test_commands_take_the_result(call: Caller, result: Path, command: str) -> None:
    Path("text.txt").write_text(toy_text(8), encoding="utf-8")
    trees = sample_treebank("test").sentences[:8]
    Path("gold.mrg").write_text("".join(f"{sentence.tree}\n" for sentence in trees), encoding="utf-8")
    code, out, err = call(*command.replace("RUN", str(result)).split())
    assert code == 0, err
    if command.startswith("info"):
        assert "recipe: best-tiny, seed 1, " in out
        assert "parse.branching=right" in out
    if command.startswith("eval"):
        assert "|branching:right|" in out
        assert "|trained with parsed trees: recipe best-tiny (teacher)|" in out
