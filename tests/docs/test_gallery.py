"""The page about drawings shows the output of its commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import gallery
from tests.support.browser import needs_fonts


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


@needs_fonts
def test_search_picture_has_the_matches(tmp_path: Path) -> None:
    picture, text = gallery.search_picture(tmp_path)
    assert "2 sentences, 3 matches" in text
    assert "pets.trees:2" in text
    size = slice(16, 24)  # width and height in a PNG file
    assert (gallery.PICTURES / gallery.SEARCH_PICTURE).read_bytes()[size] == picture[size]
