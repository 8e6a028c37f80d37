"""Pictures as files: SVG and HTML that any parser reads, LaTeX that compiles, PDF and PNG of the right size."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.support.html_page import Page
from tests.treebank.draw.examples import GOLD, HEADS, RELATIONS, compared, compared_heads
from treebank.base.errors import SynparseError
from treebank.core.tree import Tree
from treebank.draw.latex import document, escaped
from treebank.draw.panels import scene_of
from treebank.draw.picture import Analysis, Picture
from treebank.draw.picture_files import page, write_pictures
from treebank.draw.svg import svg

HOSTILE = ("<b>", "a&b", '"q"', "]]>", "x\x07y", "\\end{x}", "100%", "#_^~$", "{", "}", "a,b", "a=b", "[c]")
HOSTILE_TREE = Tree.from_spans(HOSTILE, [(0, 2), (2, 13), (3, 6)])
NAMESPACE = "{http://www.w3.org/2000/svg}"


def hostile() -> Picture:
    return Picture("<1>", (Analysis.of_tree(HOSTILE_TREE, "a<b"), Analysis("c", HOSTILE, heads=(-1, *range(12)))))


def test_svg_holds_any_words() -> None:
    root = ElementTree.fromstring(svg(scene_of(hostile())))
    words = [text.text for text in root.iter(f"{NAMESPACE}text") if (text.get("class") or "").startswith("word")]
    assert words == [word.replace("\x07", "\ufffd") for word in HOSTILE] * 2


def test_svg_has_a_description() -> None:
    root = ElementTree.fromstring(svg(scene_of(compared()), name="one"))
    title, description = root[0], root[1]
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert str(GOLD) in (description.text or "")
    assert "3 of 6 gold brackets" in (description.text or "")


def test_a_page_needs_nothing_else_and_its_links_work() -> None:
    text = page([compared(), compared_heads(), hostile()], "a <title>")
    parsed = Page(text)
    assert "script" not in parsed.names
    assert "link" not in parsed.names
    assert parsed.names.count("svg") == 3
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert [target.removeprefix("#") for target in parsed.targets] == ["picture-1", "picture-2", "picture-3"]
    assert set(parsed.targets) <= {f"#{name}" for name in parsed.ids}
    assert not re.search(r"(?:src|href)=.https?:|@import|url\(", text)


def test_latex_spells_out_what_it_would_read_as_commands() -> None:
    assert escaped(r"\a{b}%_#$&~^") == (r"\textbackslash{}a\{b\}\%\_\#\$\symbol{38}\textasciitilde{}\textasciicircum{}")
    text = document([hostile()])
    body = text[text.index(r"\begin{document}") :]
    assert body.count(r"\begin{forest}") == body.count(r"\end{forest}") == 1
    assert body.count(r"\depedge") == 12
    assert body.count(r"\deproot") == 1
    assert body.count(r" \& ") == body.count(r"\&") == len(HOSTILE) - 1


@pytest.mark.skipif(not shutil.which("lualatex"), reason="no lualatex here (Debian: texlive-luatex texlive-pictures)")
def test_latex_compiles(tmp_path: Path) -> None:
    if subprocess.run(["kpsewhich", "forest.sty"], capture_output=True).returncode:
        pytest.skip("this TeX has no package forest")
    heads = Picture("3", (Analysis("", GOLD.words, heads=HEADS, relations=RELATIONS),))
    options = Picture("4", (Analysis("", ("[a]", "|[b]|c", "[", "|", "]"), heads=(-1, 0, 1, 2, 3)),))
    pictures = [compared(), compared_heads(), heads, options, hostile()]
    (tmp_path / "a.tex").write_text(document(pictures), encoding="utf-8")
    command = ["lualatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")


def test_png_and_pdf(tmp_path: Path) -> None:
    pytest.importorskip("typst", reason="PDF and PNG need the extra draw")
    pictures = [compared(), compared_heads(), hostile()]
    write_pictures(pictures[:1], str(tmp_path / "a.png"))
    made = (tmp_path / "a.png").read_bytes()
    width, height = struct.unpack(">II", made[16:24])
    scene = scene_of(pictures[0])
    assert abs(width - 2 * scene.width) <= 2
    assert abs(height - 2 * scene.height) <= 2
    write_pictures(pictures, str(tmp_path / "a.pdf"))
    again = (tmp_path / "a.pdf").read_bytes()
    assert again.startswith(b"%PDF")
    assert again.count(b"/MediaBox") == 3 or b"/Count 3" in again


def test_what_is_too_large_for_a_page_says_so(tmp_path: Path) -> None:
    pytest.importorskip("typst", reason="PDF and PNG need the extra draw")
    words = tuple(["word"] * 2000)
    with pytest.raises(SynparseError, match=r"too large for PNG; use \.svg or \.html"):
        write_pictures([Picture("", (Analysis.of_tree(Tree.from_spans(words, [])),))], str(tmp_path / "a.png"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [".svg", ".html", ".tex"])
def test_the_same_pictures_give_the_same_file(tmp_path: Path, kind: str) -> None:
    for name in "ab":
        write_pictures([compared()], str(tmp_path / f"{name}{kind}"), title="x")
    assert (tmp_path / f"a{kind}").read_bytes() == (tmp_path / f"b{kind}").read_bytes()
