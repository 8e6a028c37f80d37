"""Help: options in groups by what they are for, and two examples of each command, which are right."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click
import pytest

from cli.examples import EXAMPLES
from cli.help import FEWEST, GROUPS, OTHERS, examples_of, option_groups
from cli.main import COMMANDS, synparse
from cli.manual import commands_of, manual_page
from tests.support.calls import Caller, toy_text

PAGES = {name.removeprefix("synparse").strip(): command for name, command in commands_of(synparse, "synparse")}
RUN = {  # of the examples those that take no long training, and what they write into a file or onto the screen
    "parse": "(X",
    "combine": "voters: 2 members vote for trees",
    "eval": "UF1",
    "score": "\t",
    "embed": '{"words"',
    "extract": '{"words"',
    "decode": "(X",
    "draw": "cat",
    "convert": "dog",
    "classes": "\t",
    "cite": "@software{synparse",
    "info": "onlstm",
    "pack": "sha256",
}
TREE = "(S (NP-SBJ (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))\n"


def calls(typed: str) -> Iterator[list[str]]:
    """The calls of synparse in a line of a shell: what stands between pipes, without what goes to files."""
    for part in typed.split(" | "):
        words = shlex.split(part.partition(" > ")[0])
        assert words[0] == "synparse"
        yield words[1:]


def parsed(words: list[str]) -> None:
    """Whether the command line takes this call; nothing is run."""
    context = click.Context(synparse, info_name="synparse")
    command: click.Command = synparse
    while isinstance(command, click.Group):
        inner = command.get_command(context, words.pop(0))
        assert inner is not None
        command = inner
    command.make_context("synparse", words, parent=context)


@pytest.mark.parametrize("name", [name for name in PAGES if name])
def test_every_command_has_two_examples_that_can_be_called(name: str) -> None:
    examples = EXAMPLES[name]
    assert len(examples) == 2
    for typed, told in examples:
        assert typed.startswith(f"synparse {name} ") or typed == f"synparse {name}" or name == "analyze"
        assert len(typed) <= 77  # indented by two, of 80 columns
        assert told
        for words in calls(typed):
            parsed(words)


def test_every_option_stands_in_a_group_once() -> None:
    for name, command in PAGES.items():
        with click.Context(command, info_name=f"synparse {name}") as context:
            groups = dict(option_groups(command, context))
            count = sum(isinstance(one, click.Option) for one in command.get_params(context))
            assert sum(map(len, groups.values())) == count
            assert (OTHERS in groups) == (count < FEWEST), (name, groups.get(OTHERS))


def test_help_and_manual_page_show_groups_and_examples(call: Caller) -> None:
    shown = call.result("parse", "--help")
    titles = [line.removesuffix(":") for line in shown.splitlines() if line and not line.startswith((" ", "Usage"))]
    assert titles == ["The model", "What is read", "What is written", "The call", "Examples"]
    assert all(f"\n  {typed}\n" in shown for typed, _ in EXAMPLES["parse"])
    assert max(map(len, shown.splitlines())) <= 90  # click lets a list of choices run over
    page = manual_page("synparse parse", PAGES["parse"])
    assert page.index(".SS The model") < page.index(r"\-\-decoder") < page.index(".SH EXAMPLES")
    assert r"\fBsynparse parse \-m mine input.txt > trees.txt\fR" in page
    assert "Examples:\n  synparse analyze agreement " in call.result("analyze", "--help")


def test_no_option_is_sorted_that_is_not_there() -> None:
    there = {one.opts[-1] for command in PAGES.values() for one in command.params} | {"--help"}
    assert {option for options in GROUPS.values() for option in options.split()} <= there
    with click.Context(PAGES["cite"], info_name="synparse cite") as context:
        assert examples_of(context) == EXAMPLES["cite"]
    assert set(COMMANDS) <= set(EXAMPLES)


@pytest.fixture
def place(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    for run in ("mine", "synparse-model", "runs/seed-1", "runs/seed-2"):
        shutil.copytree(model, run)
    for name in ("corpus.txt", "input.txt", "book.txt"):
        Path(name).write_text(toy_text(12), encoding="utf-8")
    Path("gold.mrg").write_text(TREE, encoding="utf-8")
    Path("trees.txt").write_text("(X (X (W the) (W dog)) (X (W sees) (X (W a) (W cat))))\n", encoding="utf-8")
    Path("numbers.jsonl").write_text('{"words": ["a", "b", "c"], "distances": [3, 1, 2]}\n', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", RUN)
def test_examples_run(call: Caller, place: Path, name: str) -> None:
    for typed, _ in EXAMPLES[name]:
        if "--gold sample" in typed and name != "cite":
            typed = typed.replace("--gold sample", "--gold gold.mrg").replace("--sentences 1-5", "--sentences 1")
        words, *_ = calls(typed.replace("--threshold 0.5", "--threshold 0.5 --overwrite"))
        found = [sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in words]
        out = call.result(*chain.from_iterable(found))
        assert RUN[name] in out or "-o" in words
