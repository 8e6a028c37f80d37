"""The tables of docs/how-to/reproduce-papers.md are complete, and its commands run with tiny models."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from induce.registry import MODELS, TASKS
from tests.support.pages import commands, run_commands
from tests.support.reference import ROOT

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
            assert arguments[1] in ("options", "curves", "transfer") or arguments[2] in TASKS
        else:
            assert named.get("--model", "lstm") in MODELS
