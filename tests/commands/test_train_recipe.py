"""Plain ``synparse train``: its result in every command, and the direction that a user states."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command import walk_commands
from cli.main import run, synparse
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
sample text.txt -m RUN --count 3 -o check.html
search X text.txt -m RUN
phrases text.txt -m RUN
browse text.txt -m RUN -o corpus.html
combine RUN baseline:right -o vote
"""
REFUSALS = {
    "perplexity -m RUN text.txt": "assigns no probabilities to text",
    "pairs -m RUN pairs.tsv": "assigns no probabilities to sentences",
    "generate -m RUN": "is not a grammar to draw from",
    "analyze gaps -m RUN text.txt": "word boundaries need a model of characters",
    "analyze channels -m RUN --gold gold.mrg": "has no channels or attention heads",
    "analyze grammar -m RUN": "has no grammar over word classes or symbols",
    "task eval listops -m RUN": "has learned plain text, not task 'listops'",
    "task transfer -m RUN -o skill": "cannot act in Craft",
    "task options -m RUN": "has learned plain text, not task 'craft'",
    "task curves -m RUN": "has learned plain text, not task 'craft'",
}  # of commands for models of other kinds


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Result of plain ``train`` on a small text."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "text.txt").write_text(toy_text(), encoding="utf-8")
    assert run(["train", str(folder / "text.txt"), "-o", str(folder / "run"), "--branching", "right"]) == 0
    return folder / "run"


@pytest.fixture
def files(working_folder: Path) -> None:
    """Text, gold trees and minimal pairs in the working folder."""
    Path("text.txt").write_text(toy_text(8), encoding="utf-8")
    trees = sample_treebank("test").sentences[:8]
    Path("gold.mrg").write_text("".join(f"{sentence.tree}\n" for sentence in trees), encoding="utf-8")
    Path("pairs.tsv").write_text("the cat sees\tthe cat see\n", encoding="utf-8")


def test_all_commands_with_a_model_are_called() -> None:
    called = [command.partition(" -m ")[0] for command in (*COMMANDS.splitlines(), *REFUSALS)]
    for name, command in walk_commands(synparse, ""):
        if any("-m" in parameter.opts for parameter in command.params):
            assert any(f" {words} ".startswith(f"{name} ") for words in called), name


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("command", "reason"), REFUSALS.items())
def test_other_commands_say_why_they_refuse_the_result(call: Caller, result: Path, command: str, reason: str) -> None:
    assert reason in call.refusal(*command.replace("RUN", str(result)).split())


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", COMMANDS.strip().splitlines())
def test_commands_take_the_result(call: Caller, result: Path, command: str) -> None:
    code, out, err = call(*command.replace("RUN", str(result)).split())
    assert code == 0, err
    if command.startswith("info"):
        assert "recipe: best-tiny, seed 1, " in out
        assert "parse.branching=right" in out
    if command.startswith("eval"):
        assert "|branching:right|" in out
        assert "|trained with parsed trees: recipe best-tiny (teacher)|" in out


@pytest.mark.usefixtures("files")
def test_limit_above_all_confidences_is_noted(call: Caller, result: Path) -> None:
    code, out, err = call("parse", "-m", str(result), "text.txt", "--min-confidence", "1")
    assert code == 0
    assert "note: --min-confidence 1 leaves out every phrase: the confidences of model 'chart' are from 0." in err
    assert all(line.count("(X") <= 1 for line in out.splitlines())
