"""Killed commands lose nothing and can be repeated, for every type of command that writes files.

Each call receives SIGKILL at an operation on a file or at a random moment, up to `MAX_KILLS` times, and is repeated
until it ends. Its files are compared with those of an undisturbed call, except times. Complete files stay complete.
$SYNPARSE_KILL_ROUNDS (default 2) is the number of such calls for each command, $SYNPARSE_SEED their seed.
"""

from __future__ import annotations

import builtins
import io
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from induce.data.prepared import PreparedCorpus
from induce.parsing.load import load_parser
from induce.storage.outputs import resumable
from tests.stress.small_runs import (
    TASKS,
    Digests,
    complete_models,
    digest,
    digests_of_run,
    files,
    training,
    weights,
    write_texts,
)
from tests.support.calls import ENVIRONMENT
from tests.support.fork_server import Call
from tests.support.tiny import SETTINGS

ROUNDS = int(os.environ.get("SYNPARSE_KILL_ROUNDS", "2"))
SEED = os.environ.get("SYNPARSE_SEED", "1")
MAX_KILLS = 3
AT_OPERATION = 0.7  # share of the kills that are at an operation on a file
LIMIT_SECONDS = 300.0
PROGRAM = "from tests.stress.test_kills import main; main()"
OPERATIONS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod")
COUNT = ".count"  # file with the number of operations of a call that was not killed
INTO = "parse -m model in --output-dir out --resume"
VOTERS = "combine model@layer=1 model@layer=2 baseline:right -o vote --overwrite"


@dataclass(frozen=True)
class Command:
    """A command in a folder, the digests of its files, and its complete outputs (an error if one is damaged)."""

    text: str | Callable[[Path], list[str]]  # arguments; empty if nothing is left to do
    digests: Callable[[Path], Digests] = lambda folder: files(folder, "out")
    complete: Callable[[Path], set[str]] = lambda folder: set()

    def arguments(self, folder: Path) -> list[str]:
        """Arguments of the next call."""
        return self.text.split() if isinstance(self.text, str) else self.text(folder)


def train_command(model: str) -> Command:
    """Training of a model or task, which is resumed after a kill."""
    return Command(
        lambda folder: training(model, resume=model not in TASKS or resumable(folder / "run")),
        digests_of_run,
        complete_models,
    )


def votes(folder: Path) -> Digests:
    """Digest of the members of an ensemble, without their paths."""
    members = json.loads((folder / "vote/ensemble.json").read_bytes())["members"]
    return {"members": digest([{key: value for key, value in member.items() if key != "path"} for member in members])}


def complete_vote(folder: Path) -> set[str]:
    """The ensemble, if it exists."""
    if not (folder / "vote/ensemble.json").exists():
        return set()
    load_parser(str(folder / "vote"))
    return {"vote"}


def complete_corpus(folder: Path) -> set[str]:
    """The prepared corpus, if it exists."""
    if not (folder / "corpus").exists():
        return set()
    PreparedCorpus.read(folder / "corpus")
    return {"corpus"}


def output(text: str, name: str = "out") -> Command:
    """Command that writes the file ``name``."""
    complete = lambda folder: {name} if (folder / name).exists() and (folder / name).stat().st_size else set()  # noqa: E731
    return Command(text if " -o " in text else f"{text} -o {name}", lambda folder: files(folder, name), complete)


SEEDS = " ".join([*training("onlstm", resume=True), "--seeds", "1,2"])
PREPARED = [word if word != "text.txt" else "prepared" for word in training("onlstm", resume=True)]
COMMANDS = {
    **{model: train_command(model) for model in (*SETTINGS, *TASKS)},
    "two seeds": Command(SEEDS, lambda folder: weights(folder, "run"), complete_models),
    "prepared": Command(lambda folder: PREPARED, digests_of_run, complete_models),
    "parse into a folder": Command(INTO),
    "parse into JSON lines": Command(f"{INTO} --format jsonl"),
    "parse heads into a folder": Command(INTO.replace("model", "heads")),
    "parse in shards": Command(f"{INTO} --workers 2"),
    "combine": Command(VOTERS, votes, complete_vote),
    "combine into a file": output(VOTERS.replace("vote", "vote.safetensors"), "vote.safetensors"),
    "data prepare": Command(
        lambda folder: [] if (folder / "corpus").exists() else ["data", "prepare", "text.txt", "-o", "corpus"],
        lambda folder: files(folder, "corpus"),
        complete_corpus,
    ),
    "parse": output("parse -m model text.txt"),
    "extract": output("extract -m model text.txt"),
    "perplexity": output("perplexity -m model text.txt --per word"),
    "decode": output("decode lines.jsonl"),
    "convert": output("convert trees.mrg --format spans"),
    "classes": output("analyze classes text.txt --classes 4"),
    "report": output("report -m model --gold trees.mrg --pictures 1"),
    "draw": output("draw trees.mrg -o out.svg", "out.svg"),
    "vectors": output("extract -m model text.txt --what vectors -o out.npz", "out.npz"),
}


