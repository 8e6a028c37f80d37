"""Interrupted and killed training can be resumed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.calls import TINY, Caller, Process, toy_text, wait_for
from tests.support.model_files import MODEL, RESUME, content_of, rewrite
from tests.support.tiny import assert_equal_weights
from tests.support.working_folder import write

pytestmark = pytest.mark.usefixtures("working_folder")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_training_and_keeps_the_model(call: Caller, number: signal.Signals, warm: str) -> None:
    import torch

    arguments = ["train", write("text.txt", toy_text()), *TINY]
    process = Process(warm, *arguments, "-o", "cut", "--set", "train.epochs=100000")
    wait_for(lambda: Path("cut/log.jsonl").exists() and b"check" in Path("cut/log.jsonl").read_bytes())
    process.send_signal(number)
    out, err = process.communicate()
    assert (process.returncode, out) == (128 + number, b"")
    *rest, finished, decoder, direction, warning, where = err.decode().splitlines()
    assert decoder == "decoder unbiased"
    assert direction.startswith("branching direction: right with probability 0.56, estimated")
    assert warning.startswith("warning: the text gives weak evidence")
    assert "stopping, saving and scoring the model … (Ctrl-C again ends at once)" in rest
    assert finished.startswith("interrupted after ")
    assert where == "model folder: cut; to continue: synparse train --resume -o cut"
    call.result("parse", "-m", "cut", "text.txt")
    epochs = content_of(Path("cut", RESUME))["facts"]["epoch"] + 1
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as in the process
    try:
        call.result("train", "--resume", "-o", "cut", "--set", f"train.epochs={epochs}")
        call.result(*arguments, "-o", "whole", "--set", f"train.epochs={epochs}")
    finally:
        torch.set_num_threads(threads)
    assert_equal_weights(Path("whole"), Path("cut"))


def test_second_interruption_names_the_model_and_the_way_to_continue(
    copy: Path, monkeypatch: pytest.MonkeyPatch, call: Caller
) -> None:
    def interrupted(*arguments: Any, **options: Any) -> Iterator[Any]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("induce.training.loop.Trainer.train", interrupted)
    code, _, err = call("train", "--resume", "-o", copy)
    assert code == 130
    assert " ".join(err.split()).endswith(
        f"synparse: interrupted; the model so far can parse: synparse parse -m {copy} TEXT; "
        f"to continue: synparse train --resume -o {copy}"
    )


def test_training_killed_in_the_first_epoch_can_be_resumed(call: Caller, warm: str) -> None:
    write("text.txt", toy_text(600))
    process = Process(warm, "train", "text.txt", "-o", "run", *TINY, "--set", "train.epochs=1")
    wait_for(lambda: Path("run", RESUME).exists())
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not Path("run", MODEL).exists()
    call.result("train", "--resume", "-o", "run")
    call.result("parse", "-m", "run", "text.txt")


def test_time_limit_applies_to_each_call(call: Caller, copy: Path) -> None:
    rewrite(copy / RESUME, state=lambda state: {**state, "position": {**state["position"], "seconds": 7200.0}})
    _, _, err = call("train", "--resume", "-o", copy, "--set", "train.epochs=5", "--max-minutes", "5")
    assert "all epochs done" in err
