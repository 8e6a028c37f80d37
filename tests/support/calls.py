"""Helpers for tests of the command line: settings of a tiny model, and calls of the program."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any

import click
import pytest

from cli.main import run, synparse
from tests.support.fork_server import Call
from tests.support.reference import ROOT
from tests.support.tiny import SETTINGS, sentences
from treebank.base.metadata import seal

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("SYNPARSE_")},
    "PYTHONPATH": str(ROOT),
    "OMP_NUM_THREADS": "1",
}
PROGRAM = [sys.executable, "-m", "synparse"]


def set_options(*settings: str) -> list[str]:
    """``settings`` as options of the command line."""
    return [part for setting in settings for part in ("--set", setting)]


TINY = set_options(*SETTINGS["onlstm"])


def sealed_json(content: dict[str, Any]) -> bytes:
    """A metadata file with ``content`` and a digest that matches it."""
    return json.dumps(seal(content)).encode()


def toy_text(count: int = 100) -> str:
    """Sentences of the toy language, one per line."""
    return "".join(" ".join(sentence.words) + "\n" for sentence in sentences(count))


def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start the program as a separate process with pipes."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([*PROGRAM, *arguments], **{"env": ENVIRONMENT, **pipes, **options})


def shell(command: str, folder: Path, warm: str = "") -> subprocess.CompletedProcess[str]:
    """Run a bash command in ``folder``.

    $RUN is the program, forked by the server at the address ``warm``, if given. Python is found on PATH, since the
    path of its folder may contain spaces.
    """
    python = Path(sys.executable)
    path = f"{python.parent}{os.pathsep}{ENVIRONMENT['PATH']}"
    program = (
        f"{python.name} -IS {os.path.relpath(ROOT / 'tests' / 'support' / 'fork_server.py', folder)} {warm}"
        if warm
        else ""
    )
    environment = {**ENVIRONMENT, "PATH": path, "RUN": program or f"{python.name} -m synparse"}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Return when ``condition()`` is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


class Process:
    """The program, forked by the server at the address ``warm``, with pipes and the methods of ``subprocess.Popen``."""

    def __init__(self, warm: str, *arguments: str, stdin: int | None = None, stdout: int | None = None) -> None:
        source, feed = (stdin, -1) if stdin is not None else os.pipe()
        drain, sink = (-1, stdout) if stdout is not None else os.pipe()
        error_source, error_sink = os.pipe()
        self._call = Call(warm, arguments, streams=(source, sink, error_sink), environment=ENVIRONMENT)
        self.pid = self._call.pid
        self.returncode: int | None = None
        for end, stream in ((source, stdin), (sink, stdout), (error_sink, None)):
            if stream is None:
                os.close(end)
        self.stdin = os.fdopen(feed, "wb", buffering=0) if feed >= 0 else None
        self.stdout = os.fdopen(drain, "rb", buffering=0) if drain >= 0 else None
        self.stderr = os.fdopen(error_source, "rb", buffering=0)

    def send_signal(self, number: int) -> None:
        """Send a signal to the program, if it still runs."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self) -> int:
        """The exit code, which is the negative number of the signal for a killed call."""
        if self.returncode is None:
            self.returncode = self._call.wait()
        return self.returncode

    def communicate(self) -> tuple[bytes, bytes]:
        """Close the input and return the remaining output and errors, which must fit into a pipe.

        A program that still runs after a minute is killed, which its exit code shows.
        """
        if self.stdin:
            self.stdin.close()
        late = Timer(60, self.send_signal, (signal.SIGKILL,))
        late.start()
        out = self.stdout.read() if self.stdout else b""
        err = self.stderr.read()
        self.stderr.close()
        if self.stdout:
            self.stdout.close()
        self.wait()
        late.cancel()
        return out, err


class Caller:
    """Calls of the command line in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        self.capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return code, *self.capsys.readouterr()

    def result(self, *arguments: object) -> str:
        """Standard output of a call that must succeed."""
        code, out, err = self(*arguments)
        assert code == 0, err
        return out

    def json(self, *arguments: object) -> Any:
        """The parsed output of a call with ``--format json`` that must succeed."""
        return json.loads(self.result(*arguments, "--format", "json"))

    def refusal(self, *arguments: object, code: int = 1) -> str:
        """The one line on stderr of a call that must fail, without any result."""
        exit_code, out, err = self(*arguments)
        assert exit_code == code, err
        assert out == ""
        assert err.count("\n") == 1, err
        assert err.startswith("synparse: ")
        return err.removeprefix("synparse: ").removesuffix("\n")

    def usage(self, *arguments: object) -> str:
        """The error message of wrong usage, after the usage line."""
        code, out, err = self(*arguments)
        assert (code, out) == (2, "")
        return err.splitlines()[-1]


def calls(typed: str) -> Iterator[list[str]]:
    """Arguments of each call of synparse in a shell command, without redirections."""
    for part in typed.split(" | "):
        words = shlex.split(part.partition(" > ")[0])
        assert words[0] == "synparse"
        yield words[1:]


def check_arguments(words: list[str]) -> None:
    """Raises UsageError if the command line does not accept this call. Does not run it."""
    context = click.Context(synparse, info_name="synparse")
    command: click.Command = synparse
    while isinstance(command, click.Group):
        inner = command.get_command(context, words.pop(0))
        assert inner is not None
        command = inner
    command.make_context("synparse", words, parent=context)