def call(warm: str, folder: Path, arguments: list[str], *, kill_at: int = 0, kill_after: float = LIMIT_SECONDS) -> int:
    """Exit code of a call in ``folder``, killed at an operation or after a number of seconds."""
    with open(folder / ".err", "wb") as err, open(os.devnull, "r+b") as nothing:
        streams = (nothing.fileno(), nothing.fileno(), err.fileno())
        program = [str(kill_at), str(folder), *arguments]
        process = Call(warm, program, program=PROGRAM, streams=streams, environment=ENVIRONMENT)
        timer = Timer(kill_after, os.kill, (process.pid, signal.SIGKILL))
        timer.start()
        code = process.wait()
        timer.cancel()
    return code


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, warm: str) -> Path:
    """Folder with the texts and models that the commands read."""
    folder = tmp_path_factory.mktemp("base")
    write_texts(folder)
    trainings = (training("onlstm", run="model"), training("udgn", run="heads"))
    extraction = ["extract", "-m", "model", "text.txt", "-o", "lines.jsonl"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for arguments in (*trainings, ["data", "prepare", "text.txt", "-o", "prepared"], extraction):
            assert call(warm, folder, list(arguments)) == 0, (folder / ".err").read_text()
    return folder


def fresh(base: Path, folder: Path) -> Path:
    """Empty ``folder`` except for links to the files of ``base``."""
    for path in folder.iterdir():
        path.unlink() if path.is_symlink() or path.is_file() else shutil.rmtree(path)
    for path in base.iterdir():
        (folder / path.name).symlink_to(path)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_command_loses_nothing_and_can_be_repeated(
    name: str, base: Path, tmp_path: Path, warm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = COMMANDS[name]
    monkeypatch.chdir(tmp_path)
    began = time.monotonic()
    assert call(warm, tmp_path, command.arguments(fresh(base, tmp_path))) == 0, (tmp_path / ".err").read_text()
    seconds, operations = time.monotonic() - began, int((tmp_path / COUNT).read_text())
    expected = command.digests(tmp_path)
    draw = random.Random(f"{SEED} {name}")
    for _ in range(ROUNDS):
        fresh(base, tmp_path)
        complete: set[str] = set()
        for _ in range(draw.randint(1, MAX_KILLS)):
            at_operation = draw.random() < AT_OPERATION
            kill_at = draw.randint(1, operations) if at_operation else 0
            kill_after = LIMIT_SECONDS if at_operation else draw.uniform(0, seconds)
            arguments = command.arguments(tmp_path)
            if not arguments or call(warm, tmp_path, arguments, kill_at=kill_at, kill_after=kill_after) == 0:
                break
            assert complete <= (complete := command.complete(tmp_path))
        if arguments := command.arguments(tmp_path):
            assert call(warm, tmp_path, arguments) == 0, (tmp_path / ".err").read_text()
        assert command.digests(tmp_path) == expected


def is_below(home: str, path: object) -> bool:
    """Whether the operand of a file operation is a path below ``home`` or a relative path."""
    name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
    return bool(name) and (name.startswith(home) or not name.startswith("/"))


def main() -> None:
    """Run ``KILL_AT FOLDER ARGUMENT…``: the command, killed at an operation on a file below FOLDER (never if 0).

    Opening a file for writing counts twice: before the call, and after it, when the file is still empty. If a child
    process reaches the number first, both are killed. A training is saved after every step.
    """
    from cli.main import run
    from induce.training import loop

    kill_at, home, *arguments = sys.argv[1:]
    loop.SAVE_SECONDS = -1.0
    count, real, caller = 0, os.fsync, os.getpid()

    def count_operation() -> None:
        nonlocal count
        count += 1
        if count == int(kill_at):
            if os.getppid() == caller:  # a child process, which continues the count of its parent
                os.kill(caller, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, values: tuple[Any, ...]) -> None:
        if event in OPERATIONS and is_below(home, values[0]):
            count_operation()

    def counting(opens: Callable[..., Any], writes: Callable[[Any], bool]) -> Callable[..., Any]:
        """The function ``opens``, which also counts each file that it has opened for writing."""

        def call(path: Any, mode: Any = "r", *rest: Any, **options: Any) -> Any:
            opened = opens(path, mode, *rest, **options)
            if is_below(home, path) and writes(mode):
                count_operation()
            return opened

        return call

    def fsync(descriptor: int) -> None:
        count_operation()
        real(descriptor)

    os.fsync = fsync
    os.open = counting(os.open, lambda flags: flags & (os.O_WRONLY | os.O_RDWR) != 0)
    io.open = builtins.open = counting(open, lambda mode: not set(mode).isdisjoint("wax+"))
    sys.addaudithook(hook)
    code = run(arguments)
    total = count
    Path(home, COUNT).write_text(str(total))
    sys.exit(code)
