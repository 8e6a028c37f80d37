"""The commands of the README and of the documentation pages run as printed, in order, with tiny models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.calls import Caller, calls, check_arguments
from tests.support.pages import PROGRAMS, commands, fences, lines, run_commands
from tests.support.reference import ROOT

OTHER_TESTS = {"draw-and-report.md": "test_gallery.py", "reproduce-papers.md": "test_tables.py"}
NOT_RUN = {  # beginning of a line -> reason
    "eval ": "sets up completion in the shell",
    "_SYNPARSE_COMPLETE=": "sets up completion in the shell",
    "PPL|": "a signature",
}
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
MODELS = {  # models that a page assumes, by the folder in which it expects them
    "udgn.md": {"dmv": "dmv"},
    "ensembles.md": {"onlstm": "onlstm"},
    "conventions.md": {"mine": "onlstm"},
    "formats.md": {"runs/mine": "onlstm"},
    "check-your-trees.md": {"runs/mine": "onlstm"},
    "best-trees.md": {"runs/onlstm": "onlstm", "runs/prpn": "prpn", "runs/dmv": "dmv", "runs/npcfg": "npcfg"},
    "language-models.md": {"runs/transformer": "transformer"},
    "large-corpora.md": {"runs/mine": "onlstm"},
    "minimal-pairs.md": {"runs/onlstm": "onlstm", "runs/npcfg": "npcfg"},
    "parse.md": {"runs/mine": "onlstm"},
    "perplexity.md": {"runs/onlstm": "onlstm", "runs/lstm": "lstm", "runs/family/seed-1": "lstm"},
    "select-without-gold.md": {
        **{"runs/onlstm": "onlstm", "runs/prpn": "prpn", "runs/npcfg": "npcfg"},
        **{f"runs/family/seed-{seed}": "npcfg" for seed in (1, 2, 3)},
    },
    "sentence-vectors.md": {"runs/udgn": "udgn"},
}


PYTHON = ("README.md", "docs/reference/sample.md", "docs/reference/formats.md", "docs/how-to/best-trees.md")


def pages() -> list[str]:
    """The README and the pages with commands or short programs that no other test runs."""
    with_commands = (page for page in PAGES if lines(page) and Path(page).name not in OTHER_TESTS)
    return list(dict.fromkeys((*PYTHON, *with_commands)))


@pytest.mark.parametrize("page", pages())
def test_every_command_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], warm: str
) -> None:
    models = MODELS.get(Path(page).name, {})
    first = [f"synparse train text.txt --model {model} -o {folder}" for folder, model in models.items()]
    run_commands(page, tmp_path, monkeypatch, capsys, first, warm)
    for program in fences(page, "python") if page in PYTHON else ():
        exec(program, {})
        assert capsys.readouterr().out
    if page in ("README.md", "docs/tutorials/first-parser.md"):
        trees = (tmp_path / "trees.txt").read_text(encoding="utf-8").splitlines()
        assert [tree.count("(W ") for tree in trees] == [7, 7]


@pytest.mark.parametrize("page", ["README.md", *PAGES])
def test_commands_that_are_too_long_to_run_are_accepted(page: str) -> None:
    """Blocks of bash have the commands that need data, several machines or hours."""
    text = "".join(fences(page, "bash")).replace("\\\n", " ")
    for line in re.findall(r"^ *(?:torchrun .* -m )?(synparse [a-z].*)", text, re.MULTILINE):
        for words in calls(line):
            check_arguments(words)


def test_evaluation_tutorial_has_the_scores_of_its_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its tables are compared with the output of its first seven commands, on the complete sample."""
    page = "docs/tutorials/evaluation.md"
    monkeypatch.chdir(tmp_path)
    call = Caller(capsys)
    printed = "".join(call.result(*arguments) for arguments, _ in commands(page)[:7]).splitlines()
    assert [line for line in "".join(fences(page, "text")).splitlines() if line not in printed] == []


def test_every_fenced_command_is_run_or_listed() -> None:
    for page in ["README.md", *PAGES]:
        commands = [line.strip() for line in "".join(fences(page)).splitlines() if "synparse " in line]
        assert [line for line in commands if not line.startswith((*PROGRAMS, "$ ", *NOT_RUN))] == [], page
    assert sum(len(lines(page)) for page in PAGES) > 100
