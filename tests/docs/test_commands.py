"""The commands of the pages of reference and results run in order, with tiny models and a few sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import commands, run_commands
from tests.support.reference import ROOT

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("docs/reference", "docs/results")
    for path in (ROOT / folder).rglob("*.md")
)
ASSUMED = {"udgn.md": ("dmv", "dmv"), "ensembles.md": ("onlstm", "onlstm"), "conventions.md": ("onlstm", "mine")}


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_every_command_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, folder = ASSUMED.get(Path(page).name, ("", ""))
    first = [["train", "text.txt", "--model", model, "-o", folder]] if model else []
    run_commands(page, tmp_path, monkeypatch, capsys, *first)
