"""Exit codes, and errors in one line on stderr."""

from __future__ import annotations

import errno
from io import StringIO
from pathlib import Path

import click
import pytest

from cli.main import COMMANDS, COMPLETION, run
from cli.output import wrapped
from treebank.base.errors import SynparseError, TreebankError

BUGS = [ValueError("bug"), RuntimeError("bug"), OSError("libcuda.so not found"), OSError(errno.ECHILD, "odd")]
NO_MEMORY = "synparse: memory ran out; leave very long sentences out, or take a smaller model or batch\n"


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """List for the test to fill with the exception that the command ``boom`` raises."""
    raised: list[BaseException] = []

    @click.command()
    def boom() -> None:
        click.echo("a result")
        if raised:
            raise raised[0]

    monkeypatch.setattr("tests.cli.test_main.boom", boom, raising=False)
    monkeypatch.setitem(COMMANDS, "boom", ("tests.cli.test_main:boom", "Fails."))
    return raised


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (SynparseError("what, and\nwhat helps"), 1, "synparse: what, and what helps\n"),
        (TreebankError("a.mrg", 7, "never closed"), 1, "synparse: a.mrg:7: never closed\n"),
        (KeyboardInterrupt(), 130, "synparse: interrupted\n"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
        (
            OSError(errno.ENOSPC, "No space left on device", "out.txt"),
            1,
            "synparse: out.txt: No space left on device\n",
        ),
        (PermissionError(errno.EACCES, "Permission denied", "run"), 1, "synparse: run: Permission denied\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "synparse: the output: No space left on device\n"),
        (OSError(errno.EBUSY, "Device or resource busy", "a"), 1, "synparse: a: Device or resource busy\n"),
        (MemoryError(), 1, NO_MEMORY),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"), 1, NO_MEMORY),
        (RuntimeError("could not create a primitive"), 1, NO_MEMORY),
        (SynparseError("x" * 1500 + "y" * 5000), 1, f"synparse: {'x' * 1000} … {'y' * 667}\n"),
    ],
)
def test_errors_in_one_line(
    raising: list[BaseException], capsys: pytest.CaptureFixture[str], error: BaseException, code: int, line: str
) -> None:
    raising.append(error)
    assert run(["boom"]) == code
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("a result\n", line)


@pytest.mark.parametrize("error", BUGS)
def test_bug_keeps_its_traceback(raising: list[BaseException], error: Exception) -> None:
    raising.append(error)
    with pytest.raises(type(error)):
        run(["boom"])


def test_usage_error_has_code_2(capsys: pytest.CaptureFixture[str], raising: list[BaseException]) -> None:
    assert run(["boom"]) == 0
    assert run(["boom", "--nonsense"]) == 2
    assert run(["bom"]) == 2
    assert "did you mean 'boom'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("parse --modle mine", "No such option '--modle'. Did you mean '--model'?"),
        ("parse --zzz 2", "No such option '--zzz'."),
        ("draw", "to parse a sentence, pipe it in: echo 'the cat sat' | synparse …"),
    ],
)
def test_messages_name_the_nearest_remedy(capsys: pytest.CaptureFixture[str], arguments: str, message: str) -> None:
    assert run([*arguments.split(), "the cat sat"]) in (1, 2)
    assert capsys.readouterr().err.rstrip().endswith(message)


@pytest.mark.parametrize("command", ["parse -m english", "draw -m english", "extract -m english", "convert"])
def test_empty_input_is_reported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.txt").write_text("")
    assert run([*command.split(), "empty.txt"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("note: ")
    assert "no sentence" in captured.err


def test_lines_on_a_terminal_break_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")

    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    text = "note: a long-winded explanation of a_very_long_setting_name"
    assert wrapped(text, Terminal()) == "note: a long-winded\n  explanation of\n  a_very_long_setting_name"
    assert wrapped(text, StringIO()) == text


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out and line in out for name, (_, line) in COMMANDS.items())
    assert max(map(len, out.splitlines())) <= 80
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("synparse, version ")


@pytest.mark.parametrize("instruction", ["bash_complete", "tcsh_source", "bogus"])
def test_completion_without_its_variables_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], instruction: str
) -> None:
    monkeypatch.setenv(COMPLETION, instruction)
    assert run() == 2
    problem = f"synparse: {COMPLETION}={instruction}: give bash_source, zsh_source or fish_source\n"
    assert capsys.readouterr().err == problem


def test_deleted_folder_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "deleted"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    (tmp_path / "in.txt").write_text("A cat\n", encoding="utf-8")
    assert run(["parse", "-m", "english", str(tmp_path / "in.txt"), "-o", "out.txt"]) == 1
    assert "the current folder was deleted" in capsys.readouterr().err
