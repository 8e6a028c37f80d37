"""The page about drawings shows the output of its commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import gallery


def test_pictures_are_the_output_of_their_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SYNPARSE_MODEL", raising=False)
    printed = gallery.make()
    names = gallery.picture_names()
    assert len(names) >= 6
    for name in names:
        stored = (gallery.PICTURES / name).read_text(encoding="utf-8")
        assert Path(name).read_text(encoding="utf-8") == stored, name
    (drawn,) = [text for command, text in printed.items() if "--width" in command]
    assert drawn.rstrip("\n") == gallery.terminal().rstrip("\n")
