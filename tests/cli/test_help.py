"""Help texts: options in groups, and examples that can be called."""

from __future__ import annotations

import shutil
from itertools import chain
from pathlib import Path

import click
import numpy as np
import pytest

from cli.command import MIN_GROUPED_OPTIONS, Command, option_groups, walk_commands
from cli.main import COMMANDS, SECTIONS, synparse
from induce.registry import MODELS
from tests.support.calls import Caller, calls, check_arguments, toy_text

COMMANDS_BY_NAME = {
    name.removeprefix("synparse").strip(): command
    for name, command in walk_commands(synparse, "synparse")
    if isinstance(command, Command)
}
OUTPUTS = {  # commands whose examples are quick, and a part of their output
    "parse": "(X",
    "combine": "voters: 2 members vote for trees",
    "eval": "UF1",
    "perplexity": "\t",
    "extract": '{"words"',
    "decode": "(X",
    "draw": "cat",
    "convert": "dog",
    "analyze classes": "\t",
    "cite": "@software{synparse",
    "info": "onlstm",
}
MAX_BRIEF_LINES = 20
MAX_TRAIN_LINES = 45
TREE = "(S (NP-SBJ (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))\n"


@pytest.mark.parametrize("name", COMMANDS_BY_NAME)
def test_command_has_three_examples_that_can_be_called(name: str) -> None:
    command = COMMANDS_BY_NAME[name]
    assert len(command.examples) == 3
    for typed, effect in command.examples:
        assert typed.startswith(f"synparse {name} ") or typed == f"synparse {name}"
        assert len(typed) <= 77  # indented by two, of 80 columns
        assert effect.endswith(".")
        for words in calls(typed):
            check_arguments(words)


@pytest.mark.parametrize(
    ("typed", "style"),
    [
        ("--heads", "content"),
        ("--heads corpus.txt", "content"),
        ("--heads function corpus.txt", "function"),
        ("corpus.txt --heads=function", "function"),
        ("corpus.txt", None),
    ],
)
def test_style_of_heads_may_be_left_out(typed: str, style: str | None) -> None:
    context = COMMANDS_BY_NAME["train"].make_context("train", typed.split())
    assert context.params["heads"] == style
    assert context.params["text"] == (("corpus.txt",) if "corpus.txt" in typed else ())


@pytest.mark.parametrize("name", COMMANDS_BY_NAME)
def test_every_option_is_in_one_group(name: str) -> None:
    command = COMMANDS_BY_NAME[name]
    with click.Context(command, info_name=f"synparse {name}") as context:
        groups = dict(option_groups(command, context))
        count = sum(isinstance(parameter, click.Option) for parameter in command.get_params(context)) - 1  # --help
        assert sum(map(len, groups.values())) == count
        assert ("Options" in groups) == (count < MIN_GROUPED_OPTIONS)


def test_every_command_is_in_one_section() -> None:
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS_BY_NAME)
def test_brief_help_fits_on_half_a_screen(call: Caller, name: str) -> None:
    text = call.result(*name.split(), "-h")
    assert len(text.splitlines()) <= MAX_BRIEF_LINES
    assert all(f"\n  {typed}\n" in text for typed, _ in COMMANDS_BY_NAME[name].examples)
    assert text.endswith(f"synparse {name} --help\n")


def test_help_of_train_fits_on_a_screen(call: Caller) -> None:
    assert len(call.result("train", "--help").splitlines()) <= MAX_TRAIN_LINES


@pytest.mark.parametrize("name", COMMANDS_BY_NAME)
def test_help_shows_no_limits(call: Caller, name: str) -> None:
    assert "<=" not in call.result(*name.split(), "--help")


def test_table_of_models_is_complete(call: Caller) -> None:
    lines = call.result("train", "--model", "help").splitlines()
    assert sorted(line.split()[0] for line in lines if line.startswith("  ")) == sorted(MODELS)
    assert "Other models:" not in lines
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("option", "typed", "completions"),
    [
        ("models", "english-h", ["english-heads"]),
        ("models", "runs/", ["runs/"]),
        ("baselines", "balanced", ["balanced", "balanced-williams"]),
        ("conventions", "no-", ["no-punct"]),
    ],
)
def test_shell_completes_names(option: str, typed: str, completions: list[str]) -> None:
    command = COMMANDS_BY_NAME["eval"]
    [parameter] = [parameter for parameter in command.params if parameter.name == option]
    items = parameter.shell_complete(click.Context(command), typed)
    assert [item.value for item in items] == completions


def test_help_shows_groups_and_examples(call: Caller) -> None:
    text = call.result("parse", "--help")
    titles = [line.removesuffix(":") for line in text.splitlines() if line and not line.startswith((" ", "Usage"))]
    assert titles == ["Model", "Input", "Output", "General", "Examples"]
    assert all(f"\n  {typed}\n" in text for typed, _ in COMMANDS_BY_NAME["parse"].examples)
    assert max(map(len, text.splitlines())) <= 90  # click does not wrap a list of choices
    assert "agreement" in call.result("analyze", "--help")


@pytest.fixture
def files(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    for run in ("mine", "synparse-model", "runs/seed-1", "runs/seed-2"):
        shutil.copytree(model, run)
    for name in ("corpus.txt", "input.txt", "book.txt"):
        Path(name).write_text(toy_text(12), encoding="utf-8")
    Path("gold.mrg").write_text(TREE, encoding="utf-8")
    Path("trees.txt").write_text("(X (X (W the) (W dog)) (X (W sees) (X (W a) (W cat))))\n", encoding="utf-8")
    Path("numbers.jsonl").write_text('{"words": ["a", "b", "c"], "distances": [3, 1, 2]}\n', encoding="utf-8")
    np.savez("states.npz", **{"s0/hidden": np.eye(3)[None]})
    return tmp_path


@pytest.mark.parametrize("name", OUTPUTS)
def test_examples_run(call: Caller, files: Path, name: str) -> None:
    outputs = []
    for typed, _ in COMMANDS_BY_NAME[name].examples:
        if "--gold sample" in typed and name != "cite":
            typed = typed.replace("--gold sample", "--gold gold.mrg").replace("--sentences 1-5", "--sentences 1")
        words, *_ = calls(typed.replace("--threshold 0.5", "--threshold 0.5 --overwrite"))
        expanded = [sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in words]
        outputs.append(call.result(*chain.from_iterable(expanded)))
    assert any(OUTPUTS[name] in output for output in outputs)


@pytest.mark.parametrize("name", COMMANDS_BY_NAME)
def test_numbers_have_limits(name: str) -> None:
    """NumPy refuses negative seeds and torch seeds of more than 64 bits, with errors of their own."""
    for option in COMMANDS_BY_NAME[name].params:
        is_seed = "--seed" in option.opts
        if is_seed:
            assert option.type.convert("4294967295", option, None) == 2**32 - 1
        for number in [2**63, 10**30] * isinstance(option.type, click.IntRange) + [-1, 2**32] * is_seed:
            with pytest.raises(click.BadParameter):
                option.type.convert(str(number), option, None)
