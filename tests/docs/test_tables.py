"""The tables of docs/how-to/reproduce-papers.md are complete, and its commands run with tiny models."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import click
import pytest

from cli.command import walk_commands
from cli.main import COMMANDS, synparse
from induce.registry import MODELS, PURPOSES
from induce.storage.locate import parse_model_spec
from tests.support.pages import commands, run_commands
from tests.support.reference import ROOT
from treebank.base.errors import SynparseError

PAGE = "docs/how-to/reproduce-papers.md"


def test_every_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_commands(PAGE, tmp_path, monkeypatch, capsys)
    assert (tmp_path / "figure-4.jsonl").read_text(encoding="utf-8").count("\n") == 12


def test_the_page_has_a_row_for_each_table() -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    parts = {part.split(" (")[0].split("\n")[0]: part for part in text.split("\n## ")[1:]}
    expected = {
        "PRPN": range(1, 6),
        "ON-LSTM": range(1, 4),
        "Ordered Memory": range(4, 6),
        "UDGN": range(6, 12),
        "Option-Controller Network": range(12, 14),
        "SDLM": range(1, 5),
    }
    for name, tables in expected.items():
        for table in tables:
            assert f"\n| table {table}" in parts[name], (name, table)


def test_commands_name_existing_options() -> None:
    for arguments, _ in commands(PAGE):
        named = dict(pairwise(arguments))
        if arguments[0] == "task":
            assert arguments[1] in ("options", "curves", "transfer") or arguments[2] in PURPOSES
        else:
            assert named.get("--model", "lstm") in MODELS


def codes_in_cells(page: str) -> list[str]:
    """The code in the columns "command" of the tables of a page."""
    codes = []
    for table in re.findall(r"(?:^\|.*\n)+", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE):
        header, _, *rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
        if "command" in header:
            codes += re.findall(r"`([^`]+)`", "\n".join(row[header.index("command")] for row in rows))
    return codes


def check_code(code: str) -> None:
    """Raises ClickException or SynparseError for a command, option or model option that does not exist.

    Code of several words is a command, begins with an option or runs a module of Python. One word can also be a preset,
    a setting or a value.
    """
    words = shlex.split(code.removeprefix("synparse "))
    if words[:2] == ["python", "-m"]:
        assert find_spec(words[2]), code
    elif code.startswith("@"):
        parse_model_spec(f"model{code}")
    elif words[0].startswith("-"):
        check_options(code, words)
    elif len(words) > 1 or words[0] in COMMANDS:
        check_arguments(synparse, words)


def check_options(code: str, words: list[str]) -> None:
    """Raises ClickException unless the options in ``words`` are those of one command."""
    for _, command in walk_commands(synparse, "synparse"):
        try:
            check_arguments(command, words)
        except click.ClickException:
            continue
        return
    raise click.UsageError(f"no command has these options: {code}")


def check_arguments(command: click.Command, words: list[str]) -> None:
    """Raises ClickException for options and values that ``command`` does not take.

    Required options, and the value of the last option, may be missing.
    """
    context = click.Context(command)
    if isinstance(command, click.Group) and words and not words[0].startswith("-"):
        _, subcommand, words = command.resolve_command(context, words)
        assert subcommand is not None
        check_arguments(subcommand, words)
        return
    parameters = {name: parameter for parameter in command.params for name in parameter.opts}
    last = parameters.get(words[-1]) if words else None
    if isinstance(last, click.Option) and not last.is_flag:
        words = words[:-1]
    values, rest, order = command.make_parser(context).parse_args(list(words))
    if rest:
        raise click.UsageError(f"unexpected argument {rest[0]!r}")
    for option in (parameter for parameter in order if isinstance(parameter, click.Option)):
        option.type_cast_value(context, values[option.name])


def test_commands_in_cells_exist() -> None:
    codes = codes_in_cells(PAGE)
    assert len(codes) > 40
    for code in codes:
        check_code(code)


@pytest.mark.parametrize(
    "code",
    [
        *("eval --by labels", "evl --by height", "analyze gap", "draw --heigth", "--baselines right", "@leyer=2"),
        *("task train logic --max-minutes soon", "--by labels", "combine --heads=7"),
    ],
)
def test_wrong_commands_are_found(code: str) -> None:
    with pytest.raises((click.ClickException, SynparseError)):
        check_code(code)
