"""Characters without a glyph are reported before a PDF or PNG is written, with and without Typst."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from treebank.base.errors import SynparseError
from treebank.core.tree import Tree
from treebank.draw.picture import Analysis, Picture
from treebank.draw.picture_files import write_pictures

UNDRAWN = ("友", "x\u0301", "\U0001f4a5", "\u2603", "\u0378", "\ue123")


class FakeTypstError(Exception):
    """The error of a Typst that has no font for some characters."""


def compile_without_fonts(source: bytes, **options: Any) -> bytes:
    """Refuse the texts of UNDRAWN as Typst does, which may name the letter below a combining mark."""
    texts = re.findall(r'font: \([^)]*\), "(.*)"\)', source.decode())
    missing = next((text for text in texts for characters in UNDRAWN if characters in text), "")
    if missing and "pdf_standards" in options:
        raise FakeTypstError(f'PDF/A-2b error: the text `"{missing[0]}"` could not be displayed with font `"Any"`')
    return b"%PDF"


@pytest.fixture
def without_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typst", SimpleNamespace(compile=compile_without_fonts, TypstError=FakeTypstError))


def draw(words: tuple[str, ...], path: Path) -> None:
    write_pictures([Picture("", (Analysis.of_tree(Tree.from_spans(words, [])),))], str(path))


PROBLEMS = {
    "友情": "the CJK character '友' (CJK UNIFIED IDEOGRAPH-53CB); install one, such as Noto Sans CJK SC",
    "ax\u0301": "the Latin character 'x\u0301' (LATIN SMALL LETTER X, COMBINING ACUTE ACCENT); "
    "install one, such as Noto Sans",
    "\U0001f4a5": "the character '\U0001f4a5' (COLLISION SYMBOL); install one, such as Noto Emoji",
    "\u2603": "the character '\u2603' (SNOWMAN); install one, such as Noto Sans Symbols 2",
    "\u0378": "the character '\\u0378' (U+0378)",
    "\ue123": "the character '\\ue123' (U+E123)",
}


@pytest.mark.parametrize("suffix", ["pdf", "png"])
@pytest.mark.parametrize("word", PROBLEMS)
def test_character_without_a_glyph_is_named(without_fonts: None, tmp_path: Path, word: str, suffix: str) -> None:
    with pytest.raises(SynparseError) as caught:
        draw(("a", "x", "áé", word, "z"), tmp_path / f"a.{suffix}")
    assert str(caught.value) == f"no font has {PROBLEMS[word]}; or use .svg or .html"
    assert list(tmp_path.iterdir()) == []


def test_invisible_characters_need_no_glyph(without_fonts: None, tmp_path: Path) -> None:
    draw(("a\u00adb", "c\u200dd", "e\u0301", "x"), tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes() == b"%PDF"


def test_missing_typst_is_reported_before_the_file_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    for suffix in ("pdf", "png"):
        with pytest.raises(SynparseError, match=r"pip install 'synparse\[draw\]'; or use \.svg or \.html"):
            draw(("a", "b"), tmp_path / f"a.{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_typst_names_the_script_without_a_font(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typst: Any = pytest.importorskip("typst", reason="PDF and PNG need the extra draw")
    monkeypatch.setattr(typst, "compile", partial(typst.compile, ignore_system_fonts=True))
    for word, problem in {
        "བོད": "the Tibetan character 'ད' (TIBETAN LETTER DA); install one, such as Noto Sans Tibetan",
        "友情": PROBLEMS["友情"],
        "e\u1dfe": "the Latin character 'e\u1dfe' (LATIN SMALL LETTER E, COMBINING LEFT ARROWHEAD ABOVE); "
        "install one, such as Noto Sans",
        "\u0378": PROBLEMS["\u0378"],
    }.items():
        for suffix in ("pdf", "png"):
            with pytest.raises(SynparseError) as caught:
                draw(("e", word, "b"), tmp_path / f"a.{suffix}")
            assert str(caught.value) == f"no font has {problem}; or use .svg or .html"
    assert list(tmp_path.iterdir()) == []
