"""The notebook of the documentation runs, and shows what is stored in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.notebooks import run_cells
from tests.support.reference import ROOT


def kinds(outputs: list[dict[str, Any]]) -> list[list[str]]:
    """The MIME types of each output."""
    return [sorted(output.get("data", ["stream"])) for output in outputs]


def test_the_tour_runs_and_shows_what_is_stored_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "docs" / "tutorials" / "tour.ipynb").read_text(encoding="utf-8"))
    stored = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    fresh_outputs = run_cells(notebook)
    assert [kinds(outputs) for outputs in fresh_outputs] == [kinds(outputs) for outputs in stored]
    assert all(stored)
    tables = ["".join(outputs[3][0]["data"]["text/html"]) for outputs in (fresh_outputs, stored)]
    baselines = [re.sub(r' title="[^"]*"', "", table) for table in tables]  # signatures name the version
    assert baselines[0] == baselines[1]
    assert "right" in baselines[0]


def test_failing_cell_raises() -> None:
    cell = {"cell_type": "code", "source": ["x = 1\n", "x / 0"]}
    with pytest.raises(ZeroDivisionError):
        run_cells({"cells": [cell]})
