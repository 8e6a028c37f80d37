"""Small things that cost a newcomer time: completion, spelling of names, model folders as arguments, settings."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from induce.config import resolve
from tests.cli.helpers import ENVIRONMENT, PROGRAM, Caller


def completed(words: str) -> list[str]:
    environment = {
        **ENVIRONMENT,
        "_SYNPARSE_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(PROGRAM, env=environment, capture_output=True, text=True, check=True)
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_completion_of_commands_and_options() -> None:
    assert completed("synparse par") == ["parse"]
    assert "--decoder" in completed("synparse parse --d")


@pytest.mark.parametrize("name", ["ON-LSTM", "OnLstm", "on_lstm"])
def test_spelling_of_models(name: str) -> None:
    assert resolve(model=name).model_name == "onlstm"


def test_model_folders_as_arguments(call: Caller, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in "12":
        shutil.copytree(model, f"runs/seed-{seed}")
    code, out, err = call("eval", "--gold", "sample", "-m", "runs/seed-1", "runs/seed-2", "--max-length", "5", "--json")
    assert code == 0, err
    assert [score["model"] for score in json.loads(out)["scores"]] == ["runs/seed-1", "runs/seed-2"]


def test_every_setting_is_explained(call: Caller) -> None:
    lines = call.result("info", "--settings", "onlstm").splitlines()
    names = {line.partition(":")[0] for line in lines[1:]}
    config = resolve(model="onlstm").as_dict()
    assert names == {f"{table}.{key}" for table in ("model", "data", "train", "parse") for key in config[table]}
    assert any(
        line.startswith("train.clip: float, default 0.25; from 1e-09 to 1e+09; global gradient norm") for line in lines
    )
